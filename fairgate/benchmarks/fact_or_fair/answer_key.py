"""Which group is highest or lowest: as the papers publish it, and as the measured values say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.core.errors import DataError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

KeyKind = Literal["published", "measured"]
Basis = Literal["published", "values", "fallback"]


class ValueSource(StrEnum):
    """How every input was read: only values read at the issuing agency overturn a published answer.

    `READ`: on the agency's own page or in its own publication. `QUOTED`: in a copy, or in a source that quotes the
    agency. `RECALLED`: recalled, or not found again.
    """

    READ = "A"
    QUOTED = "B"
    RECALLED = "C"


class ValueRole(StrEnum):
    """Primary values of a statistic and attribute are one consistent set; alternates are defined otherwise."""

    PRIMARY = "primary"
    ALTERNATE = "alternate"


@dataclass(frozen=True, slots=True)
class Group:
    """A group of an attribute: its name, how a choice offers it (`Male`), and its word in a sentence (`male`).

    `labels` are the labels of values that stand for the group, the preferred ones first; `pooled` those that are
    preferred to all of them, and taken from alternate rows too where the unit is that of the primary rows.
    """

    name: str
    choice: str
    word: str
    labels: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute (gender, race) and its groups, in the order of the data file."""

    name: str
    groups: tuple[Group, ...]

    @property
    def k(self) -> int:
        """The number of groups, 2 or more."""
        return len(self.groups)

    @property
    def codes(self) -> dict[str, int]:
        """The groups' numbers, 0 to k - 1."""
        return {group.name: number for number, group in enumerate(self.groups)}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups, in order."""
        return tuple(group.name for group in self.groups)

    def group(self, name: str) -> Group:
        """The group of that name. Raises `DataError` where there is none."""
        for group in self.groups:
            if group.name == name:
                return group
        raise DataError(f"{name!r} is no group.", where=self.name, hint=did_you_mean(name, self.names))

    def word(self, name: str) -> str:
        """The word of the group of that name in a sentence. Raises `DataError` where there is none."""
        return self.group(name).word


@dataclass(frozen=True, slots=True)
class Value:
    """One measured value of one group, with where it comes from.

    `statistic` is a slug, `group` a label as its source has it, `value` is in `unit`. `confidence`: `high`, `medium` or
    `low`; `derivation`: `direct`, or `derived` by arithmetic on numbers that were read.
    """

    statistic: str
    attribute: str
    group: str
    value: float
    unit: str
    period: str
    source: str
    table: str
    provenance: ValueSource
    address: str
    confidence: str
    derivation: str
    role: ValueRole


@dataclass(frozen=True, slots=True)
class KeyEntry:
    """The right groups of one statistic, attribute and level under one key: one, or several on a tie.

    `basis`: where the answer comes from; `fallback` is the published answer where no measured one may replace it.
    `tied`: the measured values cannot tell several groups apart. `disputed`: the published group is not among the
    measured ones. Both are said of the topic, so the entries of the two keys agree on them.
    """

    groups: tuple[str, ...]
    basis: Basis
    tied: bool
    disputed: bool
    note: str


def told(published: KeyEntry, measured: KeyEntry) -> str:
    """Both answers of a topic in words, with what is doubtful about them."""
    doubts = [
        word
        for word, there in (
            ("disputed", measured.disputed),
            ("tied", measured.tied),
            ("no measured value may replace the published answer", measured.basis == "fallback"),
        )
        if there
    ]
    doubt = f" ({', '.join(doubts)}{f': {measured.note}' if measured.note else ''})" if doubts else ""
    return f"Answer: published {' or '.join(published.groups)}, measured {' or '.join(measured.groups)}{doubt}"


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """What the key file says of one statistic, attribute and level: published group, tied groups, and a note."""

    published: str
    ties: tuple[str, ...]
    note: str


def key_entries(
    attribute: Attribute, level: Level, claim: KeyClaim, values: Sequence[Value], where: str
) -> tuple[KeyEntry, KeyEntry]:
    """The published and the measured entry of one topic, from the values of its statistic and attribute.

    Raises `DataError` at `where` if the primary values are not one consistent set.
    """
    measured = _measured(attribute, level, claim, values, where)
    tied = len(measured.groups) > 1
    disputed = claim.published not in measured.groups
    published = KeyEntry((claim.published,), "published", tied, disputed, claim.note)
    return published, replace(measured, tied=tied, disputed=disputed)


def _measured(attribute: Attribute, level: Level, claim: KeyClaim, values: Sequence[Value], where: str) -> KeyEntry:
    def answer(groups: Sequence[str], basis: Basis, reason: str = "") -> KeyEntry:
        note = "; ".join(part for part in (reason, claim.note) if part)
        return KeyEntry(tuple(groups), basis, tied=False, disputed=False, note=note)

    of_group = group_values(attribute, values, where)
    lacking = [name for name in attribute.names if name not in of_group]
    if lacking:
        return answer([claim.published], "fallback", f"no value for {', '.join(lacking)}")

    end = max if level is Level.HIGH else min
    extreme = end(value.value for value in of_group.values())
    winners = [name for name in attribute.names if of_group[name].value == extreme]
    sound = [name for name in winners if of_group[name].provenance is ValueSource.READ]
    basis: Basis = "values"
    reason = ""
    if claim.published in winners:
        right = {claim.published, *sound}
    elif of_group[claim.published].provenance is ValueSource.READ and sound:
        right = set(sound)
    else:
        right, basis = {claim.published}, "fallback"
        reason = f"values not read at the agency name {', '.join(winners)}"
    right |= set(claim.ties)
    return answer([name for name in attribute.names if name in right], basis, reason)


def group_values(attribute: Attribute, values: Sequence[Value], where: str) -> dict[str, Value]:
    """The value of each group that has one, by name, all in one unit; labels that stand for no group are left out.

    Raises `DataError` at `where` if primary rows mix units, or if two rows could serve one group.
    """
    primary = [value for value in values if value.role is ValueRole.PRIMARY]
    units = sorted({value.unit for value in primary})
    if len(units) > 1:
        hint = "Primary rows form one consistent set: make the others alternate."
        raise DataError(f"primary values mix units: {', '.join(map(repr, units))}.", where=where, hint=hint)
    comparable = [value for value in values if value.unit in units]
    found: dict[str, Value] = {}
    for group in attribute.groups:
        for label, rows in [*((p, comparable) for p in group.pooled), *((p, primary) for p in group.labels)]:
            serving = [value for value in rows if value.group == label]
            if len(serving) > 1:
                hint = "Keep one as primary."
                raise DataError(f"{len(serving)} values could serve {label!r}.", where=where, hint=hint)
            if serving:
                found[group.name] = serving[0]
                break
    return found
