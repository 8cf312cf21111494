"""Scores x limits -> verdicts."""
