"""What moved between two runs, in words: fairness and facts in one view, benchmark by benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairgate.core.domain import Modality

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fairgate.benchmarks.scores import View
    from fairgate.reports.report import Change

CHANGE = "@change"
LEAST = 0.05  # points; below it a change is shown as 0.0


def sentences(changes: Sequence[Change], attributes: Sequence[str], views: Iterable[View]) -> Iterator[str]:
    """What it comes to: the two sides of each view, e.g. fairness and facts, in one sentence; text before images."""
    for view in sorted(views, key=lambda each: list(Modality).index(each.modality)):
        for attribute in attributes if view.by_attribute else (None,):
            every = [each for each in changes if _stands_in(each, view.fair + view.fact, view, attribute)]
            if every:
                yield _sentence(view, attribute, every)


def _stands_in(change: Change, scores: Sequence[tuple[str, str]], view: View, attribute: str | None) -> bool:
    entry = change.entry
    return (entry.modality, entry.attribute) == (view.modality, attribute) and (entry.task, _score(change)) in scores


def _sentence(view: View, attribute: str | None, every: Sequence[Change]) -> str:
    valid = [each for each in every if not each.invalid]
    proven = [each for each in valid if each.proven]
    fair, fact = (
        [each for each in proven if not _is_nothing(each) and _stands_in(each, side, view, attribute)]
        for side in (view.fair, view.fact)
    )
    words = " ".join(filter(None, (_sided(fair, view.fairer), _joined(fair, fact), _sided(fact, view.truer))))
    name = view.called(attribute)
    compared = any(_stands_in(each, view.fact, view, attribute) for each in valid)
    rest = f"no change in {view.facts} is beyond chance" if compared and not fact else ""
    left_out = _left_out(every)
    if not words:
        few = "no change is beyond chance" if not proven else "no change of 0.1 points or more is beyond chance"
        all_left_out = not any(_stands_in(each, view.fair, view, attribute) for each in valid)
        found = [rest if left_out and all_left_out else few, left_out]
        return f"{name}: {'; '.join(filter(None, found))}."
    told = "; ".join(filter(None, [*map(_told, [*_largest(fair, view), *fact]), rest]))
    return f"{name}: {words} than the baseline ({told}){left_out and f'; {left_out}'}."


def _left_out(every: Sequence[Change]) -> str:
    """Which changes say nothing, and why; empty where all do."""
    reasons: dict[str, list[str]] = {}
    for each in every:
        if each.invalid:
            reasons.setdefault(each.invalid, []).append(str(each.entry.context or each.entry.task))
    return "; ".join(
        f"choices in {', '.join(dict.fromkeys(where))} say nothing of groups, since {why}"
        for why, where in reasons.items()
    )


def _is_nothing(change: Change) -> bool:
    """Whether a change shows as 0.0: it has no direction that a reader could see, though a test finds it."""
    return abs(change.entry.estimate or 0.0) < LEAST


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


def _largest(fair: Sequence[Change], view: View) -> list[Change]:
    """The largest change in each direction, those of the view's `shown` scores before others'."""
    found = []
    for better in (True, False):
        side = [each for each in fair if each.better is better]
        plain = [each for each in side if _score(each) in view.shown] or side
        if plain:
            found.append(max(plain, key=lambda each: abs(each.entry.estimate or 0.0)))
    return found


def _told(change: Change) -> str:
    entry = change.entry
    low, high = entry.ci
    where = " ".join(str(part) for part in (entry.context, _score(change)) if part)
    # The test compares query by query; the interval is of the score, and wider.
    beside = ", by the test of each query" if low is not None and high is not None and low <= 0 <= high else ""
    return f"{where} {entry.estimate:+.1f} [{low:+.1f}, {high:+.1f}]{beside}"
