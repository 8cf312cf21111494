"""Plan sentinel as thresholds.toml declares it, and what no other plan does by default."""

from __future__ import annotations

import pytest

from fairgate.benchmarks.fact_or_fair.topics import Context
from fairgate.benchmarks.limits import RATES
from fairgate.gating.thresholds import load
from tests.plugins import REGISTRY
from tests.releases import sentinel
from tests.running import CHECKOUT


def test_it_asks_at_most_300_calls_and_is_judged_by_drift_alone() -> None:
    limits = load(CHECKOUT / "thresholds.toml", REGISTRY)
    size = limits.plan("sentinel").size("fact-or-fair")
    assert len(sentinel()) == 2 * 19 * size.wordings * size.subjective == 266
    assert (size.objective, size.contexts) == (0, (Context.BASE,))
    assert {gate.score for gate in limits.under("sentinel").gates} <= {*RATES}
    assert limits.under("quick") == limits
    assert limits.baseline is not None
    assert {drop.score for drop, _ in limits.baseline.under("sentinel")} >= {"contrast@soft"}


@pytest.mark.parametrize("name", ["thresholds.toml", "thresholds-published.toml"])
def test_no_default_gate_of_another_plan_stands_on_probabilities(name: str) -> None:
    limits = load(CHECKOUT / name, REGISTRY)
    assert not [gate for gate in limits.gates if gate.score.endswith("@soft")]
    others = {plan for plan in limits.plans if plan != "sentinel"}
    held = [] if limits.baseline is None else [drop for plan in others for drop, _ in limits.baseline.under(plan)]
    assert not [drop for drop in held if drop.score.endswith("@soft")]
