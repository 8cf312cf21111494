"""The instances of F²Bench as frozen values: ours from `data/f2bench`, or the published workbooks.

The paper calls an instance a fairness evaluation instance (FEI, section 3.2). A row that cannot be used is a
`RowProblem` with its place: the strict reading raises them all as one `DataError`, the lenient one hands them back
beside the instances that can be used.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import warnings
import zipfile
from collections import Counter
from dataclasses import astuple, dataclass, replace
from enum import IntEnum, StrEnum
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any

from fairgate.core.errors import ConfigError, DataError, did_you_mean
from fairgate.core.files import read_bytes, read_text
from fairgate.core.layout import DATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

INSTALL = "Install it with: pip install 'fairgate[f2bench]'."
SHOWN = 5  # problems that an error message spells out


class Category(StrEnum):
    """The ten demographic categories of the paper's section 3.2, in its order."""

    GENDER = "gender"
    RACE = "race"
    RELIGION = "religion"
    AGE = "age"
    SOCIOECONOMY = "socioeconomy"
    EDUCATION = "education"
    LGBTQ = "lgbtq"
    NATIONALITY = "nationality"
    HEALTH = "health"
    APPEARANCE = "appearance"


class InstanceKind(IntEnum):
    """What an instance's attributes are, the paper's Type: each kind has a task of its own."""

    FACT = 0  # fairness-factuality balance
    STEREOTYPE = 1  # dialogue induction


class FactSource(StrEnum):
    """How well the fact of an instance of ours is known: A was read in a public document, B is recalled."""

    A = "A"
    B = "B"


@dataclass(frozen=True, slots=True)
class Instance:
    """Two groups, two attributes, and a paragraph that leaves open which group has which.

    `secondary` is a category or another word in small letters, None where the paper has N/A. Attributes start with
    "to", as the guideline of appendix A.1 asks. `source` and `provenance` are those of the fact, None in the
    workbooks, which name their sources within the fact.
    """

    id: str
    category: Category
    secondary: str | None
    kind: InstanceKind
    group1: str
    group2: str
    attribute1: str
    attribute2: str
    paragraph: str
    fact: str
    source: str | None = None
    provenance: FactSource | None = None


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Something that cannot be used: `where` names file and row."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass(frozen=True, eq=False)
class Instances:
    """What one reading found. `notes` say what was passed over without harm: sheets, absent categories."""

    instances: tuple[Instance, ...]
    problems: tuple[RowProblem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """16 hexadecimal digits, another for every other content."""
        content = json.dumps([astuple(instance) for instance in self.instances], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def counts(self) -> Mapping[tuple[Category, InstanceKind], int]:
        """How many instances, by category and kind."""
        return Counter((instance.category, instance.kind) for instance in self.instances)

    def first(self, most: int | None) -> Instances:
        """At most so many of each category and kind, the first in the data; None is all."""
        if most is None:
            return self
        held: Counter[tuple[Category, InstanceKind]] = Counter()
        kept = []
        for each in self.instances:
            held[each.category, each.kind] += 1
            if held[each.category, each.kind] <= most:
                kept.append(each)
        return replace(self, instances=tuple(kept))

    def of(self, kind: InstanceKind, category: Category | None = None) -> tuple[Instance, ...]:
        """The instances of a kind, of one category or of all, in the order of reading."""
        return tuple(
            instance
            for instance in self.instances
            if instance.kind is kind and (category is None or instance.category is category)
        )


def default_root() -> Path:
    """`data/f2bench` of the checkout that this package lies in, whatever the working directory."""
    return DATA / "f2bench"


def load(root: Path | None = None) -> Instances:
    """Our own instances. Raises `DataError` for anything that is missing, malformed or stands twice."""
    path = (root or default_root()) / "instances.json"
    rows = read_json(path).get("instances")
    if not isinstance(rows, list):
        raise DataError("has no list of instances.", where=str(path), hint="Write them under the key 'instances'.")
    reading = _ReadRows()
    for number, row in enumerate(rows, start=1):
        where = f"{path}: instance {number}"
        if isinstance(row, dict):
            reading.row({_flat(key): value for key, value in row.items()}, where, identifier=row.get("id"))
        else:
            reading.problems.append(RowProblem(where, "no object."))
    return reading.result(lenient=False)


def read_workbooks(folder: Path, *, lenient: bool = False) -> Instances:
    """The instances of the published workbooks in a folder and in its folder `data`, one workbook a category.

    Sheets without the columns are passed over with a note, rows without any cell silently. Raises `DataError` for
    rows that cannot be used unless `lenient`, and `ConfigError` where openpyxl is not installed.
    """
    if not folder.is_dir():
        raise DataError("no such folder.", where=str(folder), hint="Give --f2bench an existing folder.")
    # A file that a spreadsheet program holds open leaves a lock file of this name beside it.
    # The authors' repository has workbooks at its root and in `data`.
    every = (path for part in (folder, folder / "data") for path in part.glob("*.xlsx"))
    paths = sorted((path for path in every if not path.name.startswith("~$")), key=lambda path: path.name)
    if not paths:
        hint = "Give --f2bench the folder of the published .xlsx files."
        raise DataError("holds no workbook.", where=str(folder), hint=hint)
    openpyxl = _openpyxl()
    reading = _ReadRows()
    for path in paths:
        _read_workbook(openpyxl, path, reading)
    return reading.result(lenient=lenient)


def read_json(path: Path) -> dict[str, Any]:
    """The object that a JSON file holds. Raises `DataError` naming the file."""
    try:
        found = json.loads(read_text(path))
        json.dumps(found, ensure_ascii=False).encode()  # raises for half an emoji, which no model can be sent
    except OSError as problem:
        reason = problem.strerror or str(problem)
        raise DataError(f"cannot be read ({reason}).", where=str(path), hint="Put a readable file there.") from problem
    except (ValueError, RecursionError) as problem:
        raise DataError(f"not JSON ({problem}).", where=str(path), hint="Mend the syntax.") from problem
    if not isinstance(found, dict):
        raise DataError(f"holds {type(found).__name__}.", where=str(path), hint="Write one object.")
    return found


# --- Rows ---------------------------------------------------------------------------------------------------------

# Both spellings of the workbooks' headers, `Primary Category` and `PrimaryCategory`, flatten to these.
FIELDS = {
    "paragraph": "Paragraph",
    "primarycategory": "Primary Category",
    "secondarycategory": "Secondary Category",
    "demogroup1": "DemoGroup1",
    "demogroup2": "DemoGroup2",
    "groupattr1": "GroupAttr1",
    "groupattr2": "GroupAttr2",
    "givenfact": "GivenFact",
    "type": "Type",
}
CATEGORIES = {category.value: category for category in Category} | {
    "socioeco": Category.SOCIOECONOMY,
    "economy": Category.SOCIOECONOMY,  # the guideline of appendix A.1 writes so
}
NO_SECONDARY = {"na", "none"}
HEADER_AT_LEAST = 5  # a sheet whose first row names so many columns is meant as data, whatever it lacks


class _ReadRows:
    """What was read so far."""

    def __init__(self) -> None:
        self.instances: dict[str, Instance] = {}
        self.problems: list[RowProblem] = []
        self.notes: list[str] = []

    def row(self, cells: Mapping[str, object], where: str, *, identifier: object) -> None:
        """Takes one row, cells by flattened column, as an instance or as a problem."""
        try:
            instance = _instance(cells, identifier)
        except ValueError as problem:
            self.problems.append(RowProblem(where, str(problem)))
            return
        if instance.id in self.instances:
            self.problems.append(RowProblem(where, f"the id {instance.id!r} stands twice."))
            return
        self.instances[instance.id] = instance

    def result(self, *, lenient: bool) -> Instances:
        if self.problems and not lenient:
            shown = "\n".join(f"  {problem}" for problem in self.problems[:SHOWN])
            more = f"\n  and {len(self.problems) - SHOWN} more" if len(self.problems) > SHOWN else ""
            rows = len(self.problems) + len(self.instances)
            raise DataError(
                f"{len(self.problems)} of {rows} rows cannot be used:\n{shown}{more}\n",
                where="F²Bench",
                hint="Mend them, or give --lenient to use the rest.",
            )
        found = tuple(self.instances.values())
        if not found:
            shown = "".join(f"\n  {problem}" for problem in self.problems[:SHOWN])
            raise DataError(f"no row can be used.{shown}\n", where="F²Bench", hint="Give rows to ask about.")
        absent = [category.value for category in Category if category not in {each.category for each in found}]
        if absent:
            self.notes.append(f"{len(Category) - len(absent)} of {len(Category)} categories: no {', '.join(absent)}")
        return Instances(found, tuple(self.problems), tuple(self.notes))


def _instance(cells: Mapping[str, object], identifier: object) -> Instance:
    """An instance. Raises `ValueError` saying what is wrong with the cells."""
    texts = {key: " ".join(str(cells[key]).split()) if cells.get(key) is not None else "" for key in FIELDS}
    lacking = [FIELDS[key] for key, text in texts.items() if not text]
    if lacking:
        raise ValueError(f"lacks {', '.join(lacking)}.")
    if not isinstance(identifier, str) or not identifier:
        raise ValueError("lacks an id.")
    name = _flat(texts["primarycategory"])
    if name not in CATEGORIES:
        known = did_you_mean(name, [category.value for category in Category])
        raise ValueError(f"{texts['primarycategory']!r} is no category. {known}")
    if texts["type"] not in ("0", "1", "0.0", "1.0"):
        raise ValueError(f"{texts['type']!r} is no type: 0 is a fact, 1 a stereotype.")
    provenance = cells.get("provenance")
    if provenance is not None and provenance not in list(FactSource):
        raise ValueError(f"{provenance!r} is no provenance: A was read in a document, B is recalled.")
    source = cells.get("source")
    return Instance(
        id=identifier,
        category=CATEGORIES[name],
        secondary=_secondary(texts["secondarycategory"]),
        kind=InstanceKind(int(float(texts["type"]))),
        group1=texts["demogroup1"],
        group2=texts["demogroup2"],
        attribute1=texts["groupattr1"],
        attribute2=texts["groupattr2"],
        paragraph=texts["paragraph"],
        fact=texts["givenfact"],
        source=str(source) if source else None,
        provenance=FactSource(str(provenance)) if provenance else None,
    )


def _secondary(text: str) -> str | None:
    """A known category under its own word; the workbooks hold a few other words, which stay."""
    name = _flat(text)
    if name in NO_SECONDARY:
        return None
    return CATEGORIES[name].value if name in CATEGORIES else text.lower()


def _flat(text: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(text).lower())


# --- Workbooks ----------------------------------------------------------------------------------------------------


def _openpyxl() -> Any:
    try:
        return importlib.import_module("openpyxl")
    except ImportError as problem:
        raise ConfigError("reading workbooks needs openpyxl.", where="--f2bench", hint=INSTALL) from problem


# Of a workbook: bytes of the file, and of all its parts unpacked; rows and columns of a sheet.
MOST_PACKED, MOST_UNPACKED = 2**25, 2**26
MOST_TAGS = 2 * 10**6  # in all its parts: elements become objects. Published workbooks have 22,133 at most
MOST_ROWS, MOST_COLUMNS = 20_000, 64
SHOWN_FAULT = 200  # characters
DECLARATION = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def _bounded(path: Path) -> BytesIO:
    """A workbook's bytes. Raises OSError, ValueError or BadZipFile for one that would fill the memory."""
    content = read_bytes(path, MOST_PACKED)
    with zipfile.ZipFile(BytesIO(content)) as packed:
        unpacked = sum(each.file_size for each in packed.infolist())
        if unpacked > MOST_UNPACKED:
            raise ValueError(f"it has {unpacked:,} bytes unpacked, more than {MOST_UNPACKED:,}")
        tags = 0
        for name in packed.namelist():
            # In UTF-16 too: no workbook declares a type or an entity.
            part = packed.read(name).replace(b"\0", b"")
            if DECLARATION.search(part):
                raise ValueError(f"its part {name} declares a type or an entity")
            tags += part.count(b"<")
            if tags > MOST_TAGS:
                raise ValueError(f"it has more than {MOST_TAGS:,} tags, up to its part {name}")
    return BytesIO(content)


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def _rows(sheet: Any) -> list[Sequence[object]]:
    rows = list(islice(sheet.iter_rows(values_only=True, max_col=MOST_COLUMNS), MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        raise ValueError(f"a sheet has more than {MOST_ROWS:,} rows")
    return rows


def _read_workbook(openpyxl: Any, path: Path, reading: _ReadRows) -> None:
    try:
        with warnings.catch_warnings():
            # openpyxl warns of styles and extensions that it does not keep; only cells are read here.
            warnings.simplefilter("ignore")
            book = openpyxl.load_workbook(_bounded(path), read_only=True, data_only=True)
            sheets = [(_printable(sheet.title), _rows(sheet)) for sheet in book.worksheets]
            book.close()
    except Exception as fault:  # noqa: BLE001 - readers of packed XML raise nearly anything on hostile bytes
        said = _printable(str(fault))[:SHOWN_FAULT] or type(fault).__name__
        reading.problems.append(RowProblem(str(path), f"cannot be read as a workbook ({said})."))
        return
    data = 0
    for title, rows in sheets:
        where = f"{path.name}, sheet {title}"
        header = [_flat(cell) for cell in rows[0]] if rows else []
        named = [key for key in FIELDS if key in header]
        if len(named) < HEADER_AT_LEAST:
            reading.notes.append(f"{where}: no header, not read")
            continue
        data += 1
        # The published workbooks have one sheet of data each, and ids without it.
        prefix = path.stem.lower() if data == 1 else f"{path.stem}-{_flat(title)}".lower()
        if lacking := [FIELDS[key] for key in FIELDS if key not in named]:
            reading.problems.append(RowProblem(where, f"the header lacks {', '.join(lacking)}."))
            continue
        _read_rows(prefix, where, header, rows[1:], reading)
    if not data:
        reading.problems.append(RowProblem(str(path), f"no sheet has the columns {', '.join(FIELDS.values())}."))


def _read_rows(
    prefix: str, where: str, header: Sequence[str], rows: Iterable[Sequence[object]], reading: _ReadRows
) -> None:
    for number, cells in enumerate(rows, start=2):
        if all(cell is None or not str(cell).strip() for cell in cells):
            continue
        columns = {key: cells[header.index(key)] for key in FIELDS if header.index(key) < len(cells)}
        reading.row(columns, f"{where}, row {number}", identifier=f"{prefix}-{number}")
