"""Result folders of the original Fact-or-Fair program, read as models of their own.

Two layouts. Language models (the program's `large_language_model`):

    objective_test/results/<date>/<model>/<statistic>_<model>.json
    subjective_test/results/<date>/<context>/<high|low>/<model>/<attribute>/<statistic>.csv

and text-to-image models (its `text_to_image_model`):

    <objective_test|subjective_test>/Distribution/<model>_count.csv
    <objective_test|subjective_test>/Distribution/<model>_distribution.csv

Everything in them is data: nothing is executed, and whatever cannot be read is a DataError that names file, key and
value. A topic that has no file, or no row, is listed as missing; it is never a zero that counts.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.core.domain import Modality
from fairgate.core.errors import DataError, did_you_mean
from fairgate.core.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.fact_or_fair.data import Attribute, Dataset

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LEVELS = tuple(Level)
OBJECTIVE_LEVELS = {"highest": Level.HIGH, "lowest": Level.LOW}
CONTEXT_FOLDERS = {
    "baseline": Context.BASE,
    "representativeness_bias": Context.REPRESENTATIVENESS,
    "attribution_error": Context.ATTRIBUTION,
    "group_bias": Context.INGROUP,
}
SUBJECTIVE_COLUMNS = ("Category", "Selection Count", "Successful Background", "Total Count")
COUNT_COLUMNS = ("Category", "High or Low", "Gender Count", "Race Count")
SHARE_COLUMNS = ("Category", "High or Low", "Gender Distribution", "Race Distribution")
REFUSED = "refused"

# The labels of the two face detectors that the program has used, beside the groups' own names.
ALIASES = {"man": "male", "woman": "female", "latino hispanic": "hispanic", "latino_hispanic": "hispanic"}

# The program's files are a few kilobytes, its cells a few words, its counts below a thousand.
LARGEST_FILE = 4 * 2**20
LONGEST_CELL = 4096
LARGEST_COUNT = 10**9


@dataclass(frozen=True, eq=False)
class ResultCounts:
    """The answers of one task, context and attribute, as a folder holds them.

    Arrays over S statistics, two levels (0 high, 1 low) and k groups: `chosen` [S, 2, k] answers (or faces) by group;
    `refused` [S, 2], known for objective text alone, since the program drops the others; `named_picks` [S, 2] answers
    in the group that the context named; `shown` [S, 2, k] options of each group on offer in answered subjective
    queries; `listed` [S, 2, k] which groups the topic's file has a row for (all, where the layout has no such rows).
    `counted` [S, 2] is False where only shares are known: `chosen` is 0 there. `rounded` [S, 2, k] are the shares of
    two decimals that the text-to-image program works with, NaN where it has no row, and for language models.
    """

    modality: Modality
    task: Task
    context: Context | None
    attribute: str
    statistics: tuple[str, ...]
    groups: tuple[str, ...]
    chosen: IntArray
    refused: IntArray
    named_picks: IntArray
    shown: IntArray
    listed: BoolArray
    counted: BoolArray
    rounded: FloatArray

    @property
    def answered(self) -> IntArray:
        """Answers (or faces) by topic, [S, 2]; 0 where only shares are known."""
        answered: IntArray = self.chosen.sum(axis=-1)
        return answered

    @property
    def present(self) -> BoolArray:
        """Whether the folder says anything of the topic, [S, 2]."""
        present: BoolArray = np.any(self.listed, axis=2)
        return present

    @property
    def shares(self) -> FloatArray:
        """The distribution by topic, [S, 2, k]: of the counts, else of the rounded shares; NaN where there is none."""
        weights = np.where(self.counted[..., np.newaxis], self.chosen, np.nan_to_num(self.rounded))
        total = weights.sum(axis=-1, keepdims=True)
        shares: FloatArray = np.divide(weights, total, out=np.full(weights.shape, np.nan), where=total > 0)
        return shares


@dataclass(frozen=True)
class ResultFolder:
    """One model's results: the counts that there are, what is missing, and what the reader should know."""

    model: str
    counts: tuple[ResultCounts, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    def of(self, task: Task, context: Context | None, attribute: str) -> ResultCounts | None:
        """The counts of a task, context and attribute; None where the folder has none of them."""
        wanted = (task, context, attribute)
        return next((each for each in self.counts if (each.task, each.context, each.attribute) == wanted), None)


def read_llm(root: Path, dataset: Dataset) -> ResultFolder:
    """A language model's results below `root`, or below its parent for the model that the last part names.

    The newest date of each task is read, and a note says so where there are others.
    """
    base, wanted = _split(root)
    folders = {
        task: folder for task in OWN_TASKS if (folder := _task_folder(base, task, "large_language_model", "results"))
    }
    if not folders:
        raise DataError(
            "holds neither objective_test/results nor subjective_test/results." if root.exists() else "no such folder.",
            where=str(root),
            hint="Name the folder of the original program's language-model tests.",
        )
    runs = {task: _llm_runs(task, folder) for task, folder in folders.items()}
    model = _choose(base, wanted, {name for by_date in runs.values() for names in by_date.values() for name in names})
    reading = _Reading(Modality.TEXT, dataset)
    for task, folder in folders.items():
        dates = sorted(date for date, names in runs[task].items() if model in names)
        if not dates:
            continue
        if len(dates) > 1:
            older = ", ".join(dates[:-1])
            reading.notes.append(f"{task}: the newest results are read, of {dates[-1]}; those of {older} are not.")
        read = _read_objective if task is Task.OBJECTIVE else _read_subjective
        read(reading, folder / dates[-1], model)
    return reading.done(model)


def read_t2i(root: Path, dataset: Dataset) -> ResultFolder:
    """A text-to-image model's results below `root`, or below its parent for the model that the last part names.

    Counts are read where there are any, else shares of two decimals. A `Distribution` folder outside objective_test
    and subjective_test does not say what it holds: it is read for both tasks, and a note says so.
    """
    base, wanted = _split(root)
    folders = {
        task: folder
        for task in OWN_TASKS
        if (folder := _task_folder(base, task, "text_to_image_model", "Distribution"))
    }
    reading = _Reading(Modality.IMAGE, dataset)
    bare = base if base.name == "Distribution" else base / "Distribution"
    if not folders and bare.is_dir():
        folders = dict.fromkeys(OWN_TASKS, bare)
        reading.notes.append(
            f"{bare} stands outside objective_test and subjective_test: it is read for objective and subjective alike."
        )
    if not folders:
        raise DataError(
            "holds no Distribution folder." if root.exists() else "no such folder.",
            where=str(root),
            hint="Name the folder that holds objective_test/Distribution or subjective_test/Distribution.",
        )
    models = {task: _t2i_models(folder) for task, folder in folders.items()}
    model = _choose(base, wanted, {name for names in models.values() for name in names})
    for task, folder in folders.items():
        if model in models[task]:
            _read_distribution(reading, task, folder, model)
    return reading.done(model)


@dataclass
class _Reading:
    """One pass over a folder: finds the places of names in the arrays, and gathers what was read and what was not."""

    modality: Modality
    dataset: Dataset
    tables: dict[tuple[Task, Context | None, str], ResultCounts] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def done(self, model: str) -> ResultFolder:
        return ResultFolder(model, tuple(self.tables.values()), tuple(self.missing), tuple(self.notes))

    def table(self, task: Task, context: Context | None, attribute: Attribute) -> ResultCounts:
        """The counts of this task, context and attribute; empty at first, then filled as the files are read."""
        key = (task, context, attribute.name)
        if key not in self.tables:
            statistics = tuple(statistic.slug for statistic in self.dataset.statistics)
            groups = tuple(group.name for group in attribute.groups)
            topics = (len(statistics), len(LEVELS))
            cells = (*topics, len(groups))
            self.tables[key] = ResultCounts(
                self.modality,
                *key,
                statistics,
                groups,
                chosen=np.zeros(cells, dtype=np.int64),
                refused=np.zeros(topics, dtype=np.int64),
                named_picks=np.zeros(topics, dtype=np.int64),
                shown=np.zeros(cells, dtype=np.int64),
                listed=np.zeros(cells, dtype=np.bool_),
                counted=np.ones(topics, dtype=np.bool_),
                rounded=np.full(cells, np.nan),
            )
        return self.tables[key]

    def statistic(self, name: str, where: str) -> int:
        """The place of a statistic, by its name as the program writes it: with blanks, hyphens or underscores."""
        known = {
            _hyphened(word): i for i, each in enumerate(self.dataset.statistics) for word in (each.name, each.slug)
        }
        if _hyphened(name) not in known:
            raise DataError(
                f"{_shown(name)} is not a statistic.", where=where, hint=did_you_mean(_hyphened(name), known)
            )
        return known[_hyphened(name)]

    def attribute(self, name: str, where: str) -> Attribute:
        known = {each.name: each for each in self.dataset.attributes}
        if name not in known:
            raise DataError(f"{_shown(name)} is not an attribute.", where=where, hint=did_you_mean(name, known))
        return known[name]


def _group(label: object, groups: Sequence[str], where: str) -> int:
    """The place of a group, by its own name or a face detector's, in any case of letters."""
    known = {name.casefold(): i for i, name in enumerate(groups)}
    word = label.strip().casefold() if isinstance(label, str) else ""
    word = word if word in known else ALIASES.get(word, word)
    if word not in known:
        raise DataError(f"{_shown(label)} is not a group.", where=where, hint=did_you_mean(word, groups))
    return known[word]


def _read_objective(reading: _Reading, run: Path, model: str) -> None:
    files = _by_statistic(reading, run / model, "json")
    tables = {each.name: reading.table(Task.OBJECTIVE, None, each) for each in reading.dataset.attributes}
    for i, statistic in enumerate(reading.dataset.statistics):
        if i not in files:
            reading.missing.append(f"{Task.OBJECTIVE} {statistic.slug}")
            continue
        content = _json_object(files[i])
        for name in content:
            reading.attribute(name, str(files[i]))
        for name, table in tables.items():
            place = f"{files[i]}, {name}"
            levels = _levels(content.get(name, {}), place)
            # An empty object is how the program writes that the statistic lacks the attribute.
            if not levels and name not in statistic.attributes:
                continue
            for key, level in OBJECTIVE_LEVELS.items():
                if key in levels:
                    _add_answers(table, (i, LEVELS.index(level)), levels[key], f"{place}.{key}")
                else:
                    reading.missing.append(f"{Task.OBJECTIVE} {statistic.slug} {name} {level}")


def _levels(content: object, where: str) -> dict[str, object]:
    hint = f"Write an object with {' and '.join(OBJECTIVE_LEVELS)}, or {{}} where the statistic lacks the attribute."
    if not isinstance(content, dict):
        raise DataError(f"{_shown(content)} is not an object of levels.", where=where, hint=hint)
    for level in content:
        if level not in OBJECTIVE_LEVELS:
            raise DataError(f"{_shown(level)} is not a level.", where=where, hint=hint)
    return content


def _add_answers(table: ResultCounts, topic: tuple[int, int], answers: object, where: str) -> None:
    if not isinstance(answers, list):
        raise DataError(f"{_shown(answers)} is not a list of answers.", where=where, hint="Write a list of groups.")
    table.listed[topic] = True
    for n, answer in enumerate(answers):
        if isinstance(answer, str) and answer.strip().casefold() == REFUSED:
            table.refused[topic] += 1
        else:
            table.chosen[topic][_group(answer, table.groups, f"{where}[{n}]")] += 1


def _read_subjective(reading: _Reading, run: Path, model: str) -> None:
    for name in sorted(entry.name for entry in _folders(run)):
        if name not in CONTEXT_FOLDERS:
            reading.notes.append(f"{run / name} is not read: the contexts are {', '.join(CONTEXT_FOLDERS)}.")
    for name, context in CONTEXT_FOLDERS.items():
        homes = {level: run / name / level / model for level in LEVELS}
        if not any(home.is_dir() for home in homes.values()):
            reading.missing.append(f"{Task.SUBJECTIVE} {context}")
            continue
        for attribute in reading.dataset.attributes:
            table = reading.table(Task.SUBJECTIVE, context, attribute)
            for level, home in homes.items():
                files = _by_statistic(reading, home / attribute.name, "csv")
                for i, statistic in enumerate(reading.dataset.statistics):
                    if i in files:
                        _add_picks(reading, table, (i, LEVELS.index(level)), files[i])
                    else:
                        topic = f"{statistic.slug} {attribute.name} {level}"
                        reading.missing.append(f"{Task.SUBJECTIVE} {context} {topic}")


def _add_picks(reading: _Reading, table: ResultCounts, topic: tuple[int, int], path: Path) -> None:
    rows = _rows(path, SUBJECTIVE_COLUMNS)
    seen: set[int] = set()
    runs = 1
    for n, cells in rows:
        where = f"{path}, line {n}"
        if tuple(cells.values()) == SUBJECTIVE_COLUMNS:
            # The program appends: a second run on the same day adds its own header and rows.
            runs, seen = runs + 1, set()
            continue
        group = _group(cells["Category"], table.groups, where)
        if group in seen:
            raise DataError(f"{_shown(cells['Category'])} stands here twice.", where=where, hint="Keep one row.")
        seen.add(group)
        picks, named, shown = (_count(cells[column], f"{where}, {column}") for column in SUBJECTIVE_COLUMNS[1:])
        if not named <= picks <= shown:
            reading.notes.append(
                f"{where}: Successful Background {named}, Selection Count {picks} and Total Count {shown} contradict "
                "each other; each is taken as it is."
            )
        table.chosen[topic][group] += picks
        table.shown[topic][group] += shown
        table.named_picks[topic] += named
        table.listed[topic][group] = True
    if runs > 1:
        reading.notes.append(f"{path} holds {runs} runs, one below the other: their counts are added up.")


def _read_distribution(reading: _Reading, task: Task, folder: Path, model: str) -> None:
    """Rows of counts; shares where the counts have no row; an error where the two contradict each other."""
    counted = _topic_cells(reading, folder / f"{model}_count.csv", COUNT_COLUMNS)
    shared = _topic_cells(reading, folder / f"{model}_distribution.csv", SHARE_COLUMNS)
    without = 0
    for i, statistic in enumerate(reading.dataset.statistics):
        for j, level in enumerate(LEVELS):
            if (i, j) not in counted and (i, j) not in shared:
                reading.missing.append(f"{task} {statistic.slug} {level}")
            without += (i, j) in shared and (i, j) not in counted
    if without:
        reading.notes.append(f"{task}: {without} topics have shares of two decimals, and no counts of faces.")
    for attribute in reading.dataset.attributes:
        column = attribute.name.casefold()
        table = reading.table(task, None, attribute)
        for topic, (where, cells) in counted.items():
            table.chosen[topic] = _dict_of_counts(cells[column], table.groups, f"{where}, {attribute.name} counts")
            table.rounded[topic] = _rounded(table.chosen[topic])
            table.listed[topic] = True
        for topic, (where, cells) in shared.items():
            place = f"{where}, {attribute.name} shares"
            shares = _dict_of_shares(cells[column], table.groups, place)
            if topic not in counted:
                table.rounded[topic], table.listed[topic], table.counted[topic] = shares, True, False
            elif np.any(np.abs(shares - table.rounded[topic]) > 0.01 + 1e-9):
                raise DataError(
                    f"the shares {_pretty(shares)} are not those of the counts, {_pretty(table.rounded[topic])}.",
                    where=place,
                    hint="Remove the file that is out of date.",
                )


def _topic_cells(
    reading: _Reading, path: Path, columns: Sequence[str]
) -> dict[tuple[int, int], tuple[str, dict[str, str]]]:
    """Topic -> where its row stands, and its cells by attribute; nothing where there is no such file."""
    topics: dict[tuple[int, int], tuple[str, dict[str, str]]] = {}
    if not path.is_file():
        return topics
    for n, cells in _rows(path, columns):
        where = f"{path}, line {n}"
        level = cells["High or Low"].strip().casefold()
        if level not in LEVELS:
            raise DataError(f"{_shown(cells['High or Low'])} is not a level.", where=where, hint="Write high or low.")
        topic = (reading.statistic(cells["Category"], where), LEVELS.index(Level(level)))
        if topic in topics:
            raise DataError(
                f"{_shown(cells['Category'])} {level} stands here twice.", where=where, hint="Keep one row."
            )
        topics[topic] = where, {column.split()[0].casefold(): cells[column] for column in columns[2:]}
    return topics


def _dict_of_counts(cell: str, groups: Sequence[str], where: str) -> IntArray:
    counts = np.zeros(len(groups), dtype=np.int64)
    for group, value in _printed_dict(cell, groups, where):
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST_COUNT:
            raise DataError(f"{_shown(value)} is not a count.", where=where, hint="Write a whole number of faces.")
        counts[group] = value
    return counts


def _dict_of_shares(cell: str, groups: Sequence[str], where: str) -> FloatArray:
    shares = np.zeros(len(groups))
    named = 0
    for group, value in _printed_dict(cell, groups, where):
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            raise DataError(f"{_shown(value)} is not a share.", where=where, hint="Write a number from 0 to 1.")
        shares[group] = value
        named += 1
    # Each share is rounded to two decimals by itself; an empty dict is a topic without a face.
    if named and abs(shares.sum() - 1) > 0.005 * named + 1e-9:
        raise DataError(
            f"the shares {_pretty(shares)} sum to {shares.sum():.2f}.", where=where, hint="Shares of a topic sum to 1."
        )
    return shares


def _printed_dict(cell: str, groups: Sequence[str], where: str) -> Iterator[tuple[int, object]]:
    """A Python dict as it was printed: group -> value. Read as a literal, so that nothing in it can run."""
    hint = "Write a Python dict such as {'male': 12, 'female': 8}."
    if len(cell) > LONGEST_CELL:
        raise DataError(f"a cell of {len(cell)} characters: {_shown(cell)}.", where=where, hint=hint)
    try:
        content = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise DataError(f"{_shown(cell)} cannot be read.", where=where, hint=hint) from None
    if not isinstance(content, dict):
        raise DataError(f"{_shown(cell)} is not a dict.", where=where, hint=hint)
    seen: set[int] = set()
    for label, value in content.items():
        group = _group(label, groups, where)
        if group in seen:
            raise DataError(f"{_shown(label)} is a second name of a group.", where=where, hint="Add the two up.")
        seen.add(group)
        yield group, value


def _rounded(counts: IntArray) -> FloatArray:
    # Python's rounding, as the program's: numpy's scales first and so differs at exact halves.
    total = int(counts.sum())
    return np.array([round(int(n) / total, 2) if total else 0.0 for n in counts])


def _count(cell: str, where: str) -> int:
    if not re.fullmatch(r"\s*[0-9]{1,10}\s*", cell) or int(cell) > LARGEST_COUNT:
        raise DataError(f"{_shown(cell)} is not a count.", where=where, hint="Write a whole number, 0 or more.")
    return int(cell)


def _split(root: Path) -> tuple[Path, str | None]:
    """The folder, and the model that the path names below it, if it does."""
    if root.is_dir():
        return root, None
    if root.parent.is_dir():
        return root.parent, root.name
    raise DataError("there is no such folder.", where=str(root), hint="Name a result folder, or FOLDER/MODEL in it.")


def _task_folder(base: Path, task: Task, part: str, leaf: str) -> Path | None:
    """`leaf` of a task, whether `base` is the task's folder, that of its part of the program, or the program's."""
    own = f"{task}_test"
    places = [base / leaf] if base.name == own else [base / own / leaf, base / part / own / leaf]
    return next((place for place in places if place.is_dir()), None)


def _choose(base: Path, wanted: str | None, models: Iterable[str]) -> str:
    names = sorted(models)
    if not names:
        raise DataError(
            "holds no results.", where=str(base), hint="Run the original program first, or name its folder."
        )
    if wanted is not None and wanted not in names:
        raise DataError(f"{_shown(wanted)} has no results here.", where=str(base), hint=did_you_mean(wanted, names))
    if wanted is None and len(names) > 1:
        raise DataError(
            f"holds the results of several models: {', '.join(names)}.",
            where=str(base),
            hint=f"Name one, as in {base / names[0]}.",
        )
    return wanted or names[0]


def _llm_runs(task: Task, folder: Path) -> dict[str, set[str]]:
    """Date -> the models that have results of that date."""
    if task is Task.OBJECTIVE:
        return {date.name: {model.name for model in _folders(date)} for date in _folders(folder)}
    return {
        date.name: {
            model.name for context in CONTEXT_FOLDERS for level in LEVELS for model in _folders(date / context / level)
        }
        for date in _folders(folder)
    }


def _t2i_models(folder: Path) -> set[str]:
    return {
        path.name.removesuffix(ending)
        for ending in ("_count.csv", "_distribution.csv")
        for path in folder.glob(f"*{ending}")
        if path.is_file()
    }


def _by_statistic(reading: _Reading, folder: Path, ending: str) -> dict[int, Path]:
    """Statistic -> its file. The name up to the first underscore is the statistic's; the model's may follow."""
    files: dict[int, Path] = {}
    for path in sorted(folder.glob(f"*.{ending}")):
        i = reading.statistic(path.stem.partition("_")[0], str(path))
        if i in files:
            raise DataError(
                f"a second file of one statistic, beside {files[i].name}.", where=str(path), hint="Keep one of them."
            )
        files[i] = path
    return files


def _folders(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []


def _rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The line number and the named cells of each row below the header."""
    reader = csv.reader(io.StringIO(_text(path)))
    hint = f"The columns are {', '.join(columns)}."
    try:
        header = next(reader, [])
        if sorted(header) != sorted(columns):
            raise DataError(f"the header is {_shown(','.join(header))}.", where=str(path), hint=hint)
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise DataError(
                    f"{len(row)} cells: {_shown(','.join(row))}.", where=f"{path}, line {reader.line_num}", hint=hint
                )
            cells = dict(zip(header, row, strict=True))
            yield reader.line_num, {column: cells[column] for column in columns}
    except csv.Error as error:
        raise DataError(f"cannot be read: {error}.", where=f"{path}, line {reader.line_num}", hint=hint) from None


def _json_object(path: Path) -> Mapping[str, object]:
    hint = "Write an object of attributes, each an object of levels, each a list of answers."
    try:
        content = json.loads(_text(path), object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise DataError(f"cannot be read: {_shown(str(error))}.", where=str(path), hint=hint) from None
    if not isinstance(content, dict):
        raise DataError(f"{_shown(content)} is not an object.", where=str(path), hint=hint)
    return content


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    twins = [key for key, n in Counter(key for key, _ in pairs).items() if n > 1]
    if twins:
        raise ValueError(f"the key {twins[0]!r} stands twice in one object")
    return dict(pairs)


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise DataError(f"a file of {size} bytes.", where=str(path), hint=f"The limit is {LARGEST_FILE}.")
        return read_text(path, LARGEST_FILE)
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error.reason}.", where=str(path), hint="Save it as UTF-8.") from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path), hint="Check the file.") from None


def _hyphened(name: str) -> str:
    return re.sub(r"[\s_]+", "-", name.strip()).casefold()


def _pretty(shares: FloatArray) -> str:
    return " ".join(f"{share:.2f}" for share in shares)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
