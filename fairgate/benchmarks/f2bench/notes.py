"""What a reader of F²Bench's scores must know, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.benchmarks.base import MISSING_SHOWN
from fairgate.benchmarks.f2bench.data import InstanceKind
from fairgate.benchmarks.f2bench.plan import DEFINITION
from fairgate.benchmarks.f2bench.score_table import UNMARKED
from fairgate.benchmarks.f2bench.swap import without_twin
from fairgate.benchmarks.f2bench.topics import Task
from fairgate.core.domain import AnswerKind
from fairgate.core.statistics.prediction_powered import ENOUGH, that_count
from fairgate.reports.numbers import interval, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.benchmarks.f2bench.plan import ConversationPlan
    from fairgate.benchmarks.f2bench.tally import ThemeTally
    from fairgate.benchmarks.score_result import ScoreResult
    from fairgate.core.domain import Identity


def reviewed(spoken: Sequence[ThemeTally], entries: Sequence[ScoreResult]) -> Iterator[str]:
    """What reviewers' marks on the run's own replies come to, where there are any."""
    found = {each.score: each for each in entries if each.group is None and each.scoring == DEFINITION}
    for name in dict.fromkeys(name for each in spoken for name in each.reviews):
        reviews = [review for each in spoken for review in each.reviews.get(name, ())]
        marked = [each for each in reviews if each.right is not None]
        if not marked:
            continue
        marks = that_count(reviews)
        many = f"Reviewers marked {len(marked):,} of the {len(reviews):,} replies of the judge behind {name}"
        before, after = found.get(f"{name}{UNMARKED}"), found.get(name)
        if before is None or after is None:
            yield (
                f"{many}, {len(marks)} of them in their order: too few to correct it, {ENOUGH} of each kind of reply "
                "are enough. `fairgate ledger LEDGER review` names those whose marks help most."
            )
            continue
        apart = sum(right != each.said for each, right in marks)
        yield (
            f"{many}; {len(marks)} in their order count, of which {apart} say otherwise than the judge. They correct "
            f"{name}: {number(after.estimate)} {interval(after)}; without them {number(before.estimate)} "
            f"{interval(before)}; the plain score is {number(after.value)}."
        )


def notes(spoken: Sequence[ThemeTally], plan: ConversationPlan, judge: Identity) -> Iterator[str]:
    """Who judged, what could not be asked about, and what was not judged."""
    held = plan.instances
    if plan.reference and plan.released is None:
        yield (
            "F²Bench's `reference` scores rest on the prompts that the paper prints. The released program words its "
            "questions, its summary and description prompts and its judge otherwise: --f2bench-prompts FILE asks those."
        )
    if judge.provider == "control":
        yield (
            "The judge is a control: a rule that reads the controls' own sentences, judged on gold texts in these "
            "sentences. Its figures say nothing of any other judge."
        )
    if any(each.theme.task is Task.BALANCE for each in spoken):
        lost = without_twin(held.of(InstanceKind.FACT))
        if lost:
            by_category = ", ".join(f"{category} {len(ids)}" for category, ids in lost.items())
            count = sum(map(len, lost.values()))
            shown = ", ".join([name for ids in lost.values() for name in ids][:MISSING_SHOWN])
            more = f" and {count - MISSING_SHOWN} more" if count > MISSING_SHOWN else ""
            yield (
                f"{count} of {len(held.of(InstanceKind.FACT)):,} paragraphs do not name both of their groups, so that "
                f"they have no twin and are not scored: {by_category} ({shown}{more})."
            )
    if held.problems:
        shown = "; ".join(str(problem).rstrip(".") for problem in held.problems[:MISSING_SHOWN])
        yield f"{len(held.problems)} rows of --f2bench were not used: {shown}."
    yield from (f"F²Bench: {note}." for note in held.notes)
    refused = sum(each.ends[AnswerKind.REFUSED] for each in spoken)
    if refused:
        yield (
            f"{refused:,} last answers or descriptions were refused: there is nothing in them to judge, and what the "
            "plan has for the judge about them was not asked."
        )
    again = sum(each.again for each in spoken)
    if again:
        yield f"{again:,} judgements could not be read and were asked for once more, beyond the plan."
