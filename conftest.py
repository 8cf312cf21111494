"""Names the plugins, nothing else."""

pytest_plugins = ("fairgate.plugin", "fixtures.cases", "fixtures.answers", "fixtures.conversations")
