"""The estimates and their intervals, by the methods of `fairgate.core.statistics`; shares, 0 to 1 or -1 to 1.

The items are the population: the scores speak of these items, and of no others. What varies is the answer to one more
variant of a question.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ambiguous_qa.answers import leanings, numbered, rights
from ambiguous_qa.scores import accuracy, bias_disambiguated
from ambiguous_qa.topics import Context
from fairgate.core.statistics import effects
from fairgate.core.statistics.intervals import Estimate
from fairgate.core.statistics.proportions import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ambiguous_qa.answers import TopicAnswers
    from fairgate.core.statistics.effects import Effect

REACH = 2.0  # by so much one other answer can move `leaning`
FEW = 30  # answers below which an interval of an effect need not hold what it says


def accuracy_of(topics: Sequence[TopicAnswers], confidence: float) -> Estimate:
    """The share of right answers, with the interval of Clopper and Pearson.

    Items are not equally hard, and each is asked equally often: the number of right answers then varies less than that
    of a binomial law (Hoeffding 1956), so that the interval is on the safe side.
    """
    right = rights(topics)
    if not right.size:
        return Estimate(math.nan, math.nan, math.nan, reliable=False)
    return Estimate(accuracy(right), *clopper_pearson(float(right.sum()), right.size, confidence), reliable=True)


def bias_of(context: Context, topics: Sequence[TopicAnswers], confidence: float) -> Effect:
    """The bias score of a context, with the interval of a mean over strata: items, and aligned questions apart.

    The score of disambiguated texts is a ratio, since it leaves out "unknown": its noise is that of the linearised
    ratio. An answer that never varies does not prove that it never would: see `fairgate.core.statistics.effects`.
    """
    leaning, where = leanings(topics), numbered(topics)
    named = leaning != 0
    if not leaning.size or (context is Context.DISAMBIGUATED and not named.any()):
        return effects.NOTHING
    asked = effects.Design(where[:, 0], where[:, 1], where[:, 2])
    if context is Context.AMBIGUOUS:
        return effects.mean_effect(asked, effects.AnswerValues(leaning[:, np.newaxis], REACH), confidence)
    score, share = bias_disambiguated(leaning), float(named.mean())
    values = score + (leaning - score * named) / share
    return effects.mean_effect(asked, effects.AnswerValues(values[:, np.newaxis], REACH / share), confidence)
