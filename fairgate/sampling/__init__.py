"""Queries -> samples: limits, the line, whose turn it is, and the one event loop that asks."""
