"""Reasons for choices (`--explain`): asked for before the choice, and sorted by the judge into four kinds.

The choice is the query's own sample, scored as ever; each sorting is a sample of the judge's that comes after it. Where
nothing was chosen, or no reason given, there is nothing to sort, and the judge is not asked.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.topics import Context
from fairgate.core.domain import Form, Query, Reply, Role
from fairgate.core.errors import DataError
from fairgate.core.layout import DATA
from fairgate.core.statistics.proportions import clopper_pearson
from fairgate.ledger.samples import spares
from fairgate.replies.citations import fenced
from fairgate.replies.reasons import Reason, read_kind, reason_of

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.ledger.samples import Sample

FILE = DATA / "explain" / "prompts.toml"
KEYS = {"version", "explained_instruction", "judge"}
STEP = "explained"
QUERIES = 2  # the choice, and the sorting of its reason, which the choice leads to


@dataclass(frozen=True)
class ReasonPrompts:
    """The texts of data/explain/prompts.toml; `version` belongs into the key of every sample."""

    version: int
    instruction: str
    judge: str

    @property
    def step(self) -> str:
        """What tells an explained query from one that asks for the choice alone."""
        return f"{STEP}.{self.version}"

    def sorting(self, reason: str) -> str:
        """Asks which kind of reason this is, with the reason fenced off as data."""
        slots = dict(zip(("{Mark}", "{Lines}"), fenced(reason), strict=True))
        # In one pass: braces within the reason are no slots.
        return re.sub(r"\{Mark\}|\{Lines\}", lambda slot: slots[slot[0]], self.judge)


@cache
def load_prompts(path: Path = FILE) -> ReasonPrompts:
    """The texts. Raises DataError where the file lacks one, or a slot of it."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    if set(table) != KEYS:
        odd = ", ".join(sorted(set(table) ^ KEYS))
        raise DataError(f"unknown or missing: {odd}.", where=str(path), hint=f"Give it {', '.join(sorted(KEYS))}.")
    for slot in ("{Mark}", "{Lines}"):
        if slot not in table["judge"]:
            raise DataError(f"lacks the slot {slot}.", where=f"{path}: judge", hint="Put it in.")
    return ReasonPrompts(table["version"], table["explained_instruction"], table["judge"].removeprefix("\n"))


@dataclass(frozen=True)
class Explained:
    """A choice's query with what the judge makes of its reason.

    `reason` is empty where there is no choice or no reason, `kind` None there, and where no sorting can be read.
    """

    query: Query
    reason: str
    kind: Reason | None


def conversations(queries: Iterable[Query]) -> Iterator[Generator[Query, Reply | None, Explained]]:
    """Each query with the sorting of its reason behind it."""
    return (_explained(query, load_prompts()) for query in queries)


def _explained(query: Query, prompts: ReasonPrompts) -> Generator[Query, Reply | None, Explained]:
    reply = yield query
    # A reason for nothing, or none at all, is nothing that a judge should be paid for.
    if reply is None or spares(query, reply):
        return Explained(query, "", None)
    reason = reason_of(reply.text)
    step = f"{query.step}/judge.{prompts.version}"
    # What the reason is of stays out of the judge's sight: groups, choice and context are not said.
    sorting = Query(query.topic, query.index, prompts.sorting(reason), step=step, to=Role.JUDGE, form=Form.KIND)
    for each in (sorting, replace(sorting, step=f"{step}/again", again=True)):
        said = yield each
        if said is None:
            break
        if (kind := read_kind(said.said, reason)) is not None:
            return Explained(query, reason, kind)
    return Explained(query, reason, None)


# What controls give as their reason, and what control/judge makes of it.
KNOWS = "Of such people the statistics of {statistic} are known."
NOTHING = "Nothing is known of them."


def control_reason(name: str, statistic: str) -> str:
    """The reason that a control gives."""
    return KNOWS.format(statistic=statistic.replace("-", " ")) if name.startswith("stereotype") else NOTHING


def control_kind(asked: str) -> Reason:
    """The rule of control/judge, which knows the controls' sentences alone."""
    return Reason.REPRESENTATIVENESS if KNOWS.partition("{")[0] in asked else Reason.NONE


EXAMPLES = 3
SHOWN = 200  # characters of a reason in a report


@dataclass
class ReasonTally:
    """Of one context: the kinds of the reasons of choices, those left unsorted, and the first examples of each kind.

    Replies without a readable choice do not count. An example is (query id, letter, kind,
    reason).
    """

    kinds: Counter[Reason] = field(default_factory=Counter)
    unsorted: int = 0
    again: int = 0
    first: dict[Reason, list[tuple[str, str, str, str]]] = field(default_factory=dict)

    def add(self, explained: Explained, letter: str | None, again: int = 0) -> None:
        """Count the reason of one choice; without a choice there is nothing to give a reason for."""
        self.again += again
        if letter is None:
            return
        kind = explained.kind
        if kind is None:
            self.unsorted += 1
            return
        self.kinds[kind] += 1
        examples = self.first.setdefault(kind, [])
        if len(examples) < EXAMPLES:
            examples.append((explained.query.id, letter, kind, explained.reason[:SHOWN]))

    @property
    def examples(self) -> list[tuple[str, str, str, str]]:
        """Three telling ones: one of each bias that was found, then more of the same, `none` last."""
        ranked = [self.first.get(kind, []) for kind in Reason]
        by_turn = [each[turn] for turn in range(EXAMPLES) for each in ranked[:-1] if turn < len(each)]
        return [*by_turn, *ranked[-1]][:EXAMPLES]


def reasons_by_context(
    topics: Iterable[tuple[StatisticTopic, Iterable[tuple[Explained, Sequence[Sample]]]]],
) -> dict[str, ReasonTally]:
    """The reasons of topics, counted by context; each with its samples, the choice first."""
    found: dict[str, ReasonTally] = {}
    for topic, reasons in topics:
        counted = found.setdefault(str(topic.context), ReasonTally())
        for explained, samples in reasons:
            chosen = samples[0].chosen
            again = sum(each.query.again for each in samples)
            counted.add(explained, None if chosen is None else chosen.letter, again)
    return {str(context): found[context] for context in Context if context in found}


def sorted_kinds(counted: ReasonTally) -> dict[str, object]:
    """The shares of the kinds in percent, with exact intervals, and examples."""
    whole = counted.kinds.total()
    kinds: dict[str, object] = {}
    for kind in Reason:
        n = counted.kinds[kind]
        share = 100 * n / whole if whole else None
        kinds[kind] = {"n": n, "share": share, "ci": [100 * end for end in clopper_pearson(n, whole)]}
    keys = ("query", "choice", "kind", "reason")
    examples = [dict(zip(keys, each, strict=True)) for each in counted.examples]
    return {"sorted": whole, "unsorted": counted.unsorted, "kinds": kinds, "examples": examples}
