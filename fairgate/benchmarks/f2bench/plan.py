"""The conversations of F²Bench, and what comes of each: the same steps are driven to ask, and to read the ledger.

A dialogue is six turns and one judgement; a balance a summary, and of the paragraph and of its twin a description with
three judgements. By the released program (`reference`) a dialogue is six pasted texts and one judgement, a balance a
summary, two descriptions and three judgements.

What is scored is a dialogue's last answer, and each description. Where the model refuses that, there is nothing to
judge: the judge is not asked, and the refusal is counted beside the scores, never as "no tie". Refusals before it, of a
turn or of the summary, are a part of the conversation, which goes on. The released program knows no refusals.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from fairgate.benchmarks.f2bench import reference
from fairgate.benchmarks.f2bench.cases import GOLD, KINDS
from fairgate.benchmarks.f2bench.data import Category
from fairgate.benchmarks.f2bench.gold import GoldMark, GoldTask, GoldVerdict
from fairgate.benchmarks.f2bench.prompts import ROUNDS
from fairgate.benchmarks.f2bench.swap import twin
from fairgate.benchmarks.f2bench.topics import Task
from fairgate.core.domain import AnswerKind, Form, Message, Query, Reply, Role
from fairgate.ledger.samples import leads_on, read
from fairgate.replies.citations import judged_in
from fairgate.replies.judgements import read_mark, read_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fairgate.benchmarks.f2bench.data import Instance, Instances
    from fairgate.benchmarks.f2bench.gold import Gold
    from fairgate.benchmarks.f2bench.prompts import ConversationPrompts
    from fairgate.benchmarks.f2bench.topics import Theme

T = TypeVar("T")
Asking = Generator[Query, Reply | None, T]

DEFINITION, REFERENCE = "definition", "reference"
GOLD_TASKS = {Task.DIALOGUE: GoldTask.DIALOGUE, Task.BALANCE: GoldTask.BALANCE}
JUDGEMENTS = 3  # of a description
# Queries of one conversation, by task and scoring.
LENGTH = {
    (Task.DIALOGUE, DEFINITION): ROUNDS + 1,
    (Task.DIALOGUE, REFERENCE): ROUNDS + 1,
    (Task.BALANCE, DEFINITION): 1 + 2 * (1 + JUDGEMENTS),
    (Task.BALANCE, REFERENCE): 1 + 2 + 3,
}


@dataclass(frozen=True, slots=True)
class JudgedDescription:
    """A description, and what the judge says of it: None where nothing was said, or nothing readable.

    `end` says what became of it: SAID where all of its judgements are known.
    """

    end: AnswerKind = AnswerKind.FAILED
    text: str | None = None
    stereotyped: bool | None = None
    opposite: bool | None = None
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue's last answer, and whether it ties the group to the attribute.

    `end` says what became of it: SAID where that is known.
    """

    instance: Instance
    repeat: int
    scoring: str
    end: AnswerKind
    final: str | None
    biased: bool | None


@dataclass(frozen=True, slots=True)
class Balanced:
    """The descriptions of a paragraph and of its twin."""

    instance: Instance
    repeat: int
    scoring: str
    readings: tuple[JudgedDescription, JudgedDescription]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge said of a gold text; None where nothing readable. `end` is SAID, UNREADABLE or FAILED."""

    item: GoldVerdict | GoldMark
    end: AnswerKind
    said: float | None


Outcome = Dialogue | Balanced | Judged


@dataclass(frozen=True, eq=False)
class ConversationPlan:
    """What is asked of which instances: each conversation `repeats` times; if `reference`, as the program asks too.

    `released` are the prompts of the latter, where they are not the same.
    """

    instances: Instances
    prompts: ConversationPrompts
    gold: Gold
    repeats: int
    reference: bool
    released: ConversationPrompts | None = None

    def size(self, theme: Theme) -> int:
        """Planned queries; a judgement that cannot be read is asked for once more beyond them."""
        if theme.name == GOLD:
            return len(self.gold_of(theme))
        whole = len(self.members(theme)) if self.reference else 0
        once = self.scored(theme) * LENGTH[theme.task, DEFINITION] + whole * LENGTH[theme.task, REFERENCE]
        return self.repeats * once

    def members(self, theme: Theme) -> tuple[Instance, ...]:
        """The instances of a theme."""
        return self.instances.of(KINDS[theme.task], Category(theme.name))

    def scored(self, theme: Theme) -> int:
        """How many of them can be scored by definition: a balance needs a twin."""
        members = self.members(theme)
        return len(members) if theme.task is Task.DIALOGUE else sum(twin(each).text is not None for each in members)

    def work(self, theme: Theme) -> Iterator[Asking[Outcome]]:
        """The conversations of a theme."""
        if theme.name == GOLD:
            yield from (self._judge_gold(theme, item) for item in self.gold_of(theme))
            return
        for repeat in range(self.repeats):
            for instance in self.members(theme):
                talk = _Talk(theme, repeat, instance, self.prompts)
                if theme.task is Task.DIALOGUE:
                    yield talk.dialogue()
                elif (text := twin(instance).text) is not None:
                    yield talk.balance(text)
                if self.reference:
                    prompts = self.released or self.prompts
                    released = replace(talk, instance=reference.lowered(instance), prompts=prompts)
                    yield released.pasted() if theme.task is Task.DIALOGUE else released.blind()

    def gold_of(self, theme: Theme) -> tuple[GoldVerdict | GoldMark, ...]:
        """The texts that the judge is judged on in a task."""
        task = GOLD_TASKS[theme.task]
        marks = self.gold.marks if theme.task is Task.BALANCE else ()
        verdicts = (*self.gold.verdicts, *self.gold.steering, *self.gold.calm)
        return (*(each for each in verdicts if each.task is task), *marks)

    def _judge_gold(self, theme: Theme, item: GoldVerdict | GoldMark) -> Asking[Outcome]:
        asked = Query(
            theme, 0, item.prompt(self.prompts), step=f"{item.id}/judge.{self.prompts.version}", to=Role.JUDGE
        )
        if isinstance(item, GoldVerdict):
            return Judged(item, *(yield from _verdict(replace(asked, named=item.named))))
        return Judged(item, *(yield from _mark(replace(asked, named={"fact": item.fact}))))


@dataclass(frozen=True)
class _Talk:
    """The conversations about one instance."""

    theme: Theme
    repeat: int
    instance: Instance
    prompts: ConversationPrompts

    def dialogue(self) -> Asking[Outcome]:
        """Six turns with roles, then the judge."""
        answers: list[str] = []
        for number in range(1, ROUNDS + 1):
            *before, last = self.prompts.conversation(self.instance, answers)
            asks = "final" if number == ROUNDS else "question"
            turn = self._query(f"turn-{number}", last.content, asks, before=tuple(before))
            kind, said = yield from _answer(_leads(turn, ROUNDS - number + 1, any_text=number < ROUNDS))
            if said is None or (number == ROUNDS and kind is not AnswerKind.SAID):
                return Dialogue(self.instance, self.repeat, DEFINITION, kind, said, None)
            answers.append(said)
        asked = self.prompts.judge_dialogue(answers[-1], self.instance.group1, self.instance.attribute1)
        kind, biased = yield from _verdict(self._judged("tie", asked, self._pair))
        return Dialogue(self.instance, self.repeat, DEFINITION, kind, answers[-1], biased)

    def pasted(self) -> Asking[Outcome]:
        """The same as the released program has it: one text that grows."""
        answers: list[str] = []
        for number in range(1, ROUNDS + 1):
            asks = "final" if number == ROUNDS else "question"
            text = self.prompts.pasted_dialogue(self.instance, answers)
            turn = self._query(f"reference/turn-{number}", text, asks)
            kind, said = yield from _answer(_leads(turn, ROUNDS - number + 1))
            if said is None:
                return Dialogue(self.instance, self.repeat, REFERENCE, kind, None, None)
            answers.append(said.strip())
        asked = self.prompts.reference_dialogue(answers[-1], self.instance.group1, self.instance.attribute1)
        reply = yield self._judged("reference/tie", asked, self._pair)
        if reply is None:
            return Dialogue(self.instance, self.repeat, REFERENCE, AnswerKind.FAILED, answers[-1], None)
        biased = reference.yes(reply.said)
        return Dialogue(self.instance, self.repeat, REFERENCE, AnswerKind.SAID, answers[-1], biased)

    def balance(self, twin_text: str) -> Asking[Outcome]:
        """A summary, two descriptions, three judgements of each."""
        asked = self._query("summary", self.prompts.summary(self.instance.fact), "summary")
        kind, summary = yield from _answer(_leads(asked, 2 * (1 + JUDGEMENTS)))
        if summary is None:
            return Balanced(self.instance, self.repeat, DEFINITION, (JudgedDescription(kind), JudgedDescription(kind)))
        first = _first_named(self.instance)
        readings = []
        for name, paragraph, leads in (("paragraph", self.instance.paragraph, first), ("twin", twin_text, 3 - first)):
            asked = self._query(name, self.prompts.description(paragraph, summary), "description", first=str(leads))
            kind, text = yield from _answer(replace(asked, leads_to=JUDGEMENTS))
            if text is None or kind is not AnswerKind.SAID:
                readings.append(JudgedDescription(kind, text))
            else:
                readings.append((yield from self._read(name, text)))
        return Balanced(self.instance, self.repeat, DEFINITION, (readings[0], readings[1]))

    def _read(self, name: str, text: str) -> Asking[JudgedDescription]:
        """The three judgements of a description."""
        stereotyped = self.prompts.judge_stereotyped(text, self.instance)
        opposite = self.prompts.judge_opposite(text, self.instance)
        fact = self.prompts.judge_factuality(text, self.instance.fact)
        one, tied = yield from _verdict(self._judged(f"{name}/stereotyped", stereotyped, self._four))
        two, opposed = yield from _verdict(self._judged(f"{name}/opposite", opposite, self._other))
        three, marked = yield from _mark(self._judged(f"{name}/mark", fact, self._fact))
        ends = {one, two, three}
        end = next(kind for kind in (AnswerKind.FAILED, AnswerKind.UNREADABLE, AnswerKind.SAID) if kind in ends)
        return JudgedDescription(end, text, tied, opposed, marked)

    def blind(self) -> Asking[Outcome]:
        """The same as the released program has it: a blind swap, one tie asked of each, the first one marked."""
        nothing = Balanced(self.instance, self.repeat, REFERENCE, (JudgedDescription(), JudgedDescription()))
        asked = self.prompts.summary(self.instance.fact)
        _, summary = yield from _answer(_leads(self._query("reference/summary", asked, "summary"), 2 + 3))
        if summary is None:
            return nothing
        summary = summary.strip()
        first = _first_named(self.instance)
        texts = list[str]()
        for name, paragraph, leads in (
            ("paragraph", self.instance.paragraph, first),
            ("twin", reference.blind_twin(self.instance), 3 - first),
        ):
            asked = self.prompts.description(paragraph, summary)
            # The three judgements, and of the first description the second one.
            rest = 3 + (not texts)
            asks = self._query(f"reference/{name}", asked, "description", first=str(leads))
            _, said = yield from _answer(_leads(asks, rest))
            if said is None:
                return nothing
            texts.append(said.strip())
        tied = yield self._judged(
            "reference/stereotyped", self.prompts.reference_stereotyped(texts[0], self.instance), self._four
        )
        twin_tied = yield self._judged(
            "reference/opposite", self.prompts.reference_opposite(texts[1], self.instance), self._other
        )
        marked = yield self._judged(
            "reference/mark", self.prompts.reference_factuality(texts[0], self.instance.fact), self._fact, Form.MARK
        )
        return Balanced(
            self.instance,
            self.repeat,
            REFERENCE,
            (
                JudgedDescription(
                    text=texts[0],
                    stereotyped=None if tied is None else reference.yes(tied.said),
                    mark=None if marked is None else reference.mark(marked.said),
                ),
                JudgedDescription(text=texts[1], opposite=None if twin_tied is None else reference.yes(twin_tied.said)),
            ),
        )

    @property
    def _pair(self) -> Mapping[str, str]:
        return {"group1": self.instance.group1, "attribute1": self.instance.attribute1}

    @property
    def _four(self) -> Mapping[str, str]:
        return {**self._pair, "group2": self.instance.group2, "attribute2": self.instance.attribute2}

    @property
    def _other(self) -> Mapping[str, str]:
        return {**self._four, "group1": self.instance.group2, "group2": self.instance.group1}

    @property
    def _fact(self) -> Mapping[str, str]:
        return {"fact": self.instance.fact}

    def _query(self, step: str, prompt: str, asks: str, *, before: tuple[Message, ...] = (), first: str = "") -> Query:
        named = {**self._four, **self._fact, "asks": asks, "first": first}
        where = f"{self.instance.id}/{step}"
        return Query(
            self.theme, self.repeat, prompt, named=named, step=where, before=before, to=Role.SPEAKER, form=Form.TEXT
        )

    def _judged(self, step: str, prompt: str, named: Mapping[str, str], form: Form = Form.VERDICT) -> Query:
        where = f"{self.instance.id}/{step}/judge.{self.prompts.version}"
        return Query(self.theme, self.repeat, prompt, named=named, step=where, to=Role.JUDGE, form=form)


def _leads(query: Query, count: int, *, any_text: bool = True) -> Query:
    """A turn on which so many queries rest; with `any_text` whatever its reply says."""
    return replace(query, leads_to=count, any_text=any_text)


def _answer(query: Query) -> Asking[tuple[AnswerKind, str | None]]:
    """What became of a reply, and its text; None where there is none, so that a conversation cannot go on."""
    reply = yield query
    if reply is None:
        return AnswerKind.FAILED, None
    return read(query, reply).kind, reply.text if leads_on(reply) else None


def _verdict(query: Query) -> Asking[tuple[AnswerKind, bool | None]]:
    return (
        yield from _readable(replace(query, form=Form.VERDICT), lambda text, judged: read_verdict(text, judged).yes)
    )


def _mark(query: Query) -> Asking[tuple[AnswerKind, float | None]]:
    return (yield from _readable(replace(query, form=Form.MARK), lambda text, judged: read_mark(text, judged).value))


def _readable(query: Query, read_as: Callable[[str, str | None], T | None]) -> Asking[tuple[AnswerKind, T | None]]:
    """What the judge says, asked once more where it cannot be read: SAID, UNREADABLE, or FAILED."""
    for asked in (query, replace(query, step=f"{query.step}/again", again=True)):
        reply = yield asked
        if reply is None:
            return AnswerKind.FAILED, None
        if (said := read_as(reply.said, judged_in(query.prompt))) is not None:
            return AnswerKind.SAID, said
    return AnswerKind.UNREADABLE, None


def _first_named(instance: Instance) -> int:
    """Which group the paragraph names first, 1 or 2."""
    text = instance.paragraph.casefold()
    places = [text.find(group.casefold()) % (len(text) + 1) for group in (instance.group1, instance.group2)]
    if places[0] == places[1]:
        return 1 if len(instance.group1) > len(instance.group2) else 2
    return 1 if places[0] < places[1] else 2
