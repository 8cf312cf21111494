"""A ledger's samples in files for other programs: JSON lines, CSV, Parquet. Row by row, so that memory stays flat."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import IO, TYPE_CHECKING

from fairgate.core.errors import ConfigError
from fairgate.ledger.marks import MARKS
from fairgate.ledger.rows import FILTERED, TRUNCATED, damaged, identity_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairgate.core.domain import Identity
    from fairgate.ledger.ledger import Ledger

# Where a formula begins: at the start of a cell, and of what is one where semicolons, tabs or bars part cells, as in
# countries with a decimal comma. Quotes do not protect it there. Spreadsheets read the full-width forms alike.
_FORMULA = re.compile('(?:^|[;|\\t\\r\\n])(?=[ "]*[-=+@\\uff1d\\uff0b\\uff0d\\uff20])')
CHUNK = 1_000  # rows of one Parquet group


class Format(StrEnum):
    """What to write."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


TEXTS = (
    *("key", "model", "address", "parameters", "query", "topic", "prompt", "reply", "kind", "how", "form", "letters"),
    *("served_model", "fingerprint", "asked_at", "run", "mark", "mark_who", "mark_why", "probabilities"),
)
NUMBERS = ("choice", "parser", "prompt_tokens", "completion_tokens", "attempts")
COLUMNS = (*TEXTS, *NUMBERS, "latency", "filtered", "truncated")

_ROWS = f"""
SELECT lower(hex(samples.key)) AS key, model AS identity, query, prompt, reply, filtered, kind, choice, how, parser,
    form, letters, prompt_tokens, completion_tokens, served_model, fingerprint, latency, attempts, asked_at, run,
    word AS mark, who AS mark_who, why AS mark_why, probabilities
FROM samples JOIN models ON model = models.id
LEFT JOIN ({MARKS}) AS marked ON marked.key = samples.key
ORDER BY samples.key
"""  # noqa: S608 - our own words


_TYPES: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("filtered", "identity", *NUMBERS), int),
    "latency": (int, float),
    "asked_at": (int, float),
}


def rows(ledger: Ledger) -> Iterator[dict[str, object]]:
    """Every sample, in the order of keys: `asked_at` in ISO 8601 (UTC), `kind` and `choice` as read when it came."""
    with ledger.translated():
        models = {
            number: _about(identity_of(identity, str(ledger.path)))
            for number, identity in ledger.database.execute("SELECT id, identity FROM models")
        }
        cursor = ledger.database.execute(_ROWS)
        names = [each[0] for each in cursor.description]
        for values in cursor:
            row: dict[str, object] = dict(zip(names, values, strict=True))
            for name, held in row.items():
                if held is not None and not isinstance(held, _TYPES.get(name, str)):
                    raise damaged(f"{name} of a row of samples: {shown(held)}", str(ledger.path))
            row |= models[row.pop("identity")]
            row["topic"] = str(row["query"]).partition("#")[0]
            try:
                row["asked_at"] = datetime.fromtimestamp(values[names.index("asked_at")], UTC).isoformat()
            except (ValueError, OverflowError, OSError, TypeError):
                raise damaged(f"asked_at of a row of samples: {shown(row['asked_at'])}", str(ledger.path)) from None
            ending = row["filtered"]
            assert isinstance(ending, int)  # noqa: S101 - looked at above
            row["filtered"], row["truncated"] = bool(ending & FILTERED), bool(ending & TRUNCATED)
            yield {name: row[name] for name in COLUMNS}


def _about(identity: Identity) -> dict[str, object]:
    parameters = json.dumps(identity.parameters, sort_keys=True)
    return {"model": identity.label, "address": identity.address, "parameters": parameters}


def write(ledger: Ledger, form: Format, to: IO[bytes]) -> int:
    """Write every sample; how many there were. Raises ConfigError for Parquet without pyarrow."""
    return {Format.JSONL: _jsonl, Format.CSV: _csv, Format.PARQUET: _parquet}[form](ledger, to)


def _jsonl(ledger: Ledger, to: IO[bytes]) -> int:
    count = 0
    for row in rows(ledger):
        to.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        count += 1
    return count


class _Encoded:
    """A text file on top of a binary one, without a buffer to be flushed."""

    def __init__(self, to: IO[bytes]) -> None:
        self._to = to

    def write(self, text: str) -> int:
        return self._to.write(text.encode())


def _csv(ledger: Ledger, to: IO[bytes]) -> int:
    writer = csv.writer(_Encoded(to))
    writer.writerow(COLUMNS)
    count = 0
    for row in rows(ledger):
        writer.writerow([harmless(value) if isinstance(value, str) else value for value in row.values()])
        count += 1
    return count


def harmless(text: str) -> str:
    """The text with an apostrophe wherever a spreadsheet would begin a formula: people open there what a model wrote.

    >>> harmless("=1+1"), harmless("B;=1+1")
    ("'=1+1", "B;'=1+1")
    """
    return _FORMULA.sub(r"\g<0>'", text)


def _parquet(ledger: Ledger, to: IO[bytes]) -> int:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ConfigError(
            "Parquet needs pyarrow, which is not installed.",
            where="--format parquet",
            hint="pip install pyarrow, or write jsonl.",
        ) from None
    types = {name: pyarrow.string() for name in TEXTS} | {name: pyarrow.int64() for name in NUMBERS}
    types |= {"latency": pyarrow.float64(), "filtered": pyarrow.bool_(), "truncated": pyarrow.bool_()}
    schema = pyarrow.schema([(name, types[name]) for name in COLUMNS])
    count = 0
    with parquet.ParquetWriter(to, schema) as writer:
        for chunk in _chunks(rows(ledger)):
            writer.write_table(pyarrow.Table.from_pylist(chunk, schema=schema))
            count += len(chunk)
    return count


def _chunks(them: Iterator[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    while chunk := list(islice(them, CHUNK)):
        yield chunk
