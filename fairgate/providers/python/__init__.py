"""The user's own callables, run in a process of their own."""
