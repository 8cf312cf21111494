"""What moved between two runs, in words: fairness and facts in one view, benchmark by benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.bigbench.topics import Task as BigTask
from fairgate.domain import Modality
from fairgate.f2bench.topics import Task as F2Task
from fairgate.fact_or_fair.topics import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairgate.report.report import Change

CHANGE = "@change"
APART = ("S_KLD", "S_fair", "TV")


@dataclass(frozen=True)
class View:
    """Two sides of a benchmark that stand in one sentence: the scores of each, and what better and worse are called.

    `facts` names the second side where nothing of it moved. With `by_attribute` there is a sentence for each.
    """

    name: str
    modality: Modality
    fair: tuple[tuple[str, str], ...]
    fact: tuple[tuple[str, str], ...]
    by_attribute: bool = True
    fairer: tuple[str, str] = ("fairer", "less fair")
    truer: tuple[str, str] = ("more factual", "less factual")
    facts: str = "facts"

    def called(self, attribute: str | None) -> str:
        """How a sentence begins."""
        return " ".join(filter(None, (self.name, attribute)))


CHOSEN = tuple((Task.SUBJECTIVE, score) for score in APART)
KNOWN = ((Task.OBJECTIVE, "S_fact"),)
VIEWS = (
    View("", Modality.TEXT, CHOSEN, KNOWN),
    View(
        "open answers",
        Modality.TEXT,
        ((F2Task.DIALOGUE, "S_dialogue"), (F2Task.BALANCE, "S_fairness")),
        ((F2Task.BALANCE, "S_factuality"),),
        by_attribute=False,
    ),
    View("portraits by", Modality.IMAGE, CHOSEN, KNOWN),
    View(
        "people in images by",
        Modality.IMAGE,
        ((BigTask.IMPLICIT, "TV"), (BigTask.IMPLICIT, "S_implicit"), (BigTask.MANIFESTATION, "eta")),
        ((BigTask.EXPLICIT, "S_explicit"),),
        fairer=("less biased", "more biased"),
        truer=("more faithful to who was asked for", "less faithful to who was asked for"),
        facts="whom it was asked for",
    ),
)


def sentences(changes: Sequence[Change], attributes: Sequence[str]) -> Iterator[str]:
    """What it comes to: fairness among individuals, and facts about groups, in one view."""
    for view in VIEWS:
        for attribute in attributes if view.by_attribute else (None,):
            every = [each for each in changes if _stands_in(each, view.fair + view.fact, view, attribute)]
            if every:
                yield _sentence(view, attribute, every)


def _stands_in(change: Change, scores: Sequence[tuple[str, str]], view: View, attribute: str | None) -> bool:
    entry = change.entry
    return (entry.modality, entry.attribute) == (view.modality, attribute) and (entry.task, _score(change)) in scores


def _sentence(view: View, attribute: str | None, every: Sequence[Change]) -> str:
    fair, fact = (
        [each for each in every if each.proven and _stands_in(each, side, view, attribute)]
        for side in (view.fair, view.fact)
    )
    words = " ".join(filter(None, (_sided(fair, view.fairer), _joined(fair, fact), _sided(fact, view.truer))))
    name = view.called(attribute)
    if not words:
        return f"{name}: no change is beyond chance."
    told = "; ".join(map(_told, [*_largest(fair), *fact]))
    compared = any(_stands_in(each, view.fact, view, attribute) for each in every)
    rest = f"; no change in {view.facts} is beyond chance" if compared and not fact else ""
    return f"{name}: {words} than the baseline ({told}{rest})."


def _sided(side: Sequence[Change], words: tuple[str, str]) -> str:
    better, worse = words
    found = {each.better for each in side}
    return "" if not found else f"{better} in part and {worse} in part" if len(found) > 1 else words[True not in found]


def _score(change: Change) -> str:
    return change.entry.score.removesuffix(CHANGE)


def _joined(fair: Sequence[Change], fact: Sequence[Change]) -> str:
    if not fair or not fact:
        return ""
    return "and" if {each.better for each in fair} == {fact[0].better} else "but"


def _largest(fair: Sequence[Change]) -> list[Change]:
    """The change that says most by each direction, TV's before others': it is in points that anyone can read."""
    found = []
    for better in (True, False):
        side = [each for each in fair if each.better is better]
        plain = [each for each in side if _score(each) == "TV"] or side
        if plain:
            found.append(max(plain, key=lambda each: abs(each.entry.estimate or 0.0)))
    return found


def _told(change: Change) -> str:
    entry = change.entry
    low, high = entry.ci
    where = " ".join(str(part) for part in (entry.context, _score(change)) if part)
    return f"{where} {entry.estimate:+.1f} [{low:+.1f}, {high:+.1f}]"
