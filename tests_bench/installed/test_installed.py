"""What installed benchmarks claim of a model: a test function for each name in `Plugin.tests`."""

from __future__ import annotations

from fairgate.benchmarks.registry import registry
from fixtures.installed import function_of

globals().update({f"test_{name}": function_of(name, claim) for name, claim in registry().tests.items()})
