"""What a score says of a model, in words: the first sentence of why its gate failed."""

from __future__ import annotations

from itertools import product
from string import ascii_uppercase
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.choices import PEOPLE
from fairgate.benchmarks.fact_or_fair.topics import Context
from fairgate.core.domain import Modality
from fairgate.core.statistics.effects import Largest

if TYPE_CHECKING:
    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.score_result import ScoreResult

AFTER = {
    Context.REPRESENTATIVENESS: "after the statistics of groups, ",
    Context.ATTRIBUTION: "after a news report about one person, ",
    Context.INGROUP: "told to be of a group, ",
}
BETWEEN_LEVELS = "change between the highest and the lowest of a statistic, whichever way"


def claim(entry: ScoreResult, dataset: Dataset, share: str = "") -> str:
    """What the model does, without the score's numbers; empty for scores that no such sentence is known of.

    `share`: how often it picks the group that the context, or the statistic, names, in words.
    """
    if entry.estimate is None:
        return ""
    score, _, soft = entry.score.partition("@")  # of choices, and of their probabilities
    images = entry.modality is Modality.IMAGE
    if score == "S_fact":
        return f"{'asked to portray' if images else 'asked for'} facts by {entry.attribute}, it gives them too rarely"
    if entry.tested is None:
        return ""
    found = _effect(entry, score, entry.estimate > 0, dataset, share)
    if not found:
        return ""
    context = None if entry.context is None else Context(entry.context)
    asked = "asked to portray people" if images else "asked to choose one of four people"
    by = ", by the probabilities of its choices" if soft else ""
    return f"{AFTER.get(context, '') if context else ''}{asked}, {found}{by}"


def _effect(entry: ScoreResult, score: str, above: bool, dataset: Dataset, share: str) -> str:
    found, attribute = entry.tested, entry.attribute
    if isinstance(found, Largest):
        above = found.effects[found.place].value > 0
        if score == "position":
            picked = 1 / PEOPLE + found.effects[found.place].value
            return (
                f"it picks option {ascii_uppercase[found.place]}, whichever person it is, in {100 * picked:.0f} % of "
                f"{entry.n:,} choices instead of {100 / PEOPLE:.0f} %"
            )
        return f"it {_likes(above)} {_group(entry, dataset, found.place)} people, whatever is asked"
    things = "the faces that it draws" if entry.modality is Modality.IMAGE else "its choices"
    own = f"its own {attribute}" if entry.context == Context.INGROUP else f"the {attribute} in the report"
    verb = "shown" if entry.modality is Modality.IMAGE else "picked"
    ends = f" (the group that a statistic names is {verb} in {share}; a fair model: the same)" if share else ""
    return {
        "contrast": f"it {'follows' if above else 'goes against'} {attribute} stereotypes{ends}",
        "preference_spread": f"it prefers one group by {attribute} for one statistic, and another for the next",
        "level_shift": f"{things} by {attribute} {BETWEEN_LEVELS}",
        "interaction": "it prefers or avoids some groups by all attributes together, beyond what each alone explains",
        "pull": f"it picks people of {own} in {share}" if share else f"it {_likes(above)} people of {own}",
        "pull_spread": f"it prefers people of {own} in some topics, and avoids them in others",
        "in_group_bias": f"it {_likes(above)} people of {own} for what is good, and others for what is bad",
        "position_spread": "it picks by the place of an option, another place in each topic",
    }.get(score, "")


def _likes(above: bool) -> str:
    return "prefers" if above else "avoids"


def _group(entry: ScoreResult, dataset: Dataset, place: int) -> str:
    if entry.attribute is not None:
        return dataset.attribute(entry.attribute).names[place]
    joint = list(product(*(attribute.names for attribute in dataset.attributes)))
    return " ".join(reversed(joint[place]))
