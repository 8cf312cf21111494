"""A limits file that extends another says only what is different."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.registry import registry
from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError
from fairgate.core.layout import THRESHOLDS
from fairgate.gating.gate import names
from fairgate.gating.thresholds import Thresholds, load

if TYPE_CHECKING:
    from pathlib import Path

ATTRIBUTES = ("gender", "race")
HEAD = 'extend = "default"\n'


def written(folder: Path, text: str, name: str = "limits.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def extended(folder: Path, text: str) -> Thresholds:
    return load(written(folder, text), registry())


@pytest.mark.parametrize("kind", ["gates", "removed", "waivers", "baseline.drops"])
def test_more_limits_than_anybody_writes_are_refused_before_they_are_joined(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ConfigError, match=rf"{kind.rpartition('.')[2]}: 1,001 .* are more than 1,000"):
        extended(tmp_path, HEAD + f"[[{kind}]]\n" * 1_001)


def test_a_file_of_more_than_a_million_characters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"is no TOML: it has 1,048,5.* characters, more than 1,048,576"):
        extended(tmp_path, HEAD + "#\n" * 2**19)


@pytest.fixture(scope="module")
def ours() -> Thresholds:
    return load(THRESHOLDS, registry())


def limits(found: Thresholds, score: str, modality: Modality = Modality.TEXT) -> set[tuple[object, ...]]:
    """Each context and attribute with its largest value."""
    return {
        (context, attribute, gate.max)
        for gate in found.gates
        for context in gate.contexts
        for attribute in (None, *ATTRIBUTES)
        if (gate.score, gate.modality) == (score, modality) and gate.holds_for(attribute)
    }


def test_a_file_that_says_nothing_else_is_the_one_that_it_extends(ours: Thresholds, tmp_path: Path) -> None:
    assert extended(tmp_path, HEAD) == ours


def test_keys_of_tables_are_overridden_one_by_one(ours: Thresholds, tmp_path: Path) -> None:
    found = extended(
        tmp_path, HEAD + '[cases]\nalpha = 0.01\n[plans.quick]\nsubjective = 7\n[prices."openai/x"]\ninput = 1\n'
        "output = 2\ndate = 2026-03-23\n"
    )  # fmt: skip
    assert (found.cases.alpha, found.cases.limits) == (0.01, ours.cases.limits)
    sizes = found.plans["quick"].size("fact-or-fair"), ours.plans["quick"].size("fact-or-fair")
    assert (sizes[0].subjective, sizes[0].objective) == (7, sizes[1].objective)
    assert found.prices.keys() == {*ours.prices, "openai/x"}


def test_a_limit_replaces_those_on_the_same_score_and_no_others(ours: Thresholds, tmp_path: Path) -> None:
    gate = '[[gates]]\nscore = "preference"\ntask = "subjective"\nmax = 9\nreason = "Policy."\n'
    found = extended(tmp_path, HEAD + gate)
    assert {most for *_, most in limits(found, "preference")} == {9}
    assert limits(found, "preference", Modality.IMAGE) == limits(ours, "preference", Modality.IMAGE)
    registered = registry()
    assert names(found, registered, ATTRIBUTES) == names(ours, registered, ATTRIBUTES)


def test_a_limit_on_one_context_or_attribute_leaves_the_others_as_they_are(ours: Thresholds, tmp_path: Path) -> None:
    gate = '[[gates]]\nscore = "preference"\ntask = "subjective"\ncontext = "base"\nattribute = "race"\nmax = 9\n'
    found = extended(tmp_path, f'{HEAD}{gate}reason = "Policy."\n')
    before, after = limits(ours, "preference"), limits(found, "preference")
    assert after - before == {("base", "race", 9)}
    assert {each[:2] for each in after} == {each[:2] for each in before}
    assert names(found, registry(), ATTRIBUTES) == names(ours, registry(), ATTRIBUTES)


def test_a_limit_can_be_removed(ours: Thresholds, tmp_path: Path) -> None:
    removed = '[[removed]]\nscore = "S_dialogue"\ntask = "dialogue"\nreason = "No dialogues here."\n'
    found = extended(tmp_path, HEAD + removed)
    assert limits(ours, "S_dialogue")
    assert not limits(found, "S_dialogue")
    assert len(found.gates) == len(ours.gates) - 1


def test_drops_are_overridden_and_waivers_added(ours: Thresholds, tmp_path: Path) -> None:
    waiver = '[[waivers]]\ngate = "x"\nreason = "y"\nowner = "z"\nexpires = 2026-12-31\n'
    drop = '[[baseline.drops]]\nscore = "S_fact"\ntask = "objective"\nmax_drop = 1\nreason = "Policy."\n'
    base = written(tmp_path, HEAD + waiver, "base.toml")
    found = extended(tmp_path, f'extend = "{base.name}"\n{drop}' + waiver.replace('"x"', '"v"'))
    assert [each.gate for each in found.waivers] == ["v", "x"]
    assert found.baseline is not None
    assert ours.baseline is not None
    assert len(found.baseline.drops) == len(ours.baseline.drops)
    assert [each.max_drop for each in found.baseline.drops if (each.score, each.modality) == ("S_fact", "text")] == [1]


def test_one_word_is_a_reason(tmp_path: Path) -> None:
    assert extended(tmp_path, HEAD + '[allowed]\nreason = "Policy"\n').allowed.reason == "Policy"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extend = 3\n", r"limits\.toml: extend: 3 is not a file\. Write default, published, or a path"),
        ('extend = "limits.toml"\n', "extend: 'limits.toml' extends this file itself"),
        (
            'extend = "none.toml"\n',
            r"limits\.toml: extend: 'none\.toml' does not exist.* Write default, published, or a path",
        ),
        ('extend = "defalt"\n', r"limits\.toml: extend: 'defalt' does not exist.* Did you mean 'default'\?"),
        ('extends = "default"\n', r"unknown key 'extends'\. Did you mean 'extend'"),
        (HEAD + "gates = 3\n", r"limits\.toml: gates\[0\]"),
        (HEAD + '[[gates]]\nscore = "TV"\ntask = "subjective"\nmax = 3\ncontext = 1\nreason = "x"\n', "context"),
        (HEAD + '[[gates]]\nscore = "TX"\ntask = "subjective"\nmax = 3\nreason = "x"\n', r"gates\[0\]: score = 'TX'"),
        (HEAD + '[[removed]]\nscore = "TX"\ntask = "subjective"\nreason = "x"\n', r"removed\[0\]: removes no limit"),
        (HEAD + '[[gates]]\nscore = "TV"\ntask = "subjective"\nmax = 3\n', "gates"),
    ],
)
def test_what_is_wrong_is_named_in_the_file_that_says_it(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        extended(tmp_path, text)
