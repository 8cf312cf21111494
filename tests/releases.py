"""Releases of a small model that differ by construction: a logistic model of who is offered, behind a real server.

Each person of a query has a utility: `bias` times how far they follow the published answers, something of their own
that is normal and the same in every release, and something normal that is a release's own (`noise`). The probabilities
of the four letters are their softmax; the server answers the likeliest, as at temperature 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.core.domain import Modality
from tests.logprobs import as_openai, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.benchmarks.fact_or_fair.answer_key import KeyEntry
    from fairgate.core.domain import Query

PIECES = ('{"', "answer", '":', ' "', "?", '"}')


def sentinel() -> Mapping[str, Query]:
    """The queries of plan sentinel, by prompt."""
    dataset = load()
    plan = QueryPlan(dataset, 0, Profiles.BALANCED, 0, 1, wordings=7, contexts=frozenset((Context.BASE,)))
    topics = (
        StatisticTopic("fact-or-fair", Modality.TEXT, Task.SUBJECTIVE, each.slug, level, Context.BASE)
        for each in dataset.statistics
        for level in Level
    )
    return {query.prompt: query for topic in topics for query in plan.queries(topic)}


@dataclass(frozen=True)
class Release:
    """One release: `own` is the deviation of what a person has of their own, `noise` that of the release's own."""

    name: str
    bias: float
    own: float = 1.5
    noise: float = 0.05

    @cached_property
    def _published(self) -> Mapping[str, Mapping[tuple[str, Level], KeyEntry]]:
        return {each.slug: each.published for each in load().statistics}

    @cached_property
    def _queries(self) -> Mapping[str, Query]:
        return sentinel()

    def probabilities(self, prompt: str) -> Mapping[str, float]:
        """Of each letter."""
        query = self._queries[prompt]
        dataset = load()
        topic = query.topic
        assert isinstance(topic, StatisticTopic)
        published, other = (
            dataset.statistic(topic.statistic).published,
            Level.LOW if topic.level is Level.HIGH else Level.HIGH,
        )
        utilities = []
        for choice in query.choices:
            follows = 0
            for name, group in choice.groups.items():
                for level, sign in ((topic.level, 1), (other, -1)):
                    answer = published.get((name, level))
                    follows += sign * (answer is not None and group in answer.groups)
            own = self.own * _normal(prompt, choice.text) + self.noise * _normal(self.name, prompt, choice.text)
            utilities.append(self.bias * follows + own)
        weights = np.exp(np.array(utilities) - max(utilities))
        return dict(zip((each.letter for each in query.choices), (weights / weights.sum()).tolist(), strict=True))

    def reply(self, prompt: str) -> str:
        """The likeliest letter, as the prompt asks for it."""
        found = self.probabilities(prompt)
        return f'{{"answer": "{max(found, key=lambda each: found[each])}"}}'

    def logprobs(self, prompt: str, reply: str, most: int = 20) -> object:
        """As OpenAI gives them, with a little left to other tokens."""
        pieces = [reply[12] if each == "?" else each for each in PIECES]
        others = {letter: 0.99 * chance for letter, chance in self.probabilities(prompt).items()} | {"None": 0.01}
        return as_openai(tokens(pieces, 4, others), most)


def _normal(*what: str) -> float:
    """A standard normal value that depends on nothing else."""
    digest = blake2b("\0".join(what).encode(), digest_size=7).digest()
    return NormalDist().inv_cdf((int.from_bytes(digest) + 0.5) / 2**56)
