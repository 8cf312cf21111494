"""Why a gate failed, in words: the topics that show it best, and what a fair, or informed, model would do there."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.evidence import Evidence
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK, StatisticCase, image_topic, text_topic
from fairgate.benchmarks.fact_or_fair.effect_findings import AFTER, claim
from fairgate.benchmarks.fact_or_fair.templates import ADJECTIVE
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import FAILED
from fairgate.core.domain import Modality
from fairgate.core.statistics.distributions import entropy, total_variation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fairgate.benchmarks.evidence import Shown
    from fairgate.benchmarks.fact_or_fair.counts import Counts, FloatArray, IntArray
    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.score_table import Source
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.score_result import ScoreResult

LEVELS = tuple(Level)
MOST = 3  # topics of a finding
FEW = 10  # answers below which their number says more than a share
# Scores whose worst topics are the most uneven ones; of the others, those that move most with the level.
UNEVEN = ("S_E", "preference", "preference_spread")
# Scores of how the group that a context names is chosen.
OF_NAMED = ("pull", "pull_spread", "in_group_bias")


def findings(
    gates: Iterable[GateResult],
    sources: Mapping[Modality, Source],
    dataset: Dataset,
    key: KeyKind,
    evidence: Evidence | None = None,
) -> Iterator[Finding]:
    """The worst topics of each failed gate, each with one reply where `evidence` has any."""
    told = evidence or Evidence()
    # The gates of one attribute and context often fail over the same topics.
    read = lru_cache(maxsize=4 * MOST)(told.read)
    for gate in gates:
        entry = gate.entry
        if gate.verdict not in FAILED:
            continue
        if entry.benchmark != BENCHMARK:
            continue
        if entry.attribute is None:
            if said := claim(entry, dataset):
                yield Finding(gate.name, claim=said)
            continue
        counts = sources[entry.modality].counts(
            Task(entry.task), None if entry.context is None else Context(entry.context), entry.attribute, key
        )
        if counts is None:
            continue
        about = _Gate(entry, entry.attribute, counts, dataset)
        share = ""
        if entry.score.partition("@")[0] in OF_NAMED and entry.context is not None:
            picks = sources[entry.modality].named(Context(entry.context), entry.attribute)
            share = _share(picks, counts, entry.estimate) if entry.score in OF_NAMED else ""
            topics = tuple(_named(about, picks, read))
        else:
            share = _ends(counts) if entry.score == "contrast" else ""
            topics = tuple(_worst(about, read))
        said = claim(entry, dataset, share)
        if topics or (said and entry.tested is not None):
            yield Finding(gate.name, topics, said)


def _share(picks: IntArray, counts: Counts, pull: float | None) -> str:
    """How often the group that a context names is picked, and how often by chance, in words; empty over nothing."""
    whole = int(counts.answered[counts.applies].sum())
    if not whole or pull is None:
        return ""
    share = 100 * picks[counts.applies].sum() / whole
    return f"{share:.0f} % of {whole:,} choices instead of {share - pull:.0f} %"


def _ends(counts: Counts) -> str:
    """How often the group is picked that a statistic names at the end asked for, and at the other end, in words."""
    key, p = counts.key.astype(np.float64), counts.p
    towards = np.stack([key[:, 0] - key[:, 1], key[:, 1] - key[:, 0]], axis=1)  # [S, 2, k], as in `effects.contrast`
    kept = counts.key.any(axis=-1).all(axis=-1) & towards.any(axis=(1, 2)) & ~np.isnan(p).any(axis=(1, 2))
    if not kept.any():
        return ""
    named, other = (100 * np.where(sign * towards > 0, p, 0.0).sum(axis=-1)[kept].mean() for sign in (1, -1))
    return f"{named:.0f} % of choices, and in {other:.0f} % when asked for the opposite"


class _Gate:
    """What one failed gate is about."""

    def __init__(self, entry: ScoreResult, attribute: str, counts: Counts, dataset: Dataset) -> None:
        self.entry, self.attribute, self.counts, self.dataset = entry, attribute, counts, dataset
        self.p = counts.p
        self.chance = 100 / len(counts.groups)
        images = entry.modality is Modality.IMAGE
        self.opening = "asked to portray the" if images else "asked who has the"
        self.says, self.picks = ("it draws", "it draws") if images else ("it says", "it picks")
        self.answers = "faces" if images else "answers"

    def told(
        self, sentence: str, s: int, level: int, shows: Callable[[Shown], bool], read: Callable[[str], Iterable[Shown]]
    ) -> Example:
        """A topic's sentence, with the first sample that shows it."""
        entry, slug = self.entry, self.counts.statistics[s]
        context = None if entry.context is None else Context(entry.context)
        if entry.modality is Modality.IMAGE:
            topic = image_topic(Task(entry.task), slug, LEVELS[level])
        else:
            topic = text_topic(Task(entry.task), slug, LEVELS[level], context, self.attribute)
        case = StatisticCase(topic, self.attribute)
        reply = next((each for each in read(topic.id) if shows(each)), None)
        after = AFTER.get(context, "") if context else ""
        return Example(f"{after}{sentence}", case.name, reply)

    def share(self, s: int, level: int, group: int) -> str:
        """How often a group is picked: as a share of the answers, or as their number where they are few.

        Result folders may hold shares alone, not of how many answers.
        """
        answered, share = int(self.counts.answered[s, level]), float(self.p[s, level, group])
        if 0 < answered < FEW:
            return f"{round(answered * share)} of {answered} {self.answers}"
        return f"{100 * share:.0f} % of {f'{answered:,} ' if answered else ''}{self.answers}"

    def picking(self, group: int) -> Callable[[Shown], bool]:
        """Whether a sample picks this group."""
        return lambda sample: sample.group(self.attribute) == self.counts.groups[group]

    def asked(self, s: int, level: int) -> str:
        """What a topic asks for, e.g. `highest Crime Rate`."""
        return f"{ADJECTIVE[LEVELS[level]]} {self.dataset.statistic(self.counts.statistics[s]).name}"


def _worst(gate: _Gate, read: Callable[[str], Iterable[Shown]]) -> Iterator[Example]:
    if gate.entry.score == "S_fact":
        return _wrong_facts(gate, read)
    return _uneven(gate, read) if gate.entry.score in UNEVEN else _moved(gate, read)


def _places(badness: FloatArray) -> list[tuple[int, ...]]:
    """The places of the largest numbers, the largest first; NaN, and what is not bad at all, is left out."""
    order = np.argsort(-np.nan_to_num(badness, nan=-1.0), axis=None, kind="stable")[:MOST]
    places = [tuple(int(each) for each in np.unravel_index(place, badness.shape)) for place in order]
    return [place for place in places if badness[place] > 0]


def _wrong_facts(gate: _Gate, read: Callable[[str], Iterable[Shown]]) -> Iterator[Example]:
    counts, p = gate.counts, gate.p
    wrong = 1.0 - np.where(counts.key, p, 0.0).sum(axis=-1)
    wrong[~counts.key.any(axis=-1) | np.isnan(p).any(axis=-1)] = np.nan
    for s, level in _places(wrong):
        said = int(np.argmax(np.where(counts.key[s, level], -1.0, p[s, level])))
        answer = " or ".join(group for group, known in zip(counts.groups, counts.key[s, level], strict=True) if known)
        sentence = (
            f"{gate.opening} {gate.asked(s, level)}, {gate.says} {counts.groups[said]} in "
            f"{gate.share(s, level, said)}; the key says {answer}"
        )
        yield gate.told(sentence, s, level, gate.picking(said), read)


def _uneven(gate: _Gate, read: Callable[[str], Iterable[Shown]]) -> Iterator[Example]:
    uneven = 1.0 - entropy(gate.p)
    uneven[~gate.counts.applies] = np.nan
    for s, level in _places(uneven):
        most = int(np.argmax(gate.p[s, level]))
        sentence = (
            f"{gate.opening} {gate.asked(s, level)}, {gate.picks} {gate.counts.groups[most]} in "
            f"{gate.share(s, level, most)}; a fair model: {gate.chance:.0f} %"
        )
        yield gate.told(sentence, s, level, gate.picking(most), read)


def _named(gate: _Gate, picks: IntArray, read: Callable[[str], Iterable[Shown]]) -> Iterator[Example]:
    """Topics in which the group that the context names is chosen, or left out, most often."""
    answered = gate.counts.answered
    share = np.divide(100.0 * picks, answered, out=np.full(answered.shape, np.nan), where=answered > 0)
    share[~gate.counts.applies] = np.nan
    beyond = share - gate.chance
    avoided = gate.entry.score.startswith("pull") and (gate.entry.estimate or 0.0) < 0
    for s, level in _places(-beyond if avoided else beyond if gate.entry.score == "pull" else np.abs(beyond)):
        above = bool(beyond[s, level] > 0)
        sentence = (
            f"{gate.opening} {gate.asked(s, level)}, it picks a person of the named group in {picks[s, level]} of "
            f"{answered[s, level]} {gate.answers}; by chance {gate.chance:.0f} %"
        )

        def shows(sample: Shown, above: bool = above) -> bool:
            group = sample.group(gate.attribute)
            return group is not None and (group == sample.named.get(gate.attribute)) is above

        yield gate.told(sentence, s, level, shows, read)


def _moved(gate: _Gate, read: Callable[[str], Iterable[Shown]]) -> Iterator[Example]:
    p = gate.p
    moved = total_variation(p[:, 0], p[:, 1])
    moved[~gate.counts.applies] = np.nan
    for (s,) in _places(moved):
        group = int(np.argmax(np.abs(p[s, 0] - p[s, 1])))
        # The level at which the group is picked more often is the more telling one to begin with.
        first = int(p[s, 1, group] > p[s, 0, group])
        sentence = (
            f"{gate.opening} {gate.asked(s, first)}, {gate.picks} {gate.counts.groups[group]} in "
            f"{gate.share(s, first, group)} and in {gate.share(s, 1 - first, group)} for the "
            f"{ADJECTIVE[LEVELS[1 - first]]}; a fair model: {gate.chance:.0f} %"
        )
        yield gate.told(sentence, s, first, gate.picking(group), read)
