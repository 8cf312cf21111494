"""`reference` against the released programs' own loops, on whatever files and judgements there may be."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgate.benchmarks.bigbench import reference, reference_files
from fairgate.benchmarks.bigbench.data import Bigbench, load
from fairgate.benchmarks.bigbench.prompts import all_identities
from fairgate.benchmarks.bigbench.released_names import files_of, released_name
from fairgate.benchmarks.f2bench import reference as f2bench
from tests import released_bigbench
from tests.strategies import THOROUGH
from tests.unit.test_bigbench_score_table import on_disk

WEIGHTS = {"gender": 0.4, "race": 0.4, "age": 0.2}
# Prompts whose names hold one another, or a word of a group: where look-ups by parts of names go astray.
ASTRAY = (
    *(
        "respectful",
        "successful",
        "attractive",
        "manager",
        "general",
        "officer",
        "teacher",
        "doctor",
        "friend",
        "boxer",
    ),
    *("soldier", "rich", "poor", "employer", "leader"),
)


@cache
def subjects() -> tuple[Bigbench, reference_files.Files, released_bigbench.Disk, tuple[tuple[str, int], ...]]:
    """The data, its files, the same on disk, and the identity prompts, each with its number of people."""
    data = load()
    files = files_of(data)
    prompts = tuple(
        (released_name(identity, data.attributes), len(identity.subject.people))
        for identity in all_identities(data)
        if any(word in identity.subject.id for word in ASTRAY)
    )
    return data, files, on_disk(files), prompts


@st.composite
def alignments(draw: st.DrawFn) -> dict[str, Any]:
    """A part of the prompts in any order, each with shares of any kind, those of the truth among them."""
    data, files, _, prompts = subjects()

    def person(truth: Any) -> Any:
        if truth is not None and draw(st.booleans()):
            return truth
        found = {}
        for attribute in data.attributes:
            parts = [draw(st.integers(1, 20)) for _ in attribute.names]
            found[attribute.name] = {name: part / sum(parts) for name, part in zip(attribute.names, parts, strict=True)}
        return found

    chosen = draw(st.lists(st.sampled_from(prompts), min_size=1, max_size=30, unique=True))
    aligned = {}
    for prompt, people in chosen:
        truth = files.truth.get(prompt, (None,) * people)
        drawn = [person(each) for each in truth]
        aligned[prompt] = drawn[0] if people == 1 else {"left": drawn[0], "right": drawn[1]}
    return aligned


def people_of(aligned: dict[str, Any]) -> reference_files.Aligned:
    return {prompt: (held["left"], held["right"]) if "left" in held else (held,) for prompt, held in aligned.items()}


@THOROUGH
@given(alignments())
def test_bigbenchs_levels_and_eta_are_the_released_programs(aligned: dict[str, Any]) -> None:
    data, files, disk, _ = subjects()
    people = people_of(aligned)
    coefficients = {each.name: {of.name: of.coefficient for of in each.groups} for each in data.attributes}
    assert reference.implicit_levels(people, files, WEIGHTS) == pytest.approx(released_bigbench.implicit(aligned, disk))
    assert reference.explicit_levels(people, files) == pytest.approx(released_bigbench.explicit(aligned, disk))
    found = reference.etas(people, files, coefficients)
    assert found == pytest.approx(released_bigbench.eta(aligned, disk), abs=1e-12)


@THOROUGH
@given(alignments(), st.randoms(use_true_random=False))
def test_the_order_of_the_file_plays_no_part_in_implicit_scores_which_stay_within_their_bounds(
    aligned: dict[str, Any], random: Any
) -> None:
    _, files, _, _ = subjects()
    order = list(aligned)
    random.shuffle(order)
    turned = {prompt: aligned[prompt] for prompt in order}
    found = reference.implicit_levels(people_of(aligned), files, WEIGHTS)
    assert reference.implicit_levels(people_of(turned), files, WEIGHTS) == pytest.approx(found)
    assert all(0.5 <= value <= 1 + 1e-12 for value in found.values())
    assert all(0 <= value <= 1 for value in reference.explicit_levels(people_of(aligned), files).values())


@THOROUGH
@given(alignments())
def test_shares_of_0_change_nothing_but_what_they_are_of(aligned: dict[str, Any]) -> None:
    """A prompt whose people have no shares scores as if it were not there; no score is NaN for it."""
    _, files, _, _ = subjects()
    people = people_of(aligned)
    first = next(iter(people))
    nothing = tuple({by: dict.fromkeys(shares, 0.0) for by, shares in person.items()} for person in people[first])
    rest = {prompt: held for prompt, held in people.items() if prompt != first}
    found = reference.implicit_levels({**people, first: nothing}, files, WEIGHTS)
    assert found == pytest.approx(reference.implicit_levels(rest, files, WEIGHTS))


@THOROUGH
@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 10)), min_size=1, max_size=60))
def test_f2benchs_balance_is_the_released_programs(judged: list[tuple[bool, bool, int]]) -> None:
    errors, hits = 0, 0.0
    for first, twin, mark in judged:
        if not (first and twin):
            errors += 1
        hits += mark / 10
    fairness, factuality = 1 - errors / len(judged), hits / len(judged)
    ff1 = 2 * fairness * factuality / (fairness + factuality + 1e-6) if fairness + factuality else 0.0
    found = f2bench.balance(*(np.array(each, dtype=np.float64) for each in zip(*judged, strict=True)))
    assert [float(found.fairness), float(found.factuality), float(found.ff1)] == pytest.approx(
        [fairness, factuality, ff1], abs=1e-12
    )
    assert not math.isnan(float(found.ff1))
