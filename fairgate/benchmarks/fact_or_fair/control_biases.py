"""Preferences of biased controls among the people of a subjective query, and of odd ones that prefer no group.

A control follows its preference with the probability of its strength, and picks by chance among those it prefers; else,
and where nobody is preferred, it picks by chance among all. Groups are named by their place in the data: *men* and
*women* are the first and the last group of the first attribute, *Black* and *White* the second and the last group of
the second.

| control | prefers |
| --- | --- |
| `stereotype` | who matches the published answers on most attributes |
| `stereotype-ATTRIBUTE` (`-race`, `-gender`) | the same by one attribute |
| `stereotype-CONTEXT` (`-base`, …), `stereotype-LEVEL` (`-high`, `-low`) | the same, in these queries only |
| `in-group` | in the in-group context, who shares most of the named groups |
| `out-group` | in the in-group context, who shares fewest of the named groups |
| `attribution` | in the attribution context, who shares most groups with the person of the news report |
| `never-GROUP` (`-asian`, `-male`, …) | who is not of this group |
| `women-first` | women |
| `white-men-first` | White men |
| `joint` | Black men and White women: neither gender is preferred, their combination with race is |
| `split` | women for one statistic, men for the next |
| `reversed` | as `stereotype` for one statistic, those who match fewest published answers for the next |
| `women-for-high` | women for the highest, men for the lowest, whatever the statistic |
| `crossed` | four of eight groups by gender and race, two of either gender; the other four for the next statistic |
| `named-by-turns` | the gender that the context names for one statistic, the other for the next |
| `letter-by-topic` | a letter that the statistic, level and context decide |
| `first-letter` | the first option |
| `always-d` | the letter D, whatever is asked, where it is no option too |
| `oldest` (fair) | the oldest |
| `name-initial` (fair) | the name that comes first in the alphabet |
| `by-wording` (fair) | by scenario: the oldest, the youngest, the first name or the last one of the alphabet |
"""

from __future__ import annotations

import re
from functools import cache, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, cast

from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic
from fairgate.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairgate.benchmarks.fact_or_fair.knowledge import Knowledge
    from fairgate.core.domain import Choice, Query

    # The choices that are preferred; empty without a preference.
    Preference = Callable[[Knowledge, Query], Sequence[Choice]]

ALWAYS = "D"


def preferences(known: Knowledge) -> Mapping[str, Preference]:
    """The preference of each control that the attributes and groups of the data allow, by name."""
    found: dict[str, Preference] = {"stereotype": stereotyped}
    found |= {f"stereotype-{attribute}": partial(_by_attribute, attribute) for attribute in known.order}
    found |= {f"stereotype-{part}": partial(_in_part, part) for part in (*Context, *Level)}
    found |= {
        "in-group": partial(_like_the_named, Context.INGROUP, 1),
        "out-group": partial(_like_the_named, Context.INGROUP, -1),
        "attribution": partial(_like_the_named, Context.ATTRIBUTION, 1),
    }
    found |= {
        f"never-{group.casefold().replace(' ', '-')}": partial(_without, attribute, group)
        for attribute, groups in known.order.items()
        for group in groups
    }
    found |= {name: partial(_among, people) for name, people in wanted(known).items()}
    return found | {
        "split": _by_turns,
        "reversed": _reversed,
        "women-for-high": _women_for_high,
        "crossed": _crossed,
        "named-by-turns": _named_by_turns,
        "letter-by-topic": _letter_by_topic,
        "first-letter": _first,
        "oldest": partial(_extreme, "oldest"),
        "name-initial": partial(_extreme, "first name"),
        "by-wording": _by_wording,
    }


def wanted(known: Knowledge) -> Mapping[str, tuple[Mapping[str, str], ...]]:
    """The groups of those who are preferred by controls that prefer a group or combination, by control."""
    if len(known.order) < 2:
        return {}
    (gender, (men, *_, women)), (race, races) = list(known.order.items())[:2]
    black, white = races[1], races[-1]
    return {
        "women-first": ({gender: women},),
        "white-men-first": ({gender: men, race: white},),
        "joint": ({gender: men, race: black}, {gender: women, race: white}),
    }


def turn(known: Knowledge, statistic: str) -> Mapping[str, str]:
    """The group that `split` prefers for a statistic: by turns the last and the first of the first attribute."""
    gender, groups = next(iter(known.order.items()))
    statistics = list(dict.fromkeys(slug for slug, _, _ in known.published))
    return {gender: groups[-1] if statistics.index(statistic) % 2 == 0 else groups[0]}


def stereotyped(known: Knowledge, query: Query) -> Sequence[Choice]:
    """Those who match the published answers on most attributes."""
    return best_matches(query, known.published)


def best_matches(query: Query, key: Mapping[tuple[str, str, Level], tuple[str, ...]]) -> Sequence[Choice]:
    """The choices that agree with the key on most attributes."""
    topic = _topic(query)
    return _most(
        query.choices,
        lambda choice: sum(
            group in key.get((topic.statistic, attribute, topic.level), ())
            for attribute, group in choice.groups.items()
        ),
    )


def _by_attribute(attribute: str, known: Knowledge, query: Query) -> Sequence[Choice]:
    return best_matches(query, {place: groups for place, groups in known.published.items() if place[1] == attribute})


def _in_part(part: str, known: Knowledge, query: Query) -> Sequence[Choice]:
    topic = _topic(query)
    return stereotyped(known, query) if part in (topic.context, topic.level) else ()


def _like_the_named(context: Context, sign: int, _: Knowledge, query: Query) -> Sequence[Choice]:
    if _topic(query).context != context:
        return ()
    return _most(query.choices, lambda choice: sign * sum(query.named.get(a) == g for a, g in choice.groups.items()))


def _without(attribute: str, group: str, _: Knowledge, query: Query) -> Sequence[Choice]:
    return [choice for choice in query.choices if choice.groups.get(attribute) != group]


def _among(people: Sequence[Mapping[str, str]], _: Knowledge, query: Query) -> Sequence[Choice]:
    return [choice for choice in query.choices if any(each.items() <= choice.groups.items() for each in people)]


def _by_turns(known: Knowledge, query: Query) -> Sequence[Choice]:
    return _among((turn(known, _topic(query).statistic),), known, query)


def _turn(known: Knowledge, statistic: str) -> int:
    """0 or 1, in turns by statistic."""
    return list(dict.fromkeys(slug for slug, _, _ in known.published)).index(statistic) % 2


def _reversed(known: Knowledge, query: Query) -> Sequence[Choice]:
    topic, sign = _topic(query), -1 if _turn(known, _topic(query).statistic) else 1
    return _most(
        query.choices,
        lambda choice: (
            sign
            * sum(
                group in known.published.get((topic.statistic, attribute, topic.level), ())
                for attribute, group in choice.groups.items()
            )
        ),
    )


def _women_for_high(known: Knowledge, query: Query) -> Sequence[Choice]:
    gender, (men, *_, women) = next(iter(known.order.items()))
    return _among(({gender: women if _topic(query).level is Level.HIGH else men},), known, query)


def _crossed(known: Knowledge, query: Query) -> Sequence[Choice]:
    return [choice for choice in query.choices if is_crossed(known, _topic(query).statistic, choice.groups)]


def is_crossed(known: Knowledge, statistic: str, groups: Mapping[str, str]) -> bool:
    """Whether `crossed` prefers people of these groups: half of all combinations, the other half by turns."""
    attributes = list(known.order.items())[:2]
    # Places of a Gray code: each group of the second attribute is with one of the first, as many with either.
    places = ((names.index(groups[name]) + 1) // (n + 1) for n, (name, names) in enumerate(attributes))
    return sum(places) % 2 == _turn(known, statistic)


def _named_by_turns(known: Knowledge, query: Query) -> Sequence[Choice]:
    gender = next(iter(known.order))
    if _topic(query).context not in (Context.ATTRIBUTION, Context.INGROUP):
        return ()
    wanted = _turn(known, _topic(query).statistic) == 0
    return [choice for choice in query.choices if (choice.groups[gender] == query.named[gender]) is wanted]


def _letter_by_topic(_: Knowledge, query: Query) -> Sequence[Choice]:
    drawn = blake2b(query.topic.id.encode(), digest_size=8).digest()
    place = int.from_bytes(drawn) % len(query.choices)
    return query.choices[place : place + 1]


def _first(_: Knowledge, query: Query) -> Sequence[Choice]:
    return query.choices[:1]


def _by_wording(known: Knowledge, query: Query) -> Sequence[Choice]:
    topic = _topic(query)
    for scenario in known.scenarios.get((topic.statistic, topic.level), ()):
        if scenario in query.prompt:
            drawn = blake2b(scenario.encode(), digest_size=8).digest()
            return _extreme(TRAITS[int.from_bytes(drawn) % len(TRAITS)], known, query)
    raise DataError("the query has no scenario of the data.", where=query.id)


TRAITS = ("oldest", "youngest", "first name", "last name")


def _extreme(trait: str, known: Knowledge, query: Query) -> Sequence[Choice]:
    people = [_profile(known, choice) for choice in query.choices]
    ages, names = [int(each["age"]) for each in people], [each["name"] for each in people]
    held: Sequence[int] | Sequence[str] = ages if trait in ("oldest", "youngest") else names
    best = max(held) if trait in ("oldest", "last name") else min(held)
    return [choice for choice, each in zip(query.choices, held, strict=True) if each == best]


def _profile(known: Knowledge, choice: Choice) -> Mapping[str, str]:
    found = _pattern(known.profile).fullmatch(choice.text)
    if found is None:
        raise DataError(
            f"{choice.text!r} has no name and age in the form {known.profile!r}.", where="templates: profile"
        )
    return found.groupdict()


@cache
def _pattern(profile: str) -> re.Pattern[str]:
    """What reads the name and the age back from a profile of this template."""
    slots = {"name": "(?P<name>.+?)", "age": "(?P<age>[0-9]+)"}
    parts = re.split(r"\{(\w+)\}", profile)
    seen = set[str]()
    written = []
    for place, part in enumerate(parts):
        slot = place % 2 == 1
        written.append((slots.get(part, ".+?") if part not in seen else ".+?") if slot else re.escape(part))
        seen.update({part} if slot else ())
    return re.compile("".join(written))


def _most(choices: Sequence[Choice], agreement: Callable[[Choice], int]) -> Sequence[Choice]:
    most = max(map(agreement, choices))
    return [choice for choice in choices if agreement(choice) == most]


def _topic(query: Query) -> StatisticTopic:
    return cast("StatisticTopic", query.topic)
