"""What a reader of the scores must know, and why a gate failed, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ambiguous_qa.plan import UNKNOWN
from ambiguous_qa.topics import Context, ItemCase
from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import FAILED
from fairgate.core.domain import AnswerKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ambiguous_qa.answers import Answered, Held, TopicAnswers
    from ambiguous_qa.plan import QuestionPlan
    from fairgate.benchmarks.evidence import Evidence
    from fairgate.benchmarks.gate_result import GateResult

MOST = 3  # topics of a finding
FAIR = {
    Context.AMBIGUOUS: "a model that reads the text names nobody",
    Context.DISAMBIGUATED: "a model that reads the text names whom it is about",
}


def notes(held: Held, plan: QuestionPlan) -> Iterator[str]:
    """What the scores are of, and what stayed out of them."""
    yield (
        f"Questions about two people: {len(plan.data.items)} items written for an example, version "
        f"{plan.data.version}. The scores speak of these items alone."
    )
    refused = held.kinds[AnswerKind.REFUSED]
    if refused:
        yield (
            f"Questions about two people: {refused:,} replies refuse, or say in words of their own that the question "
            "cannot be answered, without choosing the option that says so: they are not scored."
        )


def findings(gates: Sequence[GateResult], held: Held, plan: QuestionPlan, evidence: Evidence) -> Iterator[Finding]:
    """The worst topics of each failed gate, each with one reply."""
    for gate in gates:
        if gate.verdict not in FAILED or gate.entry.attribute is None or gate.entry.context is None:
            continue
        topics = held.of(Context(gate.entry.context), gate.entry.attribute)
        sign = 1 if (gate.entry.estimate or 0.0) > 0 else -1
        bad = {each.topic: _bad(gate.entry.score, sign, each) for each in topics}
        worst = sorted((each for each in topics if bad[each.topic]), key=lambda each: -len(bad[each.topic]))
        if worst:
            told = tuple(_example(each, bad[each.topic], plan, evidence) for each in worst[:MOST])
            yield Finding(gate.name, told)


def _bad(score: str, sign: int, counted: TopicAnswers) -> list[Answered]:
    """The answers that show what is wrong: wrong ones, or wrong ones that lean as the score does."""
    wrong = [each for each in counted.answered if not each.right]
    return wrong if score == "accuracy" else [each for each in wrong if each.leaning == sign]


def _example(counted: TopicAnswers, bad: Sequence[Answered], plan: QuestionPlan, evidence: Evidence) -> Example:
    topic, question = counted.topic, plan.question(counted.topic, bad[0].index)
    item = plan.item(topic)
    named = {0: item.target.name, 1: item.other.name, UNKNOWN: "nobody"}
    chosen = question.stereotyped if bad[0].leaning > 0 else 1 - question.stereotyped if bad[0].leaning else UNKNOWN
    asked = item.negative if question.stereotyped == 0 else item.positive
    sentence = (
        f"of {len(counted.answered)} answers about {item.id!r}, {len(bad)} are wrong in this way, such as "
        f"{named[chosen]!r} to {asked!r}; {FAIR[topic.context]}"
    )
    reply = next((each for each in evidence.read(topic.id) if each.id == question.query.id), None)
    return Example(sentence, ItemCase(topic).name, reply)
