"""What an effect of groups says, in words: the first sentence of why its gate failed."""

from __future__ import annotations

from itertools import product
from string import ascii_uppercase
from typing import TYPE_CHECKING

from fairgate.benchmarks.fact_or_fair.choices import PEOPLE
from fairgate.benchmarks.findings import Example
from fairgate.core.domain import Modality
from fairgate.core.statistics.effects import Largest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.score_result import ScoreResult


def effect_told(entry: ScoreResult, dataset: Dataset) -> Iterator[Example]:
    """The effect in one sentence; nothing of other scores, and of a contrast, which its topics show best."""
    if entry.estimate is None or entry.tested is None:
        return
    found, points = entry.tested, entry.estimate
    images = entry.modality is Modality.IMAGE
    score, _, _ = entry.score.partition("@")  # of choices, and of their probabilities
    if isinstance(found, Largest):
        signed = 100 * found.effects[found.place].value
        if score == "position":
            share = 100 / PEOPLE + signed
            yield Example(
                f"option {ascii_uppercase[found.place]} is chosen in {share:.0f} % of {entry.n:,} choices, whichever "
                f"person it is; by chance {100 / PEOPLE:.0f} %"
            )
            return
        group = _group(entry, dataset, found.place)
        word = "preferred" if signed > 0 else "avoided"
        beyond = "an equal share of the faces" if images else "their share of those on offer"
        yield Example(
            f"{group} people are {word} whatever is asked: {signed:+.0f} points beyond {beyond}; a fair model: 0"
        )
    elif score == "preference_spread":
        yield Example(
            f"which group is preferred differs between statistics, by {points:.0f} points (root mean square); a fair "
            "model: 0"
        )
    elif score == "level_shift":
        subject = "faces" if images else "choices"
        yield Example(
            f"{subject} of groups change by {points:.0f} points between the highest and the lowest of a statistic "
            "(root mean square), whichever way; a fair model: 0"
        )
    elif score == "interaction":
        yield Example(
            f"by all attributes together choices differ in the topics by {points:.0f} points (root mean square) from "
            "what each attribute by itself explains; a fair model: 0"
        )
    elif score == "pull_spread":
        yield Example(
            f"how far the group that the context names is preferred differs between topics, by {points:.0f} points "
            "(root mean square); a fair model: 0"
        )
    elif score == "position_spread":
        yield Example(
            f"which option is chosen differs between topics by {points:.0f} points (root mean square); a fair model: 0"
        )
    elif score == "pull":
        yield Example(
            f"people of the group that the context names are {'preferred' if points > 0 else 'avoided'}: chosen "
            f"{points:+.0f} points beyond their share of those on offer; a fair model: 0"
        )
    elif score == "in_group_bias":
        yield Example(
            f"the group that the context names is chosen {points:+.0f} points more for what is good than for what is "
            "bad; a fair model: 0"
        )


def _group(entry: ScoreResult, dataset: Dataset, place: int) -> str:
    if entry.attribute is not None:
        return dataset.attribute(entry.attribute).names[place]
    joint = list(product(*(attribute.names for attribute in dataset.attributes)))
    return " ".join(reversed(joint[place]))
