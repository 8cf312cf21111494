"""What came of queries, conversations and images, spelled with one letter or a few, and read back.

A choice, a face and a person have one letter, for the groups that the file lists; `-` is a refusal, `?` what could not
be read, `_` an image without the people that it should show, `.` what is missing. A dialogue is `y` (it ties) or `n`. A
description has two letters: `n` for no tie, `s` for the stereotyped, `o` for the opposite one, `b` for both; then the
judge's mark, `a` for 0 in steps of one half to `u` for 10. Nothing of what a model said is in them.
"""

from __future__ import annotations

from itertools import product
from string import ascii_letters, digits
from typing import TYPE_CHECKING

import numpy as np

from fairgate.bigbench.portrayals import UNKNOWN, Portrayal
from fairgate.domain import AnswerKind
from fairgate.f2bench.cases import GOLD
from fairgate.f2bench.gold import GoldMark
from fairgate.f2bench.plan import DEFINITION, Balanced, Dialogue, Judged, Reading
from fairgate.f2bench.swap import twin
from fairgate.f2bench.tally import ThemeTally
from fairgate.f2bench.topics import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.bigbench.data import Bigbench
    from fairgate.bigbench.plan import SitterTally
    from fairgate.bigbench.prompts import Sitter
    from fairgate.f2bench.plan import Plan
    from fairgate.f2bench.topics import Theme
    from fairgate.faces.seen import Seen
    from fairgate.fact_or_fair.faces_tally import Groups

LETTERS = ascii_letters + digits
NONE = {
    AnswerKind.REFUSED: "-",
    AnswerKind.UNREADABLE: "?",
    AnswerKind.NO_FACE: "_",
    AnswerKind.FAILED: ".",
}
KINDS = {letter: kind for kind, letter in NONE.items()}
TIES = {(False, False): "n", (True, False): "s", (False, True): "o", (True, True): "b"}
MARKS = LETTERS[:21]
# What can stand for a conversation.
SPOKEN = frozenset("yn" + "".join(TIES.values()) + MARKS + "-?.")
Known = tuple[tuple[str, ...], ...]


def with_unknown(groups: Iterable[Sequence[str]]) -> Known:
    """Every combination of the attributes' groups, an empty name for a group that is not known."""
    return tuple(product(*(("", *names) for names in groups)))


# F²Bench


def of_theme(counted: ThemeTally) -> str:
    """A theme's conversations by definition, in the order of the plan; of the judge's gold set its verdicts."""
    if counted.theme.name == GOLD:
        return "".join(map(_judged, counted.gold))
    if counted.theme.task is Task.DIALOGUE:
        ends = [each for each in counted.dialogues if each.scoring == DEFINITION]
        return "".join(_none(each.end) if each.biased is None else "ny"[each.biased] for each in ends)
    both = [each.readings for each in counted.balanced if each.scoring == DEFINITION]
    return "".join(_reading(each) for readings in both for each in readings)


def width(theme: Theme) -> int:
    """How many letters one conversation has."""
    return 4 if theme.task is Task.BALANCE and theme.name != GOLD else 1


def theme_of(letters: str, theme: Theme, plan: Plan) -> ThemeTally:
    """The theme as it was counted, over the instances of the same plan."""
    found = ThemeTally(theme, plan.size(theme))
    if theme.name == GOLD:
        found.gold = [_as_judged(item, said) for item, said in zip(plan.gold_of(theme), letters, strict=False)]
        return found
    members = [each for each in plan.members(theme) if theme.task is Task.DIALOGUE or twin(each).text is not None]
    where = [(repeat, instance) for repeat in range(plan.repeats) for instance in members]
    for (repeat, instance), said in zip(where, batched_text(letters, width(theme)), strict=False):
        if theme.task is Task.DIALOGUE:
            end = KINDS.get(said, AnswerKind.SAID)
            biased = None if said in KINDS else said == "y"
            found.dialogues.append(Dialogue(instance, repeat, DEFINITION, end, None, biased))
        else:
            readings = _as_reading(said[:2]), _as_reading(said[2:])
            found.balanced.append(Balanced(instance, repeat, DEFINITION, readings))
    return found


def batched_text(letters: str, size: int) -> Iterator[str]:
    """The letters, so many at a time."""
    return (letters[at : at + size] for at in range(0, len(letters), size))


def _none(end: AnswerKind) -> str:
    return NONE.get(end, "?")


def _judged(each: Judged) -> str:
    if each.said is None:
        return _none(each.end)
    return _mark(each.said) if isinstance(each.item, GoldMark) else "ny"[bool(each.said)]


def _as_judged(item: object, said: str) -> Judged:
    value = None if said in KINDS else float(MARKS.find(said) / 2) if isinstance(item, GoldMark) else float(said == "y")
    return Judged(item, KINDS.get(said, AnswerKind.SAID), value)  # type: ignore[arg-type] # one of the plan's own


def _mark(value: float) -> str:
    return MARKS[round(2 * value)]


def _reading(each: Reading) -> str:
    nothing = _none(each.end)
    tied = each.stereotyped, each.opposite
    ties = nothing if tied[0] is None or tied[1] is None else TIES[tied[0], tied[1]]
    return ties + (nothing if each.mark is None else _mark(each.mark))


def _as_reading(said: str) -> Reading:
    ties = next((tied for tied, letter in TIES.items() if letter == said[:1]), None)
    mark = MARKS.find(said[1:]) if said[1:] else -1
    end = KINDS.get(said[:1]) or KINDS.get(said[1:]) or AnswerKind.SAID
    stereotyped, opposite = ties or (None, None)
    return Reading(end, None, stereotyped, opposite, None if mark < 0 else mark / 2)


# Images


def of_portraits(portraits: Iterable[Seen], groups: Groups, attributes: Sequence[str], known: Known) -> str:
    """A topic's images, a word each: a letter for every face."""
    places = {names: LETTERS[place] for place, names in enumerate(known)}
    words = []
    for each in portraits:
        faces = each.reading.faces if each.reading is not None and each.kind is AnswerKind.CHOSEN else ()
        shown = [tuple(groups.group(face, name) or "" for name in attributes) for face in faces]
        words.append("".join(places[names] for names in shown) or _none(each.kind))
    return " ".join(words)


def faces_of(letters: str, known: Known) -> list[list[tuple[str, ...]]]:
    """The faces of each image by their groups."""
    words = letters.split(" ") if letters else []
    return [[known[place] for letter in word if 0 <= (place := LETTERS.find(letter)) < len(known)] for word in words]


def of_sitter(counted: SitterTally, data: Bigbench) -> str:
    """A sitter's images, a letter for each person; as many for an image that shows nobody."""
    sizes = [len(each.groups) + 1 for each in data.attributes]
    people = len(counted.portrayal.sitter.subject.people)
    said = []
    for seen, codes in zip(counted.seen, counted.portrayal.codes if counted.seen else (), strict=True):  # type: ignore[arg-type] # images have codes
        if seen.kind is not AnswerKind.CHOSEN:
            said.append(_none(seen.kind) * people)
        else:
            said += [LETTERS[int(np.ravel_multi_index(tuple(each + 1), sizes))] for each in codes]
    return "".join(said)


def portrayal_of(letters: str, sitter: Sitter, data: Bigbench) -> Portrayal:
    """The sitter's images, of the same groups."""
    sizes = [len(each.groups) + 1 for each in data.attributes]
    people = len(sitter.subject.people)
    most = int(np.prod(sizes))
    codes = [
        [place - 1 for place in np.unravel_index(at, sizes)] if 0 <= (at := LETTERS.find(letter)) < most else None
        for letter in letters
    ]
    rows = [[UNKNOWN] * len(sizes) if each is None else each for each in codes]
    whole = np.array(rows[: len(rows) // people * people], dtype=np.int8)
    return Portrayal(sitter, whole.reshape(-1, people, len(sizes)))
