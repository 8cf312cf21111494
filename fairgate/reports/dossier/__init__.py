"""The evidence that a release needs: what was tested, how, what came of it, and what that does not show."""
