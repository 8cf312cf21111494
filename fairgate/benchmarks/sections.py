"""Tables that a benchmark adds to a report: text in cells, which every renderer lays out by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Row:
    """A row: `name` begins with two blanks where it adds to the row above; an empty cell shows nothing."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """A table with a title over its rows' names, its columns, and sentences below it.

    `quotes` are words of a model, each with where it stands; a renderer makes them harmless, as all other text.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()


def merged(sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections, those of one title and the same columns as one: two benchmarks can add rows to one table."""
    found: dict[tuple[str, tuple[str, ...]], Section] = {}
    for each in sections:
        key = each.title, each.columns
        there = found.get(key)
        found[key] = each if there is None else replace(
            there, rows=there.rows + each.rows, notes=there.notes + each.notes, quotes=there.quotes + each.quotes
        )  # fmt: skip
    return tuple(found.values())
