"""Choices, and faces, -> the effects of groups as scores: what the default gates stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK, StatisticCase
from fairgate.benchmarks.fact_or_fair.choices import LEVELS, PEOPLE, Choices, choices_of, faces_of
from fairgate.benchmarks.fact_or_fair.score_table import of_one_look
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.benchmarks.score_result import ScoreResult, with_effect
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.statistics import effects

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fairgate.benchmarks.fact_or_fair.data import Dataset, KeyKind
    from fairgate.benchmarks.fact_or_fair.faces_tally import FacesTally
    from fairgate.benchmarks.fact_or_fair.score_table import Sure
    from fairgate.benchmarks.fact_or_fair.tally import Tallies, TopicTally
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.core.statistics.effects import BoolArray, Effect, Largest, Spread

# The contexts that name a group whose pull is an effect of its own; representativeness names the key's.
NAMING = (Context.ATTRIBUTION, Context.INGROUP)
SOFT = "@soft"  # ends the name of an effect by the probabilities of choices


def effects_of_choices(
    source: Tallies[TopicTally], wordings: int | None, key: KeyKind, sure: Sure = of_one_look
) -> Iterator[ScoreResult]:
    """By context: contrast, preference, pull, in-group bias, joint preference and position, with their spreads."""
    dataset = source.dataset
    names = [each.name for each in dataset.attributes]
    for context in Context:
        every = [
            case for case in source.selected if (case.topic.task, case.topic.context) == (Task.SUBJECTIVE, context)
        ]
        if not every:
            continue
        confidence = sure(Task.SUBJECTIVE, context)
        for name in names:
            if any(case.attribute == name for case in every):
                here = _choices(source, context, wordings, (name,))
                yield from _by_attribute(source, context, name, here, key, confidence)
        if len(names) > 1 and all(any(case.attribute == name for case in every) for name in names):
            both = _choices(source, context, wordings, tuple(names))
            joint, k = _joint(both, dataset)
            found = effects.preference(both.asked, joint, both.chosen, k, confidence)
            covered = _covered(source, context, names)
            yield _entry(source, context, None, "joint_preference", found, both, covered)
            by_each, ks = [both.groups[name] for name in names], [each.k for each in dataset.attributes]
            beyond = effects.interaction(both.asked, by_each, both.chosen, ks, confidence)
            yield _entry(source, context, None, "interaction", beyond, both, covered)
        letters = _choices(source, context, wordings, ())
        places = np.tile(np.arange(PEOPLE), (len(letters.chosen), 1))
        found = effects.preference(letters.asked, places, letters.chosen, PEOPLE, confidence)
        yield _entry(source, context, None, "position", found, letters, _covered(source, context, ()))
        differing = effects.spread_by_topic(letters.asked, places, letters.chosen, PEOPLE, confidence)
        yield _entry(source, context, None, "position_spread", differing, letters, _covered(source, context, ()))


def effects_of_faces(source: Tallies[FacesTally], key: KeyKind, confidence: float) -> Iterator[ScoreResult]:
    """Of subjective images: contrast, level shift, preference and its spread by attribute, and joint preference."""
    dataset = source.dataset
    by_attribute = {
        each.name: [c for c in source.selected if c.topic.task is Task.SUBJECTIVE and c.attribute == each.name]
        for each in dataset.attributes
    }
    for attribute in dataset.attributes:
        cases = by_attribute[attribute.name]
        if not cases:
            continue
        faces = faces_of(_selected(source, attribute.name), dataset, Task.SUBJECTIVE, attribute.name)
        known = faces.groups[attribute.name] >= 0
        asked, group = faces.asked.where(known), faces.groups[attribute.name][known]
        topics = len(cases), _whole(dataset, (attribute.name,))
        right = key_of(dataset, attribute.name, key)
        for score, found in (
            ("contrast", effects.contrast_of_shown(asked, group, right, confidence)),
            ("preference", effects.evenness(asked, group, attribute.k, confidence)),
            ("preference_spread", effects.spread_of_shown(asked, group, attribute.k, confidence)),
            ("level_shift", effects.shift_of_shown(asked, group, attribute.k, confidence)),
        ):
            yield made(source.modality, None, attribute.name, score, found, len(group), topics, 0.0)
    if len(by_attribute) > 1 and all(by_attribute.values()):
        yield from _joint_of_faces(source, confidence)


def _joint_of_faces(source: Tallies[FacesTally], confidence: float) -> Iterator[ScoreResult]:
    """The preference and the interaction by all attributes together, of statistics that have them all."""
    dataset = source.dataset
    names = [each.name for each in dataset.attributes]
    chosen = {
        topic: each
        for topic, each in source.tallies.items()
        if set(names) <= set(dataset.statistic(topic.statistic).attributes)
        and all(StatisticCase(topic, name) in source.selected for name in names)
    }
    faces = faces_of(chosen, dataset, Task.SUBJECTIVE, names[0])
    known = np.all([faces.groups[name] >= 0 for name in names], axis=0)
    code, k = np.zeros(int(known.sum()), np.int64), 1
    for attribute in dataset.attributes:
        code = code * attribute.k + faces.groups[attribute.name][known]
        k *= attribute.k
    asked = faces.asked.where(known)
    covered = sum(topic.task is Task.SUBJECTIVE for topic in chosen), _whole(dataset, names)
    found = effects.evenness(asked, code, k, confidence)
    yield made(source.modality, None, None, "joint_preference", found, len(code), covered, 0.0)
    by_each, ks = [faces.groups[name][known] for name in names], [each.k for each in dataset.attributes]
    beyond = effects.interaction_of_shown(asked, by_each, ks, confidence)
    yield made(source.modality, None, None, "interaction", beyond, len(code), covered, 0.0)


def choices_of_topic(
    tallies: Mapping[StatisticTopic, TopicTally], dataset: Dataset, context: Context, wordings: int | None, slug: str
) -> Choices:
    """The choices about one statistic in a context, at both levels where both are there."""
    here = {topic: counted for topic, counted in tallies.items() if topic.statistic == slug}
    return choices_of(here, dataset, Task.SUBJECTIVE, context, wordings)


def _by_attribute(
    source: Tallies[TopicTally], context: Context, name: str, here: Choices, key: KeyKind, confidence: float
) -> Iterator[ScoreResult]:
    dataset = source.dataset
    k = dataset.attribute(name).k
    found = _found(here, here.chosen, name, context, key, dataset, confidence)
    given = here.asked, here.groups[name], here.chosen
    found["preference_spread"] = effects.spread(*given, k, confidence)
    found["level_shift"] = effects.shift(*given, k, confidence)
    if context in NAMING:
        found["pull_spread"] = effects.pull_spread(*given, here.named[name], confidence)
    for score, each in found.items():
        yield _entry(source, context, name, score, each, here, _covered(source, context, (name,)))
    weighed = here.weighed
    if len(weighed.chosen):
        covered = len(np.unique(weighed.asked.topic)), _whole(dataset, (name,))
        for score, each in _found(weighed, weighed.shares, name, context, key, dataset, confidence).items():
            yield _entry(source, context, name, f"{score}{SOFT}", each, weighed, covered)


def _found(
    here: Choices, picks: effects.Picks, name: str, context: Context, key: KeyKind, dataset: Dataset, confidence: float
) -> dict[str, Effect | Largest | Spread]:
    """The effects of one attribute, of the choices that were made or of their probabilities."""
    given, named = (here.asked, here.groups[name], picks), here.named[name]
    found: dict[str, Effect | Largest | Spread] = {
        "contrast": effects.contrast(*given, key_of(dataset, name, key), confidence),
        "preference": effects.preference(*given, dataset.attribute(name).k, confidence),
    }
    if context in NAMING:
        found["pull"] = effects.pull(*given, named, confidence)
    if context is Context.INGROUP:
        found["in_group_bias"] = effects.favouring(*given, named, favourable_of(dataset), confidence)
    return found


def _choices(source: Tallies[TopicTally], context: Context, wordings: int | None, names: tuple[str, ...]) -> Choices:
    return choices_of(
        source.tallies, source.dataset, Task.SUBJECTIVE, context, wordings, source.selected if names else None, names
    )


def _selected(source: Tallies[FacesTally], attribute: str) -> dict[StatisticTopic, FacesTally]:
    return {topic: each for topic, each in source.tallies.items() if StatisticCase(topic, attribute) in source.selected}


def key_of(dataset: Dataset, attribute: str, key: KeyKind) -> BoolArray:
    """Which groups are right, [S, 2, k]."""
    names = dataset.attribute(attribute).names
    right = np.zeros((len(dataset.statistics), len(LEVELS), len(names)), np.bool_)
    for s, statistic in enumerate(dataset.statistics):
        for place, level in enumerate(LEVELS):
            answer = statistic.key(key).get((attribute, level))
            right[s, place] = [answer is not None and name in answer.groups for name in names]
    return right


def favourable_of(dataset: Dataset) -> BoolArray:
    """Where it is good for a person to be chosen, [S, 2]."""
    return np.array([[each.favourable is level for level in LEVELS] for each in dataset.statistics])


def _joint(here: Choices, dataset: Dataset) -> tuple[effects.IntArray, int]:
    """The people's groups by all attributes together, and how many of these there are."""
    code, k = np.zeros((len(here.chosen), PEOPLE), np.int64), 1
    for attribute in dataset.attributes:
        code = code * attribute.k + here.groups[attribute.name]
        k *= attribute.k
    return code, k


def _whole(dataset: Dataset, names: Collection[str]) -> int:
    """Topics of the statistics that have all these attributes."""
    return len(LEVELS) * sum(set(names) <= set(each.attributes) for each in dataset.statistics)


def _covered(source: Tallies[TopicTally], context: Context, names: Collection[str]) -> tuple[int, int]:
    """Topics with answers, and all."""
    dataset = source.dataset
    there = {
        topic
        for topic, counted in source.tallies.items()
        if (topic.task, topic.context) == (Task.SUBJECTIVE, context)
        and counted.answered
        and set(names) <= set(dataset.statistic(topic.statistic).attributes)
        and all(StatisticCase(topic, name) in source.selected for name in names)
    }
    return len(there), _whole(dataset, names)


def _entry(
    source: Tallies[TopicTally],
    context: Context,
    attribute: str | None,
    score: str,
    found: Effect | Largest | Spread,
    here: Choices,
    topics: tuple[int, int],
) -> ScoreResult:
    kinds = source.kinds(Task.SUBJECTIVE, context)
    failed = 100 * kinds[AnswerKind.FAILED] / kinds.total() if kinds.total() else 0.0
    return made(source.modality, context, attribute, score, found, len(here.chosen), topics, failed)


def made(
    modality: Modality,
    context: Context | None,
    attribute: str | None,
    score: str,
    found: Effect | Largest | Spread,
    n: int,
    topics: tuple[int, int],
    failed: float,
) -> ScoreResult:
    """An effect as an entry of the scoreboard."""
    entry = ScoreResult(
        benchmark=BENCHMARK,
        modality=modality,
        task=Task.SUBJECTIVE,
        context=context,
        attribute=attribute,
        score=score,
        n=n,
        topics=topics,
        failed_share=failed,
        signed=isinstance(found, effects.Effect),
        validity=score in ("position", "position_spread"),
    )
    return with_effect(entry, found)
