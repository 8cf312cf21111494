"""Names the plugins, nothing else."""

pytest_plugins = (
    "fairgate.enough_memory",
    "fairgate.suite",
    "fixtures.cases",
    "fixtures.shown",
    "fixtures.installed",
)
