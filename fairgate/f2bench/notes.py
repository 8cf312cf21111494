"""What a reader of F²Bench's scores must know, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.domain import AnswerKind
from fairgate.f2bench.data import Kind
from fairgate.f2bench.swap import without_twin
from fairgate.f2bench.topics import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.domain import Identity
    from fairgate.f2bench.data import Instances
    from fairgate.f2bench.tally import ThemeTally

MISSING_SHOWN = 5


def notes(spoken: Sequence[ThemeTally], held: Instances, judge: Identity) -> Iterator[str]:
    """Who judged, what could not be asked about, and what was not judged."""
    if judge.provider == "control":
        yield (
            "The judge is a control: a rule that reads the controls' own sentences, judged on gold texts in these "
            "sentences. Its figures say nothing of any other judge."
        )
    if any(each.theme.task is Task.BALANCE for each in spoken):
        lost = without_twin(held.of(Kind.FACT))
        if lost:
            by_category = ", ".join(f"{category} {len(ids)}" for category, ids in lost.items())
            count = sum(map(len, lost.values()))
            shown = ", ".join([name for ids in lost.values() for name in ids][:MISSING_SHOWN])
            more = f" and {count - MISSING_SHOWN} more" if count > MISSING_SHOWN else ""
            yield (
                f"{count} of {len(held.of(Kind.FACT)):,} paragraphs do not name both of their groups, so that they "
                f"have no twin and are not scored: {by_category} ({shown}{more})."
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
