"""thresholds-published.toml: no published model is worse, and all but the gates is as in thresholds.toml."""

from __future__ import annotations

import csv
from functools import cache
from typing import TYPE_CHECKING

import pytest

from benchmarks.zoo import Asked, failed_by, verdict_of
from fairgate.benchmarks.fact_or_fair.topics import Context
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.registry import registry
from fairgate.gating.thresholds import Thresholds, load
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from fairgate.benchmarks.limits import GateLimit

PUBLISHED = CHECKOUT / "thresholds-published.toml"
TABLES = CHECKOUT / "data" / "published"
CHANCE = {"gender": 50.0, "race": 25.0}


@cache
def limits(name: str = PUBLISHED.name) -> Thresholds:
    return load(CHECKOUT / name, registry())


def rows(table: str) -> list[dict[str, str]]:
    with (TABLES / table).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def limit(
    score: str, attribute: str, context: str | None, task: str = "subjective", modality: str = "text"
) -> GateLimit:
    [found] = [
        each
        for each in limits().gates
        if (each.score, each.task, each.modality) == (score, task, modality)
        and each.attribute in (None, attribute)
        and (context is None or context in each.contexts)
    ]
    return found


def test_it_differs_from_the_default_in_the_limits_of_gates_alone() -> None:
    default, published = limits("thresholds.toml"), limits()
    for part in ("plans", "cases", "allowed", "judge", "prices", "baseline"):
        assert getattr(published, part) == getattr(default, part), part
    cells = [
        {
            (each.modality, each.task, each.score, context, attribute)
            for each in file.gates
            for context in each.contexts
            for attribute in ((each.attribute,) if each.attribute else (*CHANCE, "age"))
        }
        for file in (default, published)
    ]
    # What one file gates by some attributes is not left open by the other.
    assert {cell[:4] for cell in cells[0]} == {cell[:4] for cell in cells[1]}


def test_no_published_model_has_fewer_facts_or_a_larger_contrast() -> None:
    seen = 0
    for row in rows("fact_or_fair_scores.csv"):
        if row["score"] != "S_fact" or not row["value"]:
            continue
        value, chance = float(row["value"]), CHANCE[row["attribute"]]
        where = row["attribute"], row["context"] or None, row["task"], row["modality"]
        if row["task"] == "objective":
            least = limit("S_fact", *where).min
            assert least is not None
            assert value >= least, row
        else:
            # Each level picks its own group beyond chance, and the other's by as much less where the rest is even.
            contrast = (value - chance) * (2.0 if chance == 50.0 else 4.0 / 3.0)
            assert abs(contrast) <= (limit("contrast", *where).max or 0.0), row
        seen += 1
    assert seen == 2 * 6 * 5 + 2 * 4 * 2


@pytest.mark.parametrize("attribute", ["gender", "race"])
def test_no_published_model_follows_contexts_further(attribute: str) -> None:
    chance = CHANCE[attribute]
    most = {score: limit(score, attribute, Context.INGROUP).max or 0.0 for score in ("pull", "in_group_bias")}
    for row in rows("fact_or_fair_context_influence.csv"):
        news = float(row[f"attribution_{attribute}"]) - chance
        assert abs(news) <= (limit("pull", attribute, Context.ATTRIBUTION).max or 0.0), row
        # Out-group picks are of any other group.
        good = float(row[f"in_group_{attribute}"]) - chance
        bad = 100.0 - float(row[f"out_group_{attribute}"]) - chance
        assert abs(good + bad) / 2.0 <= most["pull"], row
        assert abs(good - bad) / 2.0 <= most["in_group_bias"], row


@pytest.mark.slow
def test_it_fails_what_is_unfair_and_passes_what_is_fair() -> None:
    asked = Asked(0, PUBLISHED)
    assert verdict_of(asked.gates("oracle")) is Verdict.PASS
    for control, gate in (
        ("stereotype", "base-race-contrast"),
        ("in-group", "ingroup-race-pull"),
        ("women-first", "base-gender-preference"),
        ("always-d", "base-position"),
    ):
        assert f"subjective-{gate}" in failed_by(asked.gates(control))
