"""What came of the conversations -> entries of the scoreboard: raw, corrected for the judge's errors, and as released.

An entry's `value` is the paper's plug-in score, of the judge's verdicts as they are. Its `estimate` and interval are
corrected for the judge's errors on the gold set, whose own uncertainty they carry; the judge's marks are not corrected.
Where reviewers marked enough of the run's own replies, these correct the score in its place, S_factuality too.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from fairgate.benchmarks.f2bench import reference, scores
from fairgate.benchmarks.f2bench.case_summary import CategoryCell, cell_of, joined, mean_known
from fairgate.benchmarks.f2bench.cases import BENCHMARK, GOLD
from fairgate.benchmarks.f2bench.estimates import by_reviews, estimated, judged, tie_spread
from fairgate.benchmarks.f2bench.plan import DEFINITION, REFERENCE, Balanced, Dialogue
from fairgate.benchmarks.f2bench.topics import Task
from fairgate.benchmarks.rates import rate
from fairgate.benchmarks.score_result import ScoreResult, percent, percents
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.statistics.ceilings import ceiling_of
from fairgate.core.statistics.intervals import NOTHING, Interval
from fairgate.core.statistics.misclassification import JudgeConfusion
from fairgate.core.statistics.prediction_powered import Review, enough

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairgate.benchmarks.f2bench.plan import ConversationPlan
    from fairgate.benchmarks.f2bench.tally import ThemeTally
    from fairgate.core.statistics.distributions import FloatArray

CEILING_RUNS = 1000
NAMES = ("S_dialogue", "S_fairness", "S_factuality", "FF1")
UNMARKED = "@unmarked"  # behind the name of a score that marks correct: what would be said without them
NOBODY = JudgeConfusion(0, 0, 0, 0)


def board(
    tallies: Sequence[ThemeTally], plan: ConversationPlan, *, all_categories: Mapping[Task, int], seed: int
) -> tuple[ScoreResult, ...]:
    """All scores of the themes that were selected. `all_categories`: how many a whole run has."""
    entries: list[ScoreResult] = []
    for task in (Task.DIALOGUE, Task.BALANCE):
        here = [each for each in tallies if each.theme.task is task and each.theme.name != GOLD]
        if not here:
            continue
        gold = next((each.known for each in tallies if each.theme.task is task and each.theme.name == GOLD), NOBODY)
        scored = _Task(task, here, plan, gold, all_categories[task], seed)
        entries += [*scored.entries(DEFINITION), *scored.entries(REFERENCE), *scored.rates()]
    return tuple(entries)


@dataclass(frozen=True)
class _Task:
    """One task's themes."""

    task: Task
    tallies: Sequence[ThemeTally]
    plan: ConversationPlan
    known: JudgeConfusion
    categories: int
    seed: int

    def entries(self, scoring: str) -> Iterator[ScoreResult]:
        """Every score in all, by category and by secondary category."""
        cells = {each.theme.name: cell_of(each, scoring, self.plan) for each in self.tallies}
        if not any(cell.n for cell in cells.values()):
            if scoring == DEFINITION:
                yield from self._shown(None, list(cells.values()), scoring, self.categories)
            return
        yield from self._shown(None, list(cells.values()), scoring, self.categories)
        if scoring == DEFINITION and self.task is Task.BALANCE:
            yield self._spread([cell for cell in cells.values() if cell.n])
        for name, cell in cells.items():
            yield from self._shown(name, [cell], scoring, cell.size)
        seconds: dict[str, list[CategoryCell]] = {}
        for cell in cells.values():
            for name, part in cell.by_secondary().items():
                seconds.setdefault(name, []).append(part)
        for name, parts in seconds.items():
            whole = joined(parts)
            yield from self._shown(f"secondary {name}", [whole], scoring, whole.size)

    def _shown(
        self, group: str | None, cells: Sequence[CategoryCell], scoring: str, whole: int
    ) -> Iterator[ScoreResult]:
        there = [cell for cell in cells if cell.n]
        known = {name: [_known(cell, name, scoring) for cell in there] for name in _names(self.task)}
        rng = np.random.default_rng([self.seed, crc32(f"{self.task}-{group}".encode())])
        planned = sum(each.planned for each in self.tallies)
        missing = sum(each.missing for each in self.tallies)
        values = [_plug_in(cell, self.task, scoring) for cell in there]
        means = {
            name: float(np.mean([each[name] for each in values if not math.isnan(each[name])] or [math.nan]))
            for name in (values[0] if values else dict.fromkeys(_names(self.task), math.nan))
        }
        estimates = estimated(self.task, there, self.known, rng) if scoring == DEFINITION and there else {}
        if scoring == DEFINITION and group is None:
            by_marks = self._by_marks(rng)
            yield from (self._beside(name, without) for name, (without, _) in by_marks.items())
            estimates |= {name: found for name, (_, found) in by_marks.items()}
        ceilings = _ceilings(there, self.task, rng) if scoring == DEFINITION and there else {}
        for name, value in means.items():
            found = estimates.get(name, NOTHING)
            yield ScoreResult(
                benchmark=BENCHMARK,
                modality=Modality.TEXT,
                task=self.task,
                context=None,
                attribute=None,
                group=group,
                score=name,
                scoring=scoring,
                value=percent(value),
                ceiling=ceilings.get(name),
                estimate=percent(found.value),
                ci=percents(found),
                n=sum(n for n, _ in known[name]),
                topics=(sum(bool(n) if group is None else covered for n, covered in known[name]), whole),
                failed_share=100 * missing / planned if planned else 0.0,
            )

    def _spread(self, cells: Sequence[CategoryCell]) -> ScoreResult:
        """How far ties go with the group, over instances."""
        rng = np.random.default_rng([self.seed, crc32(f"{self.task}-tie_spread".encode())])
        found = tie_spread(cells, self.known, rng)
        plain = mean_known(np.array([mean_known(cell.alike - cell.apart, 0) for cell in cells]), 0)
        pairs = [int((~np.isnan(cell.moved)).all(axis=-1).sum()) for cell in cells]
        planned, missing = (sum(getattr(each, name) for each in self.tallies) for name in ("planned", "missing"))
        return ScoreResult(
            benchmark=BENCHMARK,
            modality=Modality.TEXT,
            task=self.task,
            score="tie_spread",
            value=percent(math.sqrt(max(float(plain), 0.0)) if sum(pairs) else math.nan),
            estimate=percent(found.value),
            ci=percents(found),
            n=2 * sum(pairs),
            topics=(sum(map(bool, pairs)), self.categories),
            failed_share=100 * missing / planned if planned else 0.0,
        )

    def _by_marks(self, rng: np.random.Generator) -> dict[str, tuple[Interval, Interval]]:
        """The scores of which enough replies are marked: without any marks, and as the marks correct them."""
        reviewed = {name: reviews for name, reviews in self._reviews.items() if enough(reviews)}
        if not reviewed:
            return {}
        own = [cell for cell in (cell_of(each, DEFINITION, self.plan) for each in self._own) if cell.n]
        plain, without = judged(self.task, own), estimated(self.task, own, self.known, rng)
        return {
            name: (without[name], by_reviews(name, plain[name], reviews, rng)) for name, reviews in reviewed.items()
        }

    @property
    def _reviews(self) -> dict[str, list[Review]]:
        found: dict[str, list[Review]] = {}
        for name, reviews in ((name, held) for tally in self.tallies for name, held in tally.reviews.items()):
            found.setdefault(name, []).extend(reviews)
        return found

    @property
    def _own(self) -> Iterator[ThemeTally]:
        """The themes as the judge alone has them."""
        for each in self.tallies:
            yield replace(
                each,
                dialogues=[said for said in each.unmarked if isinstance(said, Dialogue)],
                balanced=[said for said in each.unmarked if isinstance(said, Balanced)],
            )

    def _beside(self, name: str, found: Interval) -> ScoreResult:
        """What would be said without marks, where they correct the score."""
        return ScoreResult(
            benchmark=BENCHMARK,
            modality=Modality.TEXT,
            task=self.task,
            context=None,
            attribute=None,
            score=f"{name}{UNMARKED}",
            value=percent(found.value),
            estimate=percent(found.value),
            ci=percents(found),
            n=len(self._reviews[name]),
            topics=(len(self.tallies), self.categories),
        )

    def rates(self) -> Iterator[ScoreResult]:
        """Dialogues, or descriptions, that were refused, cut short or cannot be judged; samples that are missing."""
        ends = sum((each.ends for each in self.tallies), Counter())
        counts = {
            "refused": (ends[AnswerKind.REFUSED], ends.total()),
            "unreadable": (ends[AnswerKind.UNREADABLE], ends.total()),
            "truncated": (ends[AnswerKind.TRUNCATED], ends.total()),
            "failed": (sum(each.missing for each in self.tallies), sum(each.planned for each in self.tallies)),
        }
        covered = sum(bool(each.dialogues or each.balanced) for each in self.tallies)
        of = ScoreResult(
            benchmark=BENCHMARK,
            modality=Modality.TEXT,
            task=self.task,
            topics=(covered, self.categories),
            failed_share=100 * counts["failed"][0] / max(counts["failed"][1], 1),
        )
        yield from (rate(of, name, 100 * hits / n, hits, n) for name, (hits, n) in counts.items() if n)


def _names(task: Task) -> tuple[str, ...]:
    return NAMES[:1] if task is Task.DIALOGUE else NAMES[1:]


def _known(cell: CategoryCell, name: str, scoring: str) -> tuple[int, int]:
    """How many judgements a score of a cell rests on, and how many instances; none where it has no score."""
    if scoring == REFERENCE and name in ("S_fairness", "FF1"):
        there = ~np.isnan(cell.affirmed)
        return int(there.sum()), int(there.any(axis=0).sum())
    lacks = {
        "S_fairness": np.isnan(cell.toward).all(),
        "S_factuality": np.isnan(cell.marks).all(),
        "FF1": np.isnan(cell.toward).all() or np.isnan(cell.marks).all(),
    }
    return (0, 0) if lacks.get(name) else (cell.n, cell.covered)


def _plug_in(cell: CategoryCell, task: Task, scoring: str) -> dict[str, float]:
    """The scores of one cell, 0 to 1: each repeat scored by itself, then their mean."""
    if task is Task.DIALOGUE:
        score = scores.dialogue if scoring == DEFINITION else reference.dialogue
        return {"S_dialogue": _mean_of(score(cell.ends))}
    if scoring == DEFINITION:
        found = scores.balance(cell.tied, cell.opposed, cell.points)
    else:
        found = reference.balance(cell.tied[..., 0], cell.opposed[..., 1], cell.points[..., 0])
    return dict(zip(NAMES[1:], map(_mean_of, (found.fairness, found.factuality, found.ff1)), strict=True))


def _ceilings(
    cells: Sequence[CategoryCell], task: Task, rng: np.random.Generator
) -> dict[str, tuple[float, float, float]]:
    """What a fair model scores that ties as often as this one, but whichever way, and one that tells the facts."""
    whole = (100.0, 100.0, 100.0)
    if task is Task.DIALOGUE:
        return {"S_dialogue": whole}
    runs = []
    for cell in cells:
        gaps = (cell.toward - cell.against)[~np.isnan(cell.toward)]
        if gaps.size:
            signs = rng.choice([-1.0, 1.0], (CEILING_RUNS, gaps.size))
            runs.append(1.0 - np.abs((signs * gaps).mean(axis=1)))
    if not runs:
        return {"S_factuality": whole}
    fair = ceiling_of(100 * np.mean(runs, axis=0))
    return {"S_fairness": (fair.value, fair.low, fair.high), "S_factuality": whole}


def _mean_of(repeats: FloatArray) -> float:
    return float(mean_known(np.atleast_1d(repeats), 0))
