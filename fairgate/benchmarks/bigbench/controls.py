"""The people that controls draw for BIGbench.

| control | implicit prompts | explicit prompts |
| --- | --- | --- |
| oracle | groups drawn by the actual shares | the group that was asked for, the rest by the actual shares |
| uniform | every group by chance | every group by chance |
| stereotype | with probability 0.8 by advantage the first group, or the second | the same, but the group asked for |
| constant | the first group of each attribute | the first group of each attribute |
| first-option | as constant | as constant |
| refuser | a refusal | a refusal |
| dominant | with the probability of its strength (1.0) the first gender and race | the same, but the group asked for |
| women-first | with the probability of its strength (1.0) the last gender | the same, but the group asked for |
| majority | with the probability of its strength (1.0) the gender that most are of in truth | the same, but the group asked for |
| joint | with the probability of its strength (1.0) men of the last two races, women of the first two | the same, but the group asked for |
| never-GROUP | with the probability of its strength (1.0) anybody but this group, in its stead by the shares of the others | the same, also where it is asked for |

*Gender* and *race* are the first and the second attribute of the data; where a control follows no bias, it draws as
oracle does.
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from fairgate.benchmarks.bigbench.data import slug
from fairgate.benchmarks.controls import Controls

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.plan import People, SubjectPlan
    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
    from fairgate.benchmarks.bigbench.topics import SubjectTopic
    from fairgate.core.domain import Query
    from fairgate.replies.labels import LabelMap

STRENGTH = 0.8  # of stereotype
NAMES = {
    "oracle": None,
    "uniform": None,
    "stereotype": STRENGTH,
    "constant": None,
    "first-option": None,
    "refuser": None,
    "dominant": 1.0,
    "women-first": 1.0,
    "majority": 1.0,
    "joint": 1.0,
}
NEVER = "never-"


@dataclass(frozen=True)
class SubjectControls(Controls):
    """The people of one image, as the plan's data names them and the maps of `people` draw them."""

    plan: SubjectPlan
    meant: People

    @property
    def names(self) -> Mapping[str, float | None]:
        """Those of the table, `never-` of each group of the data."""
        groups = (name for attribute in self.plan.data.attributes for name in attribute.names)
        return {**NAMES, **{f"{NEVER}{slug(name)}": 1.0 for name in groups}}

    def parameters(self, name: str, strength: float) -> Mapping[str, object]:
        """The version of the data."""
        del name, strength
        return {"sitters": self.plan.data.version}

    def people(
        self, name: str, strength: float, query: Query, chance: Random
    ) -> Sequence[tuple[Mapping[str, str], Mapping[str, LabelMap]]]:
        """One person, or the two of a relation; none where it refuses."""
        if name == "refuser":
            return ()
        identity = self.plan.identity(cast("SubjectTopic", query.topic))
        return [(groups, self.meant.maps) for groups in posed(name, self.plan.data, identity, chance, strength)]


def posed(
    control: str, data: Bigbench, identity: IdentityPrompt, chance: Random, strength: float = STRENGTH
) -> list[Mapping[str, str]]:
    """The people of one image, each with a group of every attribute. Only `chance.random()` is used."""
    people: list[Mapping[str, str]] = []
    follows = chance.random() < strength
    for person, truth in enumerate(identity.subject.truth):
        groups: dict[str, str] = {}
        for place, attribute in enumerate(data.attributes):
            names, drawn = attribute.names, chance.random()
            never = [follows and control == f"{NEVER}{slug(name)}" for name in names]
            if control in ("constant", "first-option"):
                groups[attribute.name] = names[0]
            elif control == "uniform":
                groups[attribute.name] = names[int(drawn * len(names))]
            elif identity.asked == attribute.name and not never[names.index(identity.groups[person])]:
                groups[attribute.name] = identity.groups[person]
            elif follows and (wanted := _wanted(control, data, identity, person, groups)) is not None:
                groups[attribute.name] = names[wanted]
            else:
                if follows and control == "joint" and place == 1:
                    men = groups[data.attributes[0].name] == data.attributes[0].names[0]
                    never = [(number < len(names) // 2) is men for number in range(len(names))]
                groups[attribute.name] = names[_drawn(_without(truth[attribute.name], never), drawn)]
        people.append(groups)
    return people


def _wanted(
    control: str, data: Bigbench, identity: IdentityPrompt, person: int, before: Mapping[str, str]
) -> int | None:
    """The place of the group that a control's bias draws for the next attribute; None where it has none.

    `before`: the groups of the attributes before it.
    """
    attribute = data.attributes[len(before)]
    if control == "stereotype":
        return _side(data, identity.subject.id, person)
    if control == "dominant" and len(before) < 2:
        return 0
    if control == "women-first" and not before:
        return -1
    if control == "majority" and not before:
        truth = identity.subject.truth[person][attribute.name]
        return truth.index(max(truth))
    return None


def _without(shares: Sequence[float], never: Sequence[bool]) -> Sequence[float]:
    """The shares of the groups that are drawn at all, alike where nobody is of them."""
    if not any(never):
        return shares
    kept = [0.0 if left_out else share for share, left_out in zip(shares, never, strict=True)]
    whole = sum(kept)
    return [share / whole for share in kept] if whole else [(not each) / never.count(False) for each in never]


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
