"""What the model under test and the judge are asked: pure functions of an instance and of earlier replies.

The sentences stand in `data/f2bench/prompts.toml`, which says where each is printed. Text under judgement reaches the
judge fenced off as data: behind bars, between marks that its writer could not foresee, since they are made from it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.f2bench.data import default_root
from fairgate.core import toml
from fairgate.core.domain import Message
from fairgate.core.errors import DataError, did_you_mean
from fairgate.core.files import read_text
from fairgate.core.typed import shortened
from fairgate.replies.citations import fenced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.f2bench.data import Instance

ROUNDS = 6


@dataclass(frozen=True, slots=True)
class SamplingParameters:
    """How the paper samples a series of models: temperature 0 upwards, top_p 0 to 1, repetition penalty 1 for none."""

    temperature: float
    top_p: float
    repetition_penalty: float


@dataclass(frozen=True, eq=False)
class ConversationPrompts:
    """The texts of one prompts file, with slots in braces; `version` belongs into the key of every judgement."""

    version: int
    questions: tuple[str, ...]
    balance: Mapping[str, str]
    judge: Mapping[str, str]
    fence: Mapping[str, str]
    pasted: Mapping[str, str]
    settings: Mapping[str, SamplingParameters]

    # Dialogue induction

    def user_turns(self, group: str, attribute: str) -> tuple[str, ...]:
        """The six questions, which do not depend on the answers."""
        return tuple(_filled(question, DemoGroup=group, GroupAttr=attribute) for question in self.questions)

    def conversation(self, instance: Instance, answers: Sequence[str]) -> tuple[Message, ...]:
        """The conversation up to the question that comes after these answers, as turns with roles."""
        turns = self._asked(instance, answers)
        past = zip(turns, answers, strict=False)
        said = [message for turn, answer in past for message in (Message("user", turn), Message("assistant", answer))]
        return (*said, Message("user", turns[-1]))

    def pasted_dialogue(self, instance: Instance, answers: Sequence[str]) -> str:
        """The same as one pasted text, as the released program sends it (`reference`)."""
        turns = self._asked(instance, answers)
        past = "".join(
            _filled(self.pasted["exchange"], Number=str(number), Question=turn, Answer=answer)
            for number, (turn, answer) in enumerate(zip(turns, answers, strict=False), start=1)
        )
        return past + _filled(self.pasted["question"], Number=str(len(turns)), Question=turns[-1])

    def _asked(self, instance: Instance, answers: Sequence[str]) -> tuple[str, ...]:
        if len(answers) >= ROUNDS:
            raise ValueError(f"{len(answers)} answers: after {ROUNDS} the dialogue is over")
        return self.user_turns(instance.group1, instance.attribute1)[: len(answers) + 1]

    # Fairness-factuality balance

    def summary(self, fact: str) -> str:
        """Asks for the fact in other words."""
        return _filled(self.balance["summary"], GivenFact=fact)

    def description(self, paragraph: str, summary: str) -> str:
        """Asks for a description of a paragraph (the instance's, or its twin) beside the summarised fact."""
        return _filled(self.balance["description"], Paragraph=paragraph, SummarisedFact=summary)

    # The judge

    def judge_dialogue(self, final_answer: str, group: str, attribute: str) -> str:
        """Asks whether the last answer of a dialogue ties the group to the attribute: yes or no."""
        return self._fenced(
            "dialogue", "verdict", final_answer, slot="FinalResponse", DemoGroup=group, GroupAttr=attribute
        )

    def judge_tie(self, description: str, group1: str, attribute1: str, group2: str, attribute2: str) -> str:
        """Asks whether a description ties group 1 to attribute 1 and group 2 to attribute 2: yes or no."""
        tie = _tie(group1, attribute1, group2, attribute2)
        return self._fenced("fairness", "verdict", description, **tie)

    def judge_stereotyped(self, description: str, instance: Instance) -> str:
        """Asks for the tie of group 1 to attribute 1 and of group 2 to attribute 2."""
        return self.judge_tie(description, *_stereotyped(instance))

    def judge_opposite(self, description: str, instance: Instance) -> str:
        """Asks for the tie of group 2 to attribute 1 and of group 1 to attribute 2."""
        return self.judge_tie(description, *_opposite(instance))

    def judge_factuality(self, description: str, fact: str) -> str:
        """Asks for a mark of 0 to 10: how true a description is to the fact."""
        return self._fenced("factuality", "mark", description, GivenFact=fact)

    def _fenced(self, question: str, form: str, text: str, *, slot: str = "Response", **slots: str) -> str:
        mark, lines = fenced(text)
        pointer = _filled(self.fence["pointer"], Mark=mark)
        asked = _filled(self.judge[question], **{slot: pointer}, **slots)
        return _filled(self.fence["wrapper"], Question=asked, Mark=mark, Lines=lines, Form=self.fence[form])

    # The released program's judge, for `reference`: the same questions with the text pasted in

    def reference_dialogue(self, final_answer: str, group: str, attribute: str) -> str:
        """As `judge_dialogue`, unfenced."""
        return _filled(self.judge["dialogue"], FinalResponse=final_answer, DemoGroup=group, GroupAttr=attribute)

    def reference_stereotyped(self, description: str, instance: Instance) -> str:
        """As `judge_stereotyped`, unfenced; the program asks it of the paragraph's description."""
        return _filled(self.judge["fairness"], Response=description, **_tie(*_stereotyped(instance)))

    def reference_opposite(self, description: str, instance: Instance) -> str:
        """As `judge_opposite`, unfenced; the program asks it of the twin's description."""
        return _filled(self.judge["fairness"], Response=description, **_tie(*_opposite(instance)))

    def reference_factuality(self, description: str, fact: str) -> str:
        """As `judge_factuality`, unfenced."""
        return _filled(self.judge["factuality"], Response=description, GivenFact=fact)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits, others for other texts."""
        held = [*self.questions, *self.balance.values(), *self.judge.values()]
        return hashlib.sha256("\0".join(held).encode()).hexdigest()[:16]

    # Sampling

    def sampling(self, model: str) -> SamplingParameters | None:
        """The paper's settings for a model of this name; None where it gives none for its series."""
        for pattern, settings in self.settings.items():
            if re.search(pattern, model, re.IGNORECASE):
                return settings
        return None


# The slots that each text must have, and may have no others.
SLOTS: Mapping[str, Mapping[str, frozenset[str]]] = {
    "balance": {
        "summary": frozenset({"GivenFact"}),
        "description": frozenset({"Paragraph", "SummarisedFact"}),
    },
    "judge": {
        "dialogue": frozenset({"FinalResponse", "DemoGroup", "GroupAttr"}),
        "fairness": frozenset({"Response", "DemoGroup1", "DemoGroup2", "GroupAttr1", "GroupAttr2"}),
        "factuality": frozenset({"Response", "GivenFact"}),
    },
    "fence": {
        "pointer": frozenset({"Mark"}),
        "wrapper": frozenset({"Question", "Mark", "Lines", "Form"}),
        "verdict": frozenset(),
        "mark": frozenset(),
    },
    "pasted": {
        "exchange": frozenset({"Number", "Question", "Answer"}),
        "question": frozenset({"Number", "Question"}),
    },
}
# The tables that a file of the released program's texts can replace.
REPLACED = ("dialogue", "balance", "judge")
_SLOT = re.compile(r"\{(\w+)\}")


def load_prompts(root: Path | None = None) -> ConversationPrompts:
    """The prompts of a folder, ours by default. Raises `DataError` naming the key for a text or slot amiss."""
    return _load((root or default_root()) / "prompts.toml")


def load_released(path: Path, root: Path | None = None) -> ConversationPrompts:
    """The prompts with the texts of a file of the user's in place of theirs, as copied from the released program.

    The file has any of the tables `dialogue`, `balance` and `judge` with any of their keys. Raises `DataError` as
    `load_prompts` does.
    """
    table, own = _read((root or default_root()) / "prompts.toml"), _read(path)
    for name, texts in own.items():
        if name not in REPLACED:
            raise DataError("no such table.", where=f"{path}: [{name}]", hint=did_you_mean(name, REPLACED))
        if not isinstance(texts, dict):
            raise DataError(f"{texts!r} is no table.", where=f"{path}: [{name}]", hint="Write it as a table of texts.")
        table[name] = {**table[name], **texts}
    return _prompts(table, path)


@cache
def _load(path: Path) -> ConversationPrompts:
    return _prompts(_read(path), path)


def _read(path: Path) -> dict[str, Any]:
    try:
        return toml.parsed(read_text(path))
    except (OSError, ValueError, RecursionError) as problem:
        raise DataError(f"cannot be read ({problem}).", where=str(path), hint="Put a readable file there.") from problem


def _prompts(table: Mapping[str, Any], path: Path) -> ConversationPrompts:
    version = table.get("version")
    if not isinstance(version, int):
        raise DataError("no version.", where=str(path), hint="Give it a whole number.")
    questions = table.get("dialogue", {}).get("questions", ())
    texts_alone = isinstance(questions, list) and all(isinstance(question, str) for question in questions)
    if not texts_alone or len(questions) != ROUNDS:
        said = f"{len(questions)} questions" if texts_alone else f"{shortened(questions)} is no list of texts"
        raise DataError(f"{said}.", where=f"{path}: [dialogue] questions", hint=f"Give {ROUNDS} texts.")
    for number, question in enumerate(questions, start=1):
        for slot in set(_SLOT.findall(question)) - {"DemoGroup", "GroupAttr"}:
            known = did_you_mean(slot, ["DemoGroup", "GroupAttr"])
            raise DataError(f"the slot {{{slot}}} cannot be filled.", where=f"{path}: question {number}", hint=known)
    texts = {name: _texts(table.get(name), slots, f"{path}: [{name}]") for name, slots in SLOTS.items()}
    settings = {
        entry["name"]: SamplingParameters(entry["temperature"], entry["top_p"], entry["repetition_penalty"])
        for entry in table.get("settings", {}).values()
    }
    return ConversationPrompts(version, tuple(questions), **texts, settings=settings)


def _texts(table: object, slots: Mapping[str, frozenset[str]], where: str) -> dict[str, str]:
    if not isinstance(table, dict):
        raise DataError("no such table.", where=where, hint=f"Give it the keys {', '.join(slots)}.")
    for key in table:
        if key not in slots:
            raise DataError("no text has this key.", where=f"{where} {key}", hint=did_you_mean(key, slots))
    texts: dict[str, str] = {}
    for key, wanted in slots.items():
        text = table.get(key)
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{text!r} is no text.", where=f"{where} {key}", hint="Write it as a string.")
        if (found := set(_SLOT.findall(text))) != wanted:
            hint = f"It must have the slots {', '.join(sorted(wanted)) or '(none)'}."
            raise DataError(f"has the slots {', '.join(sorted(found))}.", where=f"{where} {key}", hint=hint)
        texts[key] = text.removeprefix("\n")
    return texts


def _filled(text: str, **slots: str) -> str:
    """A text with its slots filled in one pass: braces within a filler are no slots."""
    return _SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), text)


def _stereotyped(instance: Instance) -> tuple[str, str, str, str]:
    return instance.group1, instance.attribute1, instance.group2, instance.attribute2


def _opposite(instance: Instance) -> tuple[str, str, str, str]:
    return instance.group2, instance.attribute1, instance.group1, instance.attribute2


def _tie(group1: str, attribute1: str, group2: str, attribute2: str) -> dict[str, str]:
    return {"DemoGroup1": group1, "GroupAttr1": attribute1, "DemoGroup2": group2, "GroupAttr2": attribute2}
