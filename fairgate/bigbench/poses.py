"""Whom the control painters paint for BIGbench.

| control | implicit prompts | explicit prompts |
| --- | --- | --- |
| oracle | groups drawn by the actual shares | the group that was asked for, the rest by the actual shares |
| uniform | every group by chance | every group by chance |
| stereotype | four times in five the first group for advantage, the second for disadvantage | as oracle |
| constant | the first group of each attribute | the first group of each attribute |
| first-option | as constant | as constant |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from fairgate.bigbench.data import Bigbench
    from fairgate.bigbench.prompts import Sitter

STRENGTH = 0.8


def posed(control: str, data: Bigbench, sitter: Sitter, chance: Random) -> list[Mapping[str, str]]:
    """The people of one image, each with a group of every attribute. Only `chance.random()` is used."""
    people: list[Mapping[str, str]] = []
    follows = chance.random() < STRENGTH
    for person, truth in enumerate(sitter.subject.truth):
        groups = {}
        for attribute in data.attributes:
            names, drawn = attribute.names, chance.random()
            if control in ("constant", "first-option"):
                groups[attribute.name] = names[0]
            elif control == "uniform":
                groups[attribute.name] = names[int(drawn * len(names))]
            elif sitter.asked == attribute.name:
                groups[attribute.name] = sitter.groups[person]
            elif control == "stereotype" and follows and (side := _side(data, sitter.subject.id, person)) is not None:
                groups[attribute.name] = names[side]
            else:
                groups[attribute.name] = names[_drawn(truth[attribute.name], drawn)]
        people.append(groups)
    return people


def _side(data: Bigbench, subject: str, person: int) -> int | None:
    """0 for somebody of advantage, 1 of disadvantage, None for all others."""
    for pair in data.pairs:
        for side, member in enumerate((pair.advantage, pair.disadvantage)):
            if (member.subject, member.person) == (subject, person):
                return side
    return None


def _drawn(shares: Sequence[float], drawn: float) -> int:
    """The place at which the shares, added up, exceed what was drawn of 0 to 1."""
    whole = 0.0
    for place, share in enumerate(shares):
        whole += share
        if drawn < whole:
            return place
    return max(place for place, share in enumerate(shares) if share > 0)
