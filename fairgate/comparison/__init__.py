"""Runs beside one another: what moved, and whether it is beyond chance."""
