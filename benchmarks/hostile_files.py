"""Files that somebody changed: how many are read, how many refused, in what time and memory (docs/faults.md).

Run it:  python -m benchmarks.hostile_files --files 300

The files are those of tests/property/test_hostile_files.py, more of them; each kind is read in a process of its own.
Any end of a reader but its value or a FairgateError (exit 4 of a run, 7 of a command) stops the measurement.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import resource
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fairgate.benchmarks.fact_or_fair.data import default_root
from fairgate.benchmarks.fact_or_fair.data import load as load_dataset
from fairgate.benchmarks.registry import registry
from fairgate.cli import main as cli
from fairgate.core.errors import FairgateError
from fairgate.core.layout import THRESHOLDS
from fairgate.gating import thresholds
from fairgate.runs.rescoring import judged_again
from tests.property import test_hostile_files as corpus

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

READ, REFUSED = "read", "refused"


@dataclass(frozen=True)
class Measured:
    """What became of the files of one kind. `mebibytes`: by how much the process grew beyond its own libraries."""

    kind: str
    ends: Counter[str]
    seconds: float
    mebibytes: float

    def row(self) -> str:
        files = f"{self.ends.total():,} | {self.ends[READ]:,} | {self.ends[REFUSED]:,}"
        return f"| {self.kind} | {files} | {self.seconds:.2f} | {self.mebibytes:.0f} |"


def kinds() -> list[str]:
    data = sorted(path.name for path in default_root().iterdir() if path.is_file())
    return [*corpus.JSON, "limits and prices", *[f"data: {name}" for name in data], *OTHERS]


def a_json_file(kind: str, folder: Path) -> tuple[SearchStrategy[bytes], Callable[[bytes], object]]:
    make, reader, _ = corpus.JSON[kind]
    return corpus.changed(make()), _written(folder / "file.json", reader)


def some_limits(_: str, folder: Path) -> tuple[SearchStrategy[bytes], Callable[[bytes], object]]:
    text = THRESHOLDS.read_text(encoding="utf-8") + corpus.PRICES
    return corpus.relined(text), _written(folder / "limits.toml", lambda path: thresholds.load(path, registry()))


def some_data(kind: str, folder: Path) -> tuple[SearchStrategy[bytes], Callable[[bytes], object]]:
    name = kind.removeprefix("data: ")
    text = (default_root() / name).read_text(encoding="utf-8")
    files = corpus.changed(text) if name.endswith(".json") else corpus.relined(text)
    return files, _written(folder / name, lambda _: load_dataset(overlay=folder))


def a_note(_: str, folder: Path) -> tuple[SearchStrategy[bytes], Callable[[bytes], object]]:
    whole, path = folder / "whole.sqlite", folder / "edited.sqlite"
    corpus.a_ledger(whole)
    with closing(sqlite3.connect(whole)) as database:
        [[about]] = database.execute("SELECT about FROM runs")

    def use(content: bytes) -> None:
        shutil.copy(whole, path)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE runs SET about = ?", (content.decode("utf-8", "replace"),))
        judged_again(path)

    return corpus.changed(about), use


def some_bytes(kind: str, folder: Path) -> tuple[SearchStrategy[bytes], Callable[[bytes], object]]:
    content, reader, name = corpus.BINARY[kind](folder)
    return corpus.bitten(content), _written(folder / name, reader)


OTHERS: dict[str, Callable[[str, Path], tuple[SearchStrategy[bytes], Callable[[bytes], object]]]] = {
    "note of a run": a_note,
    **dict.fromkeys(corpus.BINARY, some_bytes),
}


def _written(path: Path, reader: Callable[[Path], object]) -> Callable[[bytes], object]:
    def use(content: bytes) -> object:
        path.write_bytes(content)
        return reader(path)

    return use


def measured(kind: str, files: int) -> Measured:
    """Many changed files of this kind, the same ones each time."""
    ends, longest = Counter[str](), 0.0
    make = OTHERS.get(kind) or (
        a_json_file if kind in corpus.JSON else some_limits if kind == "limits and prices" else some_data
    )
    with tempfile.TemporaryDirectory() as folder:
        strategy, use = make(kind, Path(folder))

        @settings(
            max_examples=files,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def each(content: bytes) -> None:
            nonlocal longest
            began = time.perf_counter()
            try:
                refused = use(content) is corpus.REFUSED
            except FairgateError:
                refused = True
            ends[REFUSED if refused else READ] += 1
            longest = max(longest, time.perf_counter() - began)

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        each()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Measured(kind, ends, longest, grown / 1024)


def rows_of_a_ledger(files: int) -> Measured:
    """One cell of a ledger changed, read by `ledger show`, `verify` and `export`."""
    ends, longest = Counter[str](), 0.0
    with tempfile.TemporaryDirectory() as folder:
        whole, path = Path(folder) / "whole.sqlite", Path(folder) / "edited.sqlite"
        corpus.a_ledger(whole)

        @settings(
            max_examples=files,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.sampled_from(corpus.columns(whole)), corpus.CELLS, st.sampled_from(corpus.COMMANDS))
        def each(place: tuple[str, str], value: object, command: list[str]) -> None:
            nonlocal longest
            shutil.copy(whole, path)
            with closing(sqlite3.connect(path)) as database, database, suppress(sqlite3.IntegrityError):
                database.execute(f"UPDATE OR IGNORE {place[0]} SET {place[1]} = ?", (value,))  # noqa: S608 - our own names
            said, began = io.StringIO(), time.perf_counter()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                code = cli.main(["ledger", str(path), *command])
            ends[{0: READ, 7: REFUSED}[code]] += 1
            longest = max(longest, time.perf_counter() - began)

        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        each()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return Measured("cell of a ledger", ends, longest, grown / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=300, help="of each kind")
    parser.add_argument("--only", nargs="*", help="kinds whose names hold one of these")
    options = parser.parse_args()
    print("| kind | files | read | refused | longest s | MiB |\n| --- | --- | --- | --- | --- | --- |")
    spawn = get_context("spawn")
    for kind in kinds():
        if not options.only or any(part in kind for part in options.only):
            with ProcessPoolExecutor(1, mp_context=spawn) as alone:
                print(alone.submit(measured, kind, options.files).result().row(), flush=True)
    if not options.only or "cell" in options.only:
        with ProcessPoolExecutor(1, mp_context=spawn) as alone:
            print(alone.submit(rows_of_a_ledger, options.files).result().row(), flush=True)


if __name__ == "__main__":
    main()
