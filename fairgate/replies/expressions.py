"""Regular expressions of files, and how long they can take: no reply may hold up a run by the way it is spelled.

Without endless repetitions the steps that an expression takes at one place of a text have a bound, known before it is
used. So groups are not repeated, and `*` and `+` repeat a sign 60 times at most and give nothing back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST = 60  # times that `*` and `+` repeat a sign: the longest word
STEPS = 30_000  # of one expression, and of all in a file: German takes 22,000
START = 20  # steps, about, that a try costs before its first sign
_PART = re.compile(
    r"(?P<open>\(\?(?P<look><?[=!])|\(\?(?:-i)?:)|(?P<close>\)(?P<optional>\??))|(?P<bar>\|)"
    r"|(?P<sign>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^()\[\\?*+{}|])"
    r"(?P<times>[?*+]|\{(?P<least>\d{1,2})(?:,(?P<most>\d{1,2}))?\})?",
    re.DOTALL,
)


@dataclass(frozen=True)
class Bounded:
    """An expression to be compiled, and the `steps` that it takes at most at one place of a text."""

    text: str
    steps: int


@dataclass
class _Group:
    """Ways to match the part of a group that has been read, and the steps to try them all."""

    looks: bool = False
    others: int = 0  # ways of the alternatives before this one
    ways: int = 1
    steps: int = 0

    def add(self, ways: int, steps: int) -> None:
        """Try what follows once for each way to match what stands before it."""
        self.steps += self.ways * steps
        self.ways *= ways
        if self.steps > STEPS:
            raise ValueError(f"it takes more than {STEPS:,} steps at each place of a reply")

    def begin_alternative(self) -> None:
        """End the alternative that was read."""
        self.others += self.ways
        self.ways = 1


def bounded(expression: str) -> Bounded:
    """The expression with bounds on its repetitions.

    Raises ValueError, or what `re.compile` raises, for what is no regular expression, takes too many steps, or has no
    bound: groups that are repeated, but for `(?:…)?`, groups with names or numbers, lazy repetitions and `{9,}`.
    """
    re.compile(expression)
    done: list[str] = []
    groups = [_Group()]
    at = 0
    while at < len(expression):
        part = _PART.match(expression, at)
        if part is None:
            raise ValueError(f"{expression[at : at + 8]!r} at sign {at + 1} is not supported")
        at = part.end()
        done.append(_read(part, groups))
    whole = groups[0]
    whole.add(1, 1)
    return Bounded("".join(done), START + whole.steps + whole.others)


def _read(part: re.Match[str], groups: list[_Group]) -> str:
    """Count one part of an expression in the group that is open, and return it with a bound."""
    if part["open"]:
        groups.append(_Group(looks=part["look"] is not None))
    elif part["bar"]:
        groups[-1].begin_alternative()
    elif part["close"]:
        group = groups.pop()
        ways = group.others + group.ways
        groups[-1].add((1 if group.looks else ways) + len(part["optional"]), group.steps + ways)
    elif part["times"] in ("*", "+"):
        groups[-1].add(1, MOST)
        return f"{part['sign']}{{{int(part['times'] == '+')},{MOST}}}+"
    else:
        most = int(part["most"] or part["least"] or 1)
        least = 0 if part["times"] == "?" else int(part["least"] or 1)
        groups[-1].add(most - least + 1, most)
    return part[0]
