"""The example in the docstring of each score comes out as it says."""

from __future__ import annotations

import doctest
import importlib

import pytest

EXAMPLES = {
    "fairgate.benchmarks.fact_or_fair.scores": 8,
    "fairgate.benchmarks.f2bench.scores": 5,
    "fairgate.benchmarks.bigbench.scores": 4,
    "fairgate.core.statistics.effects": 10,
}


@pytest.mark.parametrize("module", EXAMPLES)
def test_scores_are_as_their_docstrings_show(module: str) -> None:
    examples = [each for each in doctest.DocTestFinder().find(importlib.import_module(module)) if each.examples]
    assert len(examples) == EXAMPLES[module]
    said: list[str] = []
    for each in examples:
        failed, _ = doctest.DocTestRunner().run(each, out=said.append)
        assert not failed, "".join(said)
