"""Names the plugins, nothing else."""

pytest_plugins = (
    "fairgate.suite",
    "fixtures.cases",
    "fixtures.shown",
    "fixtures.installed",
)
