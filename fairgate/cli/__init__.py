"""The commands of `fairgate`, one a module: each registers itself with `add` and returns what to print."""
