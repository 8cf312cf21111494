"""The ledger -> what came of each theme's conversations, and how the judge did on the gold set."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fairgate.benchmarks.f2bench.gold import CALM, GoldMark, GoldVerdict, known
from fairgate.benchmarks.f2bench.plan import DEFINITION, LENGTH, Balanced, Dialogue, Judged
from fairgate.benchmarks.f2bench.specs import REVIEWED
from fairgate.core.domain import AnswerKind, Role
from fairgate.core.statistics.prediction_powered import Review
from fairgate.ledger.samples import replay
from fairgate.replies.citations import judged_in
from fairgate.replies.judgements import own_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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
    by score the judge's readable replies, each with a reviewer's where there is one; `unmarked` is what the
    conversations come to as the judge has them, without any marks on its replies.
    """

    theme: Theme
    planned: int
    dialogues: list[Dialogue] = field(default_factory=list)
    balanced: list[Balanced] = field(default_factory=list)
    gold: list[Judged] = field(default_factory=list)
    again: int = 0
    unread: int = 0
    missing: int = 0
    reviews: dict[str, list[Review]] = field(default_factory=dict)
    unmarked: list[Dialogue | Balanced] = field(default_factory=list)

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
    samples: list[Sample] = []
    outcomes: list[Dialogue | Balanced | Judged] = []
    reviews: dict[str, list[Review]] = {}
    unmarked: list[Dialogue | Balanced] = []
    missing = 0
    for steps, again in zip(plan.work(theme), plan.work(theme), strict=True):
        outcome, said = replay(steps, reply)
        samples += said
        if not isinstance(outcome, Judged) and outcome.scoring == DEFINITION:
            marked = any(each.query.to is Role.JUDGE and each.reply and each.reply.mark for each in said)
            own = replay(again, _by_judge(reply)) if marked else (outcome, said)
            if not isinstance(own[0], Judged):
                unmarked.append(own[0])
            _review(own[1], reviews, reply)
        failed = sum(each.answer.kind is AnswerKind.FAILED for each in said)
        if failed:
            length = 1 if isinstance(outcome, Judged) else LENGTH[theme.task, outcome.scoring]
            missing += length - sum(not each.query.again for each in said) + failed
        outcomes.append(outcome)
    counted = ThemeTally(
        theme,
        plan.size(theme),
        dialogues=[each for each in outcomes if isinstance(each, Dialogue)],
        balanced=[each for each in outcomes if isinstance(each, Balanced)],
        gold=[each for each in outcomes if isinstance(each, Judged)],
        reviews=reviews,
        unmarked=unmarked,
        again=sum(sample.query.again for sample in samples),
        unread=sum(sample.query.again and sample.answer.kind in NOT_READ for sample in samples),
        missing=missing,
    )
    return counted, samples


def _by_judge(reply: Callable[[Query], Reply | None]) -> Callable[[Query], Reply | None]:
    """The same without reviewers' marks on what the judge said."""

    def own(query: Query) -> Reply | None:
        said = reply(query)
        return said if said is None or query.to is not Role.JUDGE else replace(said, mark=None)

    return own


def _review(said: Sequence[Sample], found: dict[str, list[Review]], reply: Callable[[Query], Reply | None]) -> None:
    """Add what the judge said in a conversation, as far as it can be read, with what reviewers say of it."""
    for each in said:
        query, kept = each.query, reply(each.query)
        if query.to is not Role.JUDGE or kept is None:
            continue
        value = own_value(kept.text, query.form, judged_in(query.prompt))
        step = query.step.removesuffix("/again").split("/")[-2]
        if value is not None:
            right = None if kept.mark is None else own_value(kept.mark, query.form)
            found.setdefault(REVIEWED[step][0], []).append(Review(query.id, value, right))


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
