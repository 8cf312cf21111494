"""Names the plugins, nothing else."""

pytest_plugins = (
    "fairgate.plugin",
    "fixtures.cases",
    "fixtures.shown",
    "fixtures.answers",
    "fixtures.conversations",
    "fixtures.sitters",
    "fixtures.installed",
)
