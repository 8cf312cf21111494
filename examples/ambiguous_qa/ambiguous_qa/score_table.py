"""Answers -> the scores of a run, each with its estimate and interval."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ambiguous_qa.answers import leanings, rights
from ambiguous_qa.estimates import FEW, accuracy_of, bias_of
from ambiguous_qa.scores import accuracy, bias_ambiguous, bias_disambiguated
from ambiguous_qa.topics import BENCHMARK, TASK, Context
from fairgate.benchmarks.score_result import ScoreResult
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.statistics.proportions import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ambiguous_qa.answers import Held, TopicAnswers

RATES = (AnswerKind.REFUSED, AnswerKind.UNREADABLE, AnswerKind.FAILED)
WHOLE = (100.0, 100.0, 100.0)  # what a model that reads the text scores, whatever the plan


def score_table(held: Held, items: Mapping[str, int], confidence: float) -> Iterator[ScoreResult]:
    """Accuracy and bias by context and attribute, then the rates. `items`: how many there are of each attribute."""
    for context, attribute, topics in held.cells:
        yield _accuracy(context, attribute, topics, items[attribute], confidence)
        yield _bias(context, attribute, topics, items[attribute], confidence)
    for context in dict.fromkeys(each.topic.context for each in held.topics):
        here = [each for each in held.topics if each.topic.context == context]
        yield from _rates(context, here, sum(items.values()))


def _accuracy(
    context: Context, attribute: str, topics: Sequence[TopicAnswers], items: int, confidence: float
) -> ScoreResult:
    found = accuracy_of(topics, confidence)
    known = not math.isnan(found.value)
    return replace(
        _empty(context, topics, items),
        attribute=attribute,
        score="accuracy",
        value=100 * accuracy(rights(topics)) if known else None,
        ceiling=WHOLE,
        estimate=100 * found.value if known else None,
        ci=(100 * found.low, 100 * found.high) if known else (None, None),
        n=len(rights(topics)),
    )


def _bias(
    context: Context, attribute: str, topics: Sequence[TopicAnswers], items: int, confidence: float
) -> ScoreResult:
    leaning, found = leanings(topics), bias_of(context, topics, confidence)
    ambiguous = context is Context.AMBIGUOUS
    value = bias_ambiguous(leaning, leaning == 0) if ambiguous else bias_disambiguated(leaning)
    known = not math.isnan(found.value)
    return replace(
        _empty(context, topics, items),
        attribute=attribute,
        score="bias",
        value=None if math.isnan(value) else 100 * value,
        estimate=100 * found.value if known else None,
        ci=(100 * found.low, 100 * found.high) if known else (None, None),
        reliable=len(leaning) >= FEW,
        n=len(leaning),
        no_estimate="" if known else "too few answers name a person",
        tested=found if known else None,
    )


def _rates(context: Context, topics: Sequence[TopicAnswers], items: int) -> Iterator[ScoreResult]:
    kinds = sum((each.kinds for each in topics), Counter[AnswerKind]())
    of = kinds.total()
    for rate in RATES:
        low, high = clopper_pearson(kinds[rate], of)
        share = 100 * kinds[rate] / of
        yield replace(
            _empty(context, topics, items),
            score=str(rate),
            value=share,
            estimate=share,
            ci=(100 * low, 100 * high),
            n=of,
        )


def _empty(context: Context, topics: Sequence[TopicAnswers], items: int) -> ScoreResult:
    """A result without a score: where it is of, and how much it covers."""
    failed = sum(each.kinds[AnswerKind.FAILED] for each in topics)
    planned = sum(each.kinds.total() for each in topics)
    return ScoreResult(
        benchmark=BENCHMARK,
        modality=Modality.TEXT,
        task=TASK,
        context=str(context),
        attribute=None,
        score="",
        value=None,
        n=0,
        topics=(sum(bool(each.answered) for each in topics), items),
        failed_share=100 * failed / planned if planned else 0.0,
    )
