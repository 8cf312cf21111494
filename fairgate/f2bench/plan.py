"""The conversations of F²Bench, and what comes of each: the same steps are driven to ask, and to read the ledger.

A dialogue is six turns and one judgement; a balance a summary, and of the paragraph and of its twin a description with
three judgements. By the released program (`reference`) a dialogue is six pasted texts and one judgement, a balance a
summary, two descriptions and three judgements.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from fairgate.domain import Form, Message, Query, Reply, Role, Task
from fairgate.f2bench import reference
from fairgate.f2bench.cases import GOLD, KINDS
from fairgate.f2bench.data import Category
from fairgate.f2bench.gold import GoldMark, GoldTask, GoldVerdict
from fairgate.f2bench.judgements import read_mark, read_verdict
from fairgate.f2bench.prompts import ROUNDS
from fairgate.f2bench.swap import twin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fairgate.domain import Theme
    from fairgate.f2bench.data import Instance, Instances
    from fairgate.f2bench.gold import Gold
    from fairgate.f2bench.prompts import Prompts

T = TypeVar("T")
Asking = Generator[Query, Reply | None, T]

DEFINITION, REFERENCE = "definition", "reference"
GOLD_TASKS = {Task.DIALOGUE: GoldTask.DIALOGUE, Task.BALANCE: GoldTask.BALANCE}
# Queries of one conversation, by task and scoring.
LENGTH = {
    (Task.DIALOGUE, DEFINITION): ROUNDS + 1,
    (Task.DIALOGUE, REFERENCE): ROUNDS + 1,
    (Task.BALANCE, DEFINITION): 1 + 2 * 4,
    (Task.BALANCE, REFERENCE): 1 + 2 + 3,
}


@dataclass(frozen=True, slots=True)
class Reading:
    """A description, and what the judge says of it: None where nothing was said, or nothing readable."""

    text: str | None = None
    stereotyped: bool | None = None
    opposite: bool | None = None
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue's last answer, and whether it ties the group to the attribute."""

    instance: Instance
    repeat: int
    scoring: str
    final: str | None
    biased: bool | None


@dataclass(frozen=True, slots=True)
class Balanced:
    """The descriptions of a paragraph and of its twin."""

    instance: Instance
    repeat: int
    scoring: str
    readings: tuple[Reading, Reading]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge said of a gold text; None where nothing readable."""

    item: GoldVerdict | GoldMark
    said: float | None


Outcome = Dialogue | Balanced | Judged


@dataclass(frozen=True, eq=False)
class Plan:
    """What is asked of which instances: each conversation `repeats` times; if `reference`, as the program asks too."""

    instances: Instances
    prompts: Prompts
    gold: Gold
    repeats: int
    reference: bool

    def size(self, theme: Theme) -> int:
        """Planned queries; a judgement that cannot be read is asked for once more beyond them."""
        if theme.name == GOLD:
            return len(self._gold(theme))
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
            yield from (self._judge_gold(theme, item) for item in self._gold(theme))
            return
        for repeat in range(self.repeats):
            for instance in self.members(theme):
                talk = _Talk(theme, repeat, instance, self.prompts)
                if theme.task is Task.DIALOGUE:
                    yield talk.dialogue()
                elif (text := twin(instance).text) is not None:
                    yield talk.balance(text)
                if self.reference:
                    released = replace(talk, instance=reference.lowered(instance))
                    yield released.pasted() if theme.task is Task.DIALOGUE else released.blind()

    def _gold(self, theme: Theme) -> tuple[GoldVerdict | GoldMark, ...]:
        task = GOLD_TASKS[theme.task]
        marks = self.gold.marks if theme.task is Task.BALANCE else ()
        verdicts = (*self.gold.verdicts, *self.gold.steering)
        return (*(each for each in verdicts if each.task is task), *marks)

    def _judge_gold(self, theme: Theme, item: GoldVerdict | GoldMark) -> Asking[Outcome]:
        asked = Query(
            theme, 0, item.prompt(self.prompts), step=f"{item.id}/judge.{self.prompts.version}", to=Role.JUDGE
        )
        if isinstance(item, GoldVerdict):
            return Judged(item, (yield from _verdict(replace(asked, named=item.named))))
        return Judged(item, (yield from _mark(replace(asked, named={"fact": item.fact}))))


@dataclass(frozen=True)
class _Talk:
    """The conversations about one instance."""

    theme: Theme
    repeat: int
    instance: Instance
    prompts: Prompts

    def dialogue(self) -> Asking[Outcome]:
        """Six turns with roles, then the judge."""
        answers: list[str] = []
        for number in range(1, ROUNDS + 1):
            *before, last = self.prompts.conversation(self.instance, answers)
            asks = "final" if number == ROUNDS else "question"
            said = yield from _said(self._query(f"turn-{number}", last.content, asks, before=tuple(before)))
            if said is None:
                return Dialogue(self.instance, self.repeat, DEFINITION, None, None)
            answers.append(said)
        asked = self.prompts.judge_dialogue(answers[-1], self.instance.group1, self.instance.attribute1)
        biased = yield from _verdict(self._judged("tie", asked, self._pair))
        return Dialogue(self.instance, self.repeat, DEFINITION, answers[-1], biased)

    def pasted(self) -> Asking[Outcome]:
        """The same as the released program has it: one text that grows."""
        answers: list[str] = []
        for number in range(1, ROUNDS + 1):
            asks = "final" if number == ROUNDS else "question"
            text = self.prompts.pasted_dialogue(self.instance, answers)
            said = yield from _said(self._query(f"reference/turn-{number}", text, asks))
            if said is None:
                return Dialogue(self.instance, self.repeat, REFERENCE, None, None)
            answers.append(said)
        asked = self.prompts.reference_dialogue(answers[-1], self.instance.group1, self.instance.attribute1)
        reply = yield self._judged("reference/tie", asked, self._pair)
        biased = None if reply is None else reference.yes(reply.said)
        return Dialogue(self.instance, self.repeat, REFERENCE, answers[-1], biased)

    def balance(self, twin_text: str) -> Asking[Outcome]:
        """A summary, two descriptions, three judgements of each."""
        summary = yield from _said(self._query("summary", self.prompts.summary(self.instance.fact), "summary"))
        if summary is None:
            return Balanced(self.instance, self.repeat, DEFINITION, (Reading(), Reading()))
        first = _first_named(self.instance)
        readings = []
        for name, paragraph, leads in (("paragraph", self.instance.paragraph, first), ("twin", twin_text, 3 - first)):
            asked = self.prompts.description(paragraph, summary)
            text = yield from _said(self._query(name, asked, "description", first=str(leads)))
            if text is None:
                readings.append(Reading())
                continue
            stereotyped = self.prompts.judge_stereotyped(text, self.instance)
            opposite = self.prompts.judge_opposite(text, self.instance)
            fact = self.prompts.judge_factuality(text, self.instance.fact)
            readings.append(
                Reading(
                    text,
                    (yield from _verdict(self._judged(f"{name}/stereotyped", stereotyped, self._four))),
                    (yield from _verdict(self._judged(f"{name}/opposite", opposite, self._other))),
                    (yield from _mark(self._judged(f"{name}/mark", fact, self._fact))),
                )
            )
        return Balanced(self.instance, self.repeat, DEFINITION, (readings[0], readings[1]))

    def blind(self) -> Asking[Outcome]:
        """The same as the released program has it: a blind swap, one tie asked of each, the first one marked."""
        nothing = Balanced(self.instance, self.repeat, REFERENCE, (Reading(), Reading()))
        summary = yield from _said(
            self._query("reference/summary", self.prompts.summary(self.instance.fact), "summary")
        )
        if summary is None:
            return nothing
        first = _first_named(self.instance)
        texts = []
        for name, paragraph, leads in (
            ("paragraph", self.instance.paragraph, first),
            ("twin", reference.blind_twin(self.instance), 3 - first),
        ):
            asked = self.prompts.description(paragraph, summary)
            said = yield from _said(self._query(f"reference/{name}", asked, "description", first=str(leads)))
            if said is None:
                return nothing
            texts.append(said.lower())
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
                Reading(
                    texts[0],
                    stereotyped=None if tied is None else reference.yes(tied.said),
                    mark=None if marked is None else reference.mark(marked.said),
                ),
                Reading(texts[1], opposite=None if twin_tied is None else reference.yes(twin_tied.said)),
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


def _said(query: Query) -> Asking[str | None]:
    """A reply's text; None where there is none."""
    reply = yield query
    return reply.text if reply is not None and reply.text.strip() else None


def _verdict(query: Query) -> Asking[bool | None]:
    return (yield from _readable(replace(query, form=Form.VERDICT), lambda text: read_verdict(text).yes))


def _mark(query: Query) -> Asking[float | None]:
    return (yield from _readable(replace(query, form=Form.MARK), lambda text: read_mark(text).value))


def _readable(query: Query, read: Callable[[str], T | None]) -> Asking[T | None]:
    """What the judge says, asked once more where it cannot be read."""
    for asked in (query, replace(query, step=f"{query.step}/again", again=True)):
        reply = yield asked
        if reply is None:
            return None
        if (said := read(reply.said)) is not None:
            return said
    return None


def _first_named(instance: Instance) -> int:
    """Which group the paragraph names first, 1 or 2."""
    text = instance.paragraph.casefold()
    places = [text.find(group.casefold()) % (len(text) + 1) for group in (instance.group1, instance.group2)]
    if places[0] == places[1]:
        return 1 if len(instance.group1) > len(instance.group2) else 2
    return 1 if places[0] < places[1] else 2
