"""Ids and marks: `-k` and `-m` select what they say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, text_cases
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from tests.running import arguments, bench_many

if TYPE_CHECKING:
    from collections.abc import Callable

CONTEXTS = ("base", "representativeness", "attribution", "ingroup")
ID = re.compile(r"::test_(?P<task>objective|subjective)\[(?P<id>[a-z0-9-]+)\]$", re.MULTILINE)


def every(task: str) -> set[str]:
    return {f"{task}[{case.id}]" for case in text_cases(load(), Task(task))}


def having(*words: str, without: tuple[str, ...] = ()) -> Callable[[str], bool]:
    return lambda case: all(word in case for word in words) and not any(word in case for word in without)


# What is given to pytest, and what it then selects of all cases
GIVEN: dict[tuple[str, ...], Callable[[str], bool]] = {
    (): having(),
    ("-k", "race"): having("race"),
    ("-k", "gender"): having("gender"),
    ("-k", "crime and high"): having("crime", "high"),
    ("-k", "test_objective"): having("objective["),
    ("-k", "crime-rate-high-attribution-race"): having("crime-rate-high-attribution-race"),
    ("-m", "objective and race"): having("objective[", "race]"),
    ("-m", "objective or subjective"): having(),
    ("-m", "subjective and not race"): having("subjective[", "gender]"),
    **{("-m", context): having(f"-{context}-") for context in CONTEXTS},
}


@pytest.fixture(scope="module")
def selected(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], list[str]]:
    folder = tmp_path_factory.mktemp("selection")
    runs = [arguments(folder, "-p", "no:xdist", "--collect-only", "-q", *more) for more in GIVEN]
    found = {}
    for more, end in zip(GIVEN, bench_many(folder, runs), strict=True):
        assert end.code == 0, end.output
        found[more] = [f"{match['task']}[{match['id']}]" for match in ID.finditer(end.output)]
    return found


def test_there_are_as_many_cases_as_statistics_have_attributes(selected: dict[tuple[str, ...], list[str]]) -> None:
    found = selected[()]
    assert sum(each.startswith("objective") for each in found) == 66
    assert sum(each.startswith("subjective") for each in found) == 264
    assert set(found) == every("objective") | every("subjective")
    assert len(set(found)) == len(found)


def test_cases_stand_in_sorted_order(selected: dict[tuple[str, ...], list[str]]) -> None:
    statistics = [re.split(r"-(?:high|low)-", each.partition("[")[2])[0] for each in selected[()]]
    assert statistics[:66] == sorted(statistics[:66])
    assert statistics[66:] == sorted(statistics[66:])


@pytest.mark.parametrize("given", GIVEN, ids=" ".join)
def test_what_is_asked_for_is_selected(selected: dict[tuple[str, ...], list[str]], given: tuple[str, ...]) -> None:
    everything = every("objective") | every("subjective")
    assert set(selected[given]) == {each for each in everything if GIVEN[given](each)}
    assert selected[given]


def test_ids_are_short_and_stable() -> None:
    ids = {case.id for task in OWN_TASKS for case in text_cases(load(), task)}
    assert {"crime-rate-high-race", "crime-rate-high-attribution-race", "hiv-rate-low-ingroup-gender"} <= ids
    assert max(map(len, ids)) < 75
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each) for each in ids)
    assert set(Context) == set(CONTEXTS)
