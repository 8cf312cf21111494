"""Reads data files, remembers every text that it read, and says where each row stands."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tomllib
from dataclasses import dataclass
from string import Formatter
from typing import TYPE_CHECKING, Any

from fairgate.benchmarks.fact_or_fair.topics import Level
from fairgate.core import toml
from fairgate.core.errors import DataError, did_you_mean
from fairgate.core.files import read_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row of a CSV file: its cells by column, stripped, and the file and line where it stands."""

    path: Path
    line: int
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        """The cell of a column that the file was read for."""
        return self.cells[column]

    def error(self, column: str, hint: str) -> DataError:
        """A `DataError` that shows the cell, where it stands, and the fix."""
        return DataError(
            f"{self[column]!r} cannot be used.", where=f"{self.path}: line {self.line}, {column}", hint=hint
        )

    def filled(self, column: str) -> str:
        """The cell. Raises `DataError` where it is empty."""
        if not self[column]:
            raise self.error(column, "Fill the cell.")
        return self[column]

    def one_of(self, column: str, known: Collection[str]) -> str:
        """The cell, if it is one of the known words. Raises `DataError` otherwise."""
        if self[column] not in known:
            raise self.error(column, did_you_mean(self[column], known))
        return self[column]

    def level(self, column: str) -> Level:
        """The cell as a level. Raises `DataError` where it is none."""
        return Level(self.one_of(column, [level.value for level in Level]))

    def parts(self, column: str) -> tuple[str, ...]:
        """The words that semicolons separate in the cell, stripped; none where it is empty."""
        return tuple(part.strip() for part in self[column].split(";") if part.strip())


class Library:
    """Reads files of one load, and can say afterwards which version of the data they were.

    Every reading method raises `DataError` naming the file where it cannot be read or parsed.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    @property
    def version(self) -> str:
        """16 hexadecimal digits: the same for the same contents, wherever the folders lie."""
        digest = hashlib.sha256()
        for name, text in sorted(self._texts.items()):
            for part in (name, text):
                encoded = part.encode()
                digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return digest.hexdigest()[:16]

    def text(self, path: Path, role: str) -> str:
        """A file's text. Files of different roles may have the same name: both count for the version."""
        try:
            text = read_text(path)
        except UnicodeDecodeError as problem:
            raise DataError(
                f"not UTF-8 text ({problem}).", where=str(path), hint="Save the file as UTF-8."
            ) from problem
        except OSError as problem:
            reason = problem.strerror or str(problem)
            raise DataError(
                f"cannot be read ({reason}).", where=str(path), hint="Put a readable file there."
            ) from problem
        self._texts[f"{role}/{path.name}"] = text
        return text

    def csv(self, path: Path, role: str, columns: Collection[str]) -> list[CsvRow]:
        """The rows of a CSV file that has at least these columns."""
        reader = csv.reader(io.StringIO(self.text(path, role), newline=""), strict=True)
        rows: list[CsvRow] = []
        try:
            header = [cell.strip() for cell in next(reader, [])]
            for column in columns:
                if header.count(column) != 1:
                    known = f"The header must name each of these once: {', '.join(columns)}."
                    raise DataError(
                        f"column {column!r} stands {header.count(column)} times.", where=str(path), hint=known
                    )
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise DataError(
                        f"{len(cells)} cells under a header of {len(header)}: {','.join(cells)!r}.",
                        where=f"{path}: line {reader.line_num}",
                        hint="Quote cells that hold commas, and give every column a cell.",
                    )
                stripped = [cell.strip() for cell in cells]
                rows.append(CsvRow(path, reader.line_num, dict(zip(header, stripped, strict=True))))
        except csv.Error as problem:
            where = f"{path}: line {reader.line_num}"
            raise DataError(f"not CSV ({problem}).", where=where, hint="Mend the quoting.") from problem
        return rows

    def json(self, path: Path, role: str) -> dict[str, Any]:
        """The object that a JSON file holds; a key that stands twice is an error, as one would silently win."""

        def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for key, value in pairs:
                if key in found:
                    raise DataError("the key stands twice.", where=f"{path}: {key}", hint="Keep one of the two.")
                found[key] = value
            return found

        try:
            found = json.loads(self.text(path, role), object_pairs_hook=unique)
        except (json.JSONDecodeError, RecursionError) as problem:
            raise DataError(f"not JSON ({problem}).", where=str(path), hint="Mend the syntax.") from problem
        if not isinstance(found, dict):
            raise DataError(f"holds {type(found).__name__}.", where=str(path), hint="Write one object, keys to texts.")
        return found

    def toml(self, path: Path, role: str) -> dict[str, Any]:
        """The table that a TOML file holds."""
        try:
            return toml.parsed(self.text(path, role))
        except (tomllib.TOMLDecodeError, RecursionError) as problem:
            raise DataError(f"not TOML ({problem}).", where=str(path), hint="Mend the syntax.") from problem


def checked_texts(
    value: object, count: int, slots: Collection[str], where: str, *, or_more: bool = False
) -> tuple[str, ...]:
    """`count` texts (`or_more`), stripped, whose slots are all among `slots`; one text may stand without a list.

    Raises `DataError` at `where` for anything else.
    """
    texts = [value] if isinstance(value, str) else value
    wanted = f"Give {'at least' if or_more else 'exactly'} {count} text{'s' if count > 1 else ''}."
    if not isinstance(texts, list):
        raise DataError(f"{value!r} is no text.", where=where, hint=wanted)
    if len(texts) < count or (len(texts) > count and not or_more):
        raise DataError(f"{len(texts)} texts.", where=where, hint=wanted)
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{text!r} is no text.", where=where, hint=wanted)
        for slot in text_slots(text, where):
            if slot not in slots:
                known = did_you_mean(slot, slots) if slots else "No slot is filled in this text: take it out."
                raise DataError(f"the slot {{{slot}}} in {text!r} cannot be filled.", where=where, hint=known)
    return tuple(text.strip() for text in texts)


def text_slots(text: str, where: str) -> set[str]:
    """The names between braces in a text. Raises `DataError` at `where` for braces that do not pair."""
    try:
        parts = list(Formatter().parse(text))
    except ValueError as problem:
        hint = "Write slots as {race}, and double a brace that is none."
        raise DataError(f"braces do not pair in {text!r}.", where=where, hint=hint) from problem
    # A conversion or a format would be applied to the words: only the plain slot is one.
    return {
        name + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "")
        for _, name, form, conversion in parts
        if name is not None
    }
