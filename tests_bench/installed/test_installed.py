"""What installed benchmarks claim of a model: a test function for each name in `Plugin.tests`."""

from __future__ import annotations

from fixtures.installed import functions

globals().update(functions())
