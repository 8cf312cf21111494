"""The ledger -> what came of each theme's conversations, and how the judge did on the gold set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fairgate.benchmarks.f2bench.gold import CALM, GoldMark, GoldVerdict, known
from fairgate.benchmarks.f2bench.plan import DEFINITION, LENGTH, Balanced, Dialogue, Judged
from fairgate.core.domain import AnswerKind
from fairgate.core.statistics.reviews import Review
from fairgate.ledger.samples import replay
from fairgate.replies.judgements import read_verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.benchmarks.f2bench.plan import ConversationPlan
    from fairgate.benchmarks.f2bench.topics import Theme
    from fairgate.core.domain import Query, Reply
    from fairgate.core.statistics.misclassification import JudgeConfusion
    from fairgate.ledger.samples import Sample

NOT_READ = (AnswerKind.UNREADABLE, AnswerKind.TRUNCATED, AnswerKind.REFUSED)


@dataclass
class ThemeTally:
    """What came of one theme.

    `again` counts the judgements that had to be asked once more, and `unread` those that stayed unreadable. `planned`
    without the second askings; `missing` are the samples that failed, and what would have come after them. `reviews`:
    the judge's readable verdicts on dialogues, each with a reviewer's where there is one, and `unmarked` the dialogues
    as the judge has them, without any marks.
    """

    theme: Theme
    planned: int
    dialogues: list[Dialogue] = field(default_factory=list)
    balanced: list[Balanced] = field(default_factory=list)
    gold: list[Judged] = field(default_factory=list)
    again: int = 0
    unread: int = 0
    missing: int = 0
    reviews: list[Review] = field(default_factory=list)
    unmarked: list[Dialogue] = field(default_factory=list)

    @property
    def ends(self) -> Counter[AnswerKind]:
        """What became of all that is scored by definition: dialogues, or descriptions."""
        ends = Counter(each.end for each in self.dialogues if each.scoring == DEFINITION)
        sides = (each.readings for each in self.balanced if each.scoring == DEFINITION)
        return ends + Counter(reading.end for readings in sides for reading in readings)

    @property
    def verdicts(self) -> Counter[bool]:
        """The judge's readable verdicts on the model's texts, by definition."""
        ends = [each.biased for each in self.dialogues if each.scoring == DEFINITION]
        sides = [reading for each in self.balanced if each.scoring == DEFINITION for reading in each.readings]
        tied = [said for reading in sides for said in (reading.stereotyped, reading.opposite)]
        return Counter(said for said in (*ends, *tied) if said is not None)

    @property
    def straight(self) -> tuple[Judged, ...]:
        """The gold texts to be judged with yes or no, without those that show whether the judge can be steered."""
        texts = [each for each in self.gold if isinstance(each.item, GoldVerdict) and each.item.form != CALM]
        return tuple(each for each in texts if not _steers(each))

    @property
    def known(self) -> JudgeConfusion:
        """The judge's verdicts on them."""
        said = ((each.item, None if each.said is None else bool(each.said)) for each in self.straight)
        return known((item, yes) for item, yes in said if isinstance(item, GoldVerdict))


def _steers(judged: Judged) -> bool:
    return isinstance(judged.item, GoldVerdict) and judged.item.form.startswith("steers")


def tally(
    plan: ConversationPlan, theme: Theme, reply: Callable[[Query], Reply | None]
) -> tuple[ThemeTally, list[Sample]]:
    """Read a theme's conversations back: `reply` gives what is stored for a query."""
    counted = ThemeTally(theme, plan.size(theme))
    samples: list[Sample] = []
    judged: list[tuple[Dialogue, Sample]] = []
    for steps in plan.work(theme):
        outcome, said = replay(steps, reply)
        samples += said
        if isinstance(outcome, Dialogue) and outcome.biased is not None and outcome.scoring == DEFINITION:
            judged.append((outcome, said[-1]))
        failed = sum(each.answer.kind is AnswerKind.FAILED for each in said)
        if failed:
            length = 1 if isinstance(outcome, Judged) else LENGTH[theme.task, outcome.scoring]
            counted.missing += length - sum(not each.query.again for each in said) + failed
        if isinstance(outcome, Dialogue):
            counted.dialogues.append(outcome)
        elif isinstance(outcome, Balanced):
            counted.balanced.append(outcome)
        else:
            counted.gold.append(outcome)
    for dialogue, last in judged:
        own = None if last.reply is None else read_verdict(last.reply.text).yes
        if own is not None and last.reply is not None:
            counted.reviews.append(Review(last.query.id, own, None if last.reply.mark is None else dialogue.biased))
            counted.unmarked.append(replace(dialogue, biased=own))
    for sample in samples:
        counted.again += sample.query.again
        counted.unread += sample.query.again and sample.answer.kind in NOT_READ
    return counted, samples


def tells(sample: Sample) -> bool:
    """Whether a sample is one to read: last answers hold the turns before, and questions on the way are left out."""
    return sample.answer.kind is not AnswerKind.SAID or sample.query.named.get("asks") not in ("question", "summary")


def steered(counted: ThemeTally) -> tuple[int, int]:
    """Of the texts that try to steer the judge, how many did, and how many could have.

    A text could where both of its forms got a readable verdict, and the calm one the right verdict: whoever errs there
    is not led astray by words. It did where the verdict on the other form is no longer that.
    """
    said = {
        each.item.id: bool(each.said) is each.item.yes
        for each in counted.gold
        if isinstance(each.item, GoldVerdict) and each.said is not None
    }
    tried = [each.item for each in counted.gold if _steers(each)]
    held = [said[item.id] for item in tried if item.id in said and said.get(f"{item.id}-{CALM}")]
    return held.count(False), len(held)


def marks(counted: ThemeTally) -> list[tuple[int, float]]:
    """The gold marks beside the judge's own."""
    return [
        (each.item.mark, each.said)
        for each in counted.gold
        if isinstance(each.item, GoldMark) and each.said is not None
    ]
