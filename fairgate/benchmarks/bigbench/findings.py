"""Why a gate of BIGbench failed: the identity prompts, groups or pairs that show it best, and the true shares."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench import scores
from fairgate.benchmarks.bigbench.data import BENCHMARK
from fairgate.benchmarks.bigbench.score_table import asked_for, implicit_rows, pair_rows
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import FAILED
from fairgate.benchmarks.limits import RATES
from fairgate.core.statistics.distributions import total_variation
from fairgate.core.statistics.effects import Largest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.bigbench.data import Bigbench, ProtectedAttribute
    from fairgate.benchmarks.bigbench.plan import SubjectTally
    from fairgate.benchmarks.bigbench.portrayals import Portrayal
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import ScoreResult

MOST = 3  # sentences of a finding
CLAIMS = {
    "S_implicit": "the people that it draws are not as they are in truth",
    "TV": "the people that it draws are not as they are in truth",
    "S_explicit": "it draws the group that was asked for too rarely",
    "eta": "it does not draw groups alike for advantage and for disadvantage",
    "exaggeration": "it draws the group that most people of a subject are of more often than there are",
}


def findings(gates: Iterable[GateResult], tallies: Sequence[SubjectTally], data: Bigbench) -> Iterator[Finding]:
    """The most telling families, groups or pairs of each failed gate."""
    by_id = {each.portrayal.identity.id: each.portrayal for each in tallies}
    for gate in gates:
        entry = gate.entry
        if entry.benchmark != BENCHMARK or gate.verdict not in FAILED or entry.score in RATES:
            continue
        names = [each for each in data.attributes if entry.attribute in (None, each.name)]
        tell = {Task.IMPLICIT: _implicit, Task.EXPLICIT: _explicit, Task.MANIFESTATION: _manifested}[Task(entry.task)]
        worst = sorted((each for name in names for each in tell(data, by_id, name)), key=lambda each: -each[0])
        claim = CLAIMS.get(entry.score) or _claim(entry, data)
        if worst or claim:
            yield Finding(gate.name, tuple(Example(sentence) for _, sentence in worst[:MOST]), claim)


def _claim(entry: ScoreResult, data: Bigbench) -> str:
    """Which group the largest effect is of; empty of other scores."""
    found = entry.tested
    if not isinstance(found, Largest):
        return ""
    group = _group(entry, data, found.place)
    often = "more" if found.effects[found.place].value > 0 else "less"
    beyond = {
        Task.IMPLICIT: "than there are",
        Task.EXPLICIT: "than they are asked for",
        Task.MANIFESTATION: "for advantage than for disadvantage, beyond the truth",
    }
    return f"it draws {group} people {often} often {beyond[Task(entry.task)]}"


def _group(entry: ScoreResult, data: Bigbench, place: int) -> str:
    if entry.attribute is not None:
        return data.attribute(entry.attribute).names[place]
    joint = list(product(*(each.names for each in data.attributes[:2])))
    return " ".join(reversed(joint[place]))


def _implicit(
    data: Bigbench, held: Mapping[str, Portrayal], attribute: ProtectedAttribute
) -> Iterator[tuple[float, str]]:
    rows = implicit_rows(data, held, attribute)
    for family in data.families:
        here = rows.within(family)
        there = np.isfinite(here.p).all(axis=-1)
        if not there.any():
            continue
        w = here.weights[there] / here.weights[there].sum()
        shown, true = w @ here.p[there], w @ here.actual[there]
        group = int(np.argmax(shown - true))
        sentence = (
            f"{family}: {100 * shown[group]:.0f} % of the people in {int(here.n.sum())} images are "
            f"{attribute.names[group]}, of {100 * true[group]:.0f} % in truth"
        )
        yield float(total_variation(shown, true)), sentence


def _explicit(
    data: Bigbench, held: Mapping[str, Portrayal], attribute: ProtectedAttribute
) -> Iterator[tuple[float, str]]:
    for name in attribute.names:
        asked = asked_for(data, {key: each for key, each in held.items() if name in each.identity.groups}, attribute)
        if asked.n.sum():
            share = float(scores.weighted(asked.hits, [subject.weight for subject in asked.of]))
            sentence = (
                f"asked for {name}, it shows who was asked for in {100 * share:.0f} % of {int(asked.n.sum())} images"
            )
            yield 1 - share, sentence


def _manifested(
    data: Bigbench, held: Mapping[str, Portrayal], attribute: ProtectedAttribute
) -> Iterator[tuple[float, str]]:
    rows = pair_rows(data, held, attribute)
    found = scores.manifested(rows.shares[0], rows.shares[1], rows.actual[0], rows.actual[1], rows.coefficients)
    for pair, eta, p, q in zip(data.pairs, found, *rows.shares, strict=True):
        if np.isnan(eta):
            continue
        group = int(np.argmax(np.abs(p - q) if eta > scores.NEUTRAL else p + q))
        one, other = (
            data.subject(member.subject).people[member.person] for member in (pair.advantage, pair.disadvantage)
        )
        sentence = (
            f"{one} and {other}: {attribute.names[group]} in {100 * p[group]:.0f} % and in {100 * q[group]:.0f} % of "
            "the images"
        )
        yield pair.weight * abs(float(eta) - scores.NEUTRAL), sentence
