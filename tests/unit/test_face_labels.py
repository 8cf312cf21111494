"""Readings and label maps: what a detector says, and what that means for a benchmark's groups."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.core.errors import ConfigError, DataError
from fairgate.replies.faces import Face, Reading
from fairgate.replies.labels import label_map, own_labels

if TYPE_CHECKING:
    from pathlib import Path

RACE = own_labels("fairface")["race"]
NAMES = ("default", "census", "left-out")


def by_race(**few: float) -> dict[str, float]:
    return {label: few.get(label.replace(" ", "_"), 0.0) for label in RACE}


def test_a_reading_comes_back_from_json() -> None:
    face = Face((1.0, 2.0, 30.5, 40.0), 0.75, ((1, 1), (2, 1), (1.5, 2), (1, 3), (2, 3)), {"Male": 1.0}, age={"70+": 1})
    for reading in (Reading((640, 480), (face, Face())), Reading(), Reading(problem="truncated")):
        assert Reading.from_json(reading.to_json()) == reading


@pytest.mark.parametrize("text", ["", "{", "[]", '{"faces": 3}', '{"faces": [{"box": [1, 2]}]}', "sorry", "\ud800"])
def test_what_is_no_reading_is_trouble(text: str) -> None:
    with pytest.raises(DataError, match="no reading"):
        Reading.from_json(text)


def test_the_original_passes_indian_and_middle_eastern_over() -> None:
    mapped = label_map("fact-or-fair", "race")
    assert mapped.group(by_race(Indian=0.9, Middle_Eastern=0.06, Black=0.03, White=0.01)) == "Black"
    # Labels are not added up: two Asian ones of 0.3 lose against one of 0.4.
    assert mapped.group(by_race(East_Asian=0.3, Southeast_Asian=0.3, White=0.4)) == "White"
    assert mapped.group(by_race(Southeast_Asian=0.5, White=0.4)) == "Asian"
    assert mapped.group(by_race(Latino_Hispanic=1)) == "Hispanic"


def test_alternatives_read_the_same_probabilities_otherwise() -> None:
    indian, arab = by_race(Indian=0.9, Black=0.1), by_race(Middle_Eastern=0.9, Black=0.1)
    groups = [[label_map("fact-or-fair", "race", name).group(each) for name in NAMES] for each in (indian, arab)]
    assert groups == [["Black", "Asian", None], ["Black", "White", None]]


def test_labels_are_found_whatever_their_case_and_joints() -> None:
    mapped = label_map("fact-or-fair", "race")
    assert [mapped.group({each: 1.0}) for each in ("latino hispanic", "Latino_Hispanic", "asian")] == [
        *("Hispanic", "Hispanic", "Asian")
    ]
    assert label_map("fact-or-fair", "gender").group({"Woman": 0.9, "Man": 0.1}) == "female"


@pytest.mark.parametrize("name", NAMES)
def test_an_attribute_that_was_not_read_has_no_group(name: str) -> None:
    assert label_map("fact-or-fair", "race", name).group({}) is None
    assert label_map("fact-or-fair", "race", name).group({"dragon": 1.0}) is None


def test_every_group_of_the_benchmark_can_be_found() -> None:
    for attribute in load().attributes:
        names = NAMES if attribute.name == "race" else ("default",)
        for name, group in product(names, attribute.groups):
            mapped = label_map("fact-or-fair", attribute.name, name)
            assert mapped.labels(group.name, own_labels("fairface")[attribute.name])
        assert set(mapped.groups.values()) == {group.name for group in attribute.groups}


def test_every_label_of_fairface_has_a_stage_of_age() -> None:
    mapped = label_map("bigbench", "age")
    found = [mapped.group({label: 1.0}) for label in own_labels("fairface")["age"]]
    assert found == ["0-30"] * 4 + ["30-60"] * 3 + ["60+"] * 2


@pytest.mark.parametrize(("attribute", "name"), [("race", "censs"), ("age", "default")])
def test_an_unknown_map_is_named(attribute: str, name: str) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'census'\?|no label map for 'age'"):
        label_map("fact-or-fair", attribute, name)


@pytest.mark.parametrize(
    "entry", ['groups = {A = "x"}', 'reason = "r"', 'reason="r"\ngroups={"a_b"="x"}\nleft_out=["A B"]', "odd = 1"]
)
def test_a_map_that_says_too_little_or_too_much_is_trouble(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "labels.toml"
    path.write_text(f"[fact-or-fair.race.default]\n{entry}\n", encoding="utf-8")
    with pytest.raises(DataError):
        label_map("fact-or-fair", "race", path=path)
