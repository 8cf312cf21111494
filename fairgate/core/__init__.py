"""Shared values, errors, how files are found and read, and statistics: everything else stands on these."""
