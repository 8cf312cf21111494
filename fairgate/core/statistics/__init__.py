"""Distributions, estimates and intervals, sequential decisions: numbers in, numbers out, randomness passed in."""
