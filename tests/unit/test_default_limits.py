"""Limits and plan sizes that a benchmark brings: they hold where the user's file says nothing about the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.limits import Strict, Times
from fairgate.benchmarks.registry import Registry
from fairgate.benchmarks.scores import Score, TaskSpec
from fairgate.core.domain import Modality
from fairgate.core.errors import PluginError
from fairgate.gating.thresholds import Thresholds, load
from tests.plugins import REGISTRY, Declared

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HERE = ((Modality.TEXT, "riddles"),)
OWN = """
[plans.quick]
riddles = 7
[[gates]]
score = "wit"
task = "riddles"
min = 60
reason = "long enough a reason"
[[gates]]
score = "haste"
task = "riddles"
max = 30
reason = "long enough a reason"
[[baseline.drops]]
score = "wit"
task = "riddles"
max_drop = 9
reason = "long enough a reason"
"""
USER = """
schema = 1
[plans.quick]
objective = 3
subjective = 10
reason = "long enough a reason"
[plans.paper]
objective = 3
subjective = 10
reason = "long enough a reason"
[cases]
alpha = 0.025
entropy_min = 60
gap_max = 70
reason = "long enough a reason"
[allowed]
failed = 2
reason = "long enough a reason"
[[gates]]
score = "TV"
task = "subjective"
max = 20
reason = "long enough a reason"
"""
WIT = """
[[gates]]
score = "wit"
task = "riddles"
context = "long"
min = 10
reason = "long enough a reason"
"""
BASELINE = """
[baseline]
alpha = 0.05
reason = "long enough a reason"
"""
DROP = """
[[baseline.drops]]
score = "wit"
task = "riddles"
max_drop = 2
reason = "long enough a reason"
"""


class Plan(Strict, frozen=True):
    riddles: Times = 3


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Thresholds]:
    def read(user: str = USER, own: str = OWN) -> Thresholds:
        riddles = SimpleNamespace(
            TASKS=(TaskSpec(name="riddles", modality=Modality.TEXT, about="riddles", contexts=("short", "long")),),
            SCORES=tuple(
                Score(name=name, title=name, question="how much?", best=best, tasks=HERE, compared=HERE)
                for name, best in (("wit", 100), ("haste", 0))
            ),
            MARKERS={},
            Plan=Plan,
            VIEWS=(),
            SUMMARY=(),
        )
        plugin = Declared("riddles", "Riddles", 9, riddles)
        plugin.limits = tmp_path / "own.toml"
        plugin.limits.write_text(own)
        path = tmp_path / "thresholds.toml"
        path.write_text(user)
        return load(path, Registry((*REGISTRY.plugins, plugin)))

    return read


def limits(found: Thresholds) -> dict[str, tuple[object, ...]]:
    return {gate.score: (gate.context, gate.min, gate.max) for gate in found.gates}


def test_its_gates_stand_behind_the_users(read: Callable[..., Thresholds]) -> None:
    found = read()
    assert [gate.score for gate in found.gates] == ["TV", "wit", "haste"]
    assert limits(found)["wit"] == (("short", "long"), 60, None)


def test_a_limit_of_the_user_on_a_score_replaces_its_own(read: Callable[..., Thresholds]) -> None:
    """Also where it holds in one context alone: what the user did not limit there is not limited."""
    found = limits(read(USER + WIT))
    assert found["wit"] == ("long", 10, None)
    assert found["haste"] == (("short", "long"), None, 30)


def test_a_plan_has_its_size_its_own_default_or_the_users(read: Callable[..., Thresholds]) -> None:
    found = read()
    assert [found.plan(name).size("riddles").riddles for name in ("quick", "paper")] == [7, 3]
    found = read(USER.replace("objective = 3", "objective = 3\nriddles = 5"))
    assert [found.plan(name).size("riddles").riddles for name in ("quick", "paper")] == [5, 5]


def test_limits_on_changes_need_the_users_baseline(read: Callable[..., Thresholds]) -> None:
    assert read().baseline is None
    with_its_own, with_the_users = (read(USER + text).baseline for text in (BASELINE, BASELINE + DROP))
    assert with_its_own is not None
    assert with_the_users is not None
    assert [drop.max_drop for drop in with_its_own.drops] == [9]
    assert [drop.max_drop for drop in with_the_users.drops] == [2]


def test_it_brings_no_limits_on_other_benchmarks(read: Callable[..., Thresholds]) -> None:
    with pytest.raises(PluginError) as caught:
        read(own=DROP.replace('"wit"', '"S_fact"').replace('"riddles"', '"objective"'))
    assert str(caught.value) == (
        "the limits of riddles: task = 'objective' is not a task of this benchmark. "
        "A benchmark brings limits on its own tasks alone."
    )


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ("[[gates]", "cannot be used"),
        (OWN.replace("max = 30", "max = 300"), "gates[1].max"),
        (OWN.replace("riddles = 7", "riddles = 0"), "plans.quick.riddles"),
        (OWN.replace("riddles = 7", "puzzles = 7"), "unknown key 'puzzles'"),
        (OWN.replace('"haste"', '"hasty"'), "score = 'hasty' is no score. Did you mean 'haste'?"),
        (OWN.replace("[plans.quick]", "[cases]\nalpha = 1\n[plans.quick]"), "unknown key 'cases'"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_of_the_benchmark(
    own: str, said: str, read: Callable[..., Thresholds]
) -> None:
    with pytest.raises(PluginError) as caught:
        read(own=own)
    assert "riddles" in str(caught.value)
    assert said in str(caught.value)


def test_a_signed_score_is_better_nearer_to_0() -> None:
    lean = Score(name="lean", title="lean", question="which way?", best=0, tasks=HERE, signed=True)
    assert lean.is_better(-30, -10, 20)
    assert lean.is_better(30, 10, -20)
    assert not lean.is_better(10, -30, -40)
