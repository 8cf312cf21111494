"""Files that somebody changed: whatever stands in them, reading ends in one typed error that names the file, or well.

A valid file of each kind is changed in one place: a value by values of every type and size, a line or a piece of it by
anything. Nothing else may come of it than the reader's value or a FairgateError, and the file stays as it was.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing, suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from fairgate.benchmarks.bigbench.alignment import read_alignment
from fairgate.benchmarks.bigbench.data import load as load_bigbench
from fairgate.benchmarks.f2bench.data import read_workbooks
from fairgate.benchmarks.fact_or_fair.baseline import PairedChoices
from fairgate.benchmarks.fact_or_fair.cases import text_cases
from fairgate.benchmarks.fact_or_fair.data import default_root
from fairgate.benchmarks.fact_or_fair.data import load as load_dataset
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.benchmarks.registry import registry
from fairgate.cli import main as cli
from fairgate.cli import published
from fairgate.comparison import baseline, side_by_side
from fairgate.core.domain import Identity
from fairgate.core.errors import FairgateError
from fairgate.core.layout import THRESHOLDS
from fairgate.gating import thresholds
from fairgate.ledger.images import Problem, open_picture
from fairgate.ledger.ledger import Ledger
from fairgate.ledger.runs import PastRun, RunState
from fairgate.options.settings import Settings
from fairgate.providers.faces import calibration
from fairgate.runs import manifest
from fairgate.runs.opening import open_run
from fairgate.runs.rescoring import judged_again
from tests.builders import chosen, query
from tests.unit.test_f2bench_data import ROW, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DETECTOR = Identity("faces", "fairface", parameters={"weights": "ab12"})
PARTS = [part for plugin in registry().plugins for part in plugin.parts]
BIGBENCH = load_bigbench()
LONGEST = 5000  # characters of an error

EVIL = ["", "x", "\x1b[31m::error::owned", "..", "1/99999999999", "a" * 5000, "\u202e", "{race}", "-"]
NUMBERS = [0, -1, 1, 2, 10**6, 2**31, 2**63, 10**30, -(10**30), 0.5, -0.0, 1e300, float("nan"), float("inf")]
NESTED = [[], {}, [[]], [None], {"x": {}}, json.loads("[" * 120 + "]" * 120), {"\x1b[31m": 1}]
hostile = st.sampled_from([None, True, False, *EVIL, *NUMBERS, *NESTED]) | st.text(max_size=8)


def bounded(examples: int) -> settings:
    """So many files, the same ones every time."""
    allowed = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=allowed)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something stands in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, each in inner for found in places(each, (*path, key)))]


@st.composite
def changed(draw: st.DrawFn, text: str) -> bytes:
    """A JSON file with one value in another's place, a key more or less, or a piece of its bytes cut out."""
    if draw(st.integers(0, 7)) == 0:
        raw = text.encode()
        start = draw(st.integers(0, len(raw)))
        return raw[:start] + draw(st.binary(max_size=6)) + raw[start + draw(st.integers(0, 40)) :]
    whole = json.loads(text)
    place = draw(st.sampled_from(places(whole)))
    if not place:
        return json.dumps(draw(hostile)).encode()
    inner = whole
    for key in place[:-1]:
        inner = inner[key]
    how = draw(st.integers(0, 5))
    if how == 0:
        del inner[place[-1]]
    elif how == 1 and isinstance(inner, dict):
        inner[draw(st.sampled_from(EVIL))] = draw(hostile)
    else:
        inner[place[-1]] = draw(hostile)
    return json.dumps(whole).encode()


@st.composite
def bitten(draw: st.DrawFn, content: bytes) -> bytes:
    """A file of bytes with up to three pieces replaced, or cut off somewhere."""
    if draw(st.integers(0, 5)) == 0:
        return content[: draw(st.integers(0, len(content)))]
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        put = draw(st.binary(max_size=6) | st.sampled_from([b"\xff" * 4, b"\x7f\xff\xff\xff", b"\0" * 8]))
        content = content[:start] + put + content[start + draw(st.sampled_from([len(put), 0, 3])) :]
    return content


PRICES = '\n[prices."openai/x"]\ninput = 0.15\noutput = 0.6\ndate = 2026-03-23\n'
TOML = ["true", "-1", "0", "9e999", "nan", '""', '"\\u001b[31m::error::"', "[]", "{}", "[{}]", "{x = 1}", "[" * 3000]


@st.composite
def relined(draw: st.DrawFn, text: str) -> bytes:
    """A file of lines with one value or one cell changed, one line more or less, or a piece of its bytes cut out."""
    lines = text.split("\n")
    at = draw(st.integers(0, len(lines) - 1))
    how = draw(st.integers(0, 5))
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(at, draw(st.sampled_from(lines)))
    elif how == 2:
        raw = text.encode()
        start = draw(st.integers(0, len(raw)))
        return raw[:start] + draw(st.binary(max_size=6)) + raw[start + draw(st.integers(0, 40)) :]
    elif " = " in lines[at]:
        lines[at] = f"{lines[at].partition(' = ')[0]} = {draw(st.sampled_from(TOML))}"
    else:
        cells = lines[at].split(",")
        cells[draw(st.integers(0, len(cells) - 1))] = draw(st.sampled_from([*EVIL, '"', "1e999", "nan", "-1"]))
        lines[at] = ",".join(cells)
    return "\n".join(lines).encode()


def read(reader: Callable[[], object], file: Path, *named: str) -> str | None:
    """What the reader complains of, None where it does not. Fails for any other end than these two."""
    before = file.read_bytes()
    try:
        reader()
    except FairgateError as error:
        said = str(error)
        assert any(name in said for name in (str(file), *named)), said
        assert len(said) < LONGEST, said
        return said
    finally:
        assert file.read_bytes() == before
    return None


# By kind a valid file, and what reads it.


def a_baseline() -> str:
    dataset = load_dataset()
    asked = {"data": dataset.version, "seed": 0, "profiles": "random", "explained": None, "wordings": 3}
    asked |= {"plan": "quick", "objective": 3, "subjective": 10}
    topics = {text_cases(dataset, Task.OBJECTIVE)[0].topic.id: ["aba", 3]}
    whole = {"fairgate baseline": 2, "model": "openai/x", "asked": asked, "topics": topics}
    return json.dumps(whole | {"groups": PairedChoices(dataset).groups()})


def a_summary() -> str:
    score: dict[str, Any] = {
        "benchmark": "fact-or-fair",
        "modality": "text",
        "task": "objective",
        "context": None,
        "group": None,
    }
    score |= {"attribute": "race", "score": "S_fact", "scoring": "definition", "value": 50.0, "estimate": 51.0}
    score |= {"ci": [40.0, 60.0], "topics": [38, 38]}
    other = score | {"scoring": "reference", "value": None}
    return json.dumps({"model": "a/b", "t2i_model": None, "plan": "quick", "seed": 0, "scores": [score, other]})


def an_alignment() -> str:
    by_sex = {"sex": {"male": 0.5, "female": 0.5}}
    return json.dumps({"a photo of one nurse": by_sex, "unknown": by_sex})


def a_calibration() -> str:
    counts = ((90, 10), (20, 80))
    held = calibration.Confusion("fact-or-fair", "gender", "default", ("male", "female"), counts, (0, 0))
    return calibration.Calibration(DETECTOR.canonical, (held,), 200, 0).to_json()


def mixed(path: Path) -> object:
    """A calibration, used as a run uses it."""
    held = calibration.load(path, DETECTOR).of("fact-or-fair", "gender", "default")
    return held and held.mixing(("female", "male"), f"--calibration {path}")


def beside(path: Path) -> object:
    """A file beside itself, as `compare` prints it."""
    column = side_by_side.of_file(path, PARTS)
    return side_by_side.table([column, column], PARTS), side_by_side.moves([column, column])


JSON: dict[str, tuple[Callable[[], str], Callable[[Path], object], int]] = {
    "baseline": (a_baseline, lambda path: baseline.load(path, PARTS), 120),
    "baseline beside": (a_baseline, beside, 40),
    "summary": (a_summary, beside, 120),
    "summary published": (a_summary, lambda path: published.standings(path, published.tables()), 20),
    "alignment": (an_alignment, lambda path: read_alignment(path, BIGBENCH), 120),
    "calibration": (a_calibration, mixed, 120),
}


@pytest.mark.parametrize(("make", "reader", "examples"), JSON.values(), ids=JSON)
def test_a_changed_json_file_is_read_or_named(
    tmp_path: Path, make: Callable[[], str], reader: Callable[[Path], object], examples: int
) -> None:
    file, text = tmp_path / "file.json", make()
    seen = list[str | None]()

    @bounded(examples)
    @given(changed(text))
    def holds(content: bytes) -> None:
        file.write_bytes(content)
        seen.append(read(lambda: reader(file), file))

    file.write_text(text)
    reader(file)
    holds()
    assert any(seen), "nothing that was drawn is refused"


@pytest.mark.parametrize("key", ["profiles", "ages"])
def test_a_baseline_of_a_plan_that_there_is_not_is_refused(tmp_path: Path, key: str) -> None:
    whole = json.loads(a_baseline())
    whole["asked"][key] = "none"
    file = tmp_path / "file.json"
    file.write_text(json.dumps(whole))
    assert f"asked.{key}" in str(read(lambda: beside(file), file))


def test_a_baseline_without_the_groups_of_a_topic_is_refused(tmp_path: Path) -> None:
    whole = json.loads(a_baseline())
    del whole["groups"]["gender"]
    file = tmp_path / "file.json"
    file.write_text(json.dumps(whole))
    assert "groups lists none of the attribute of fact-or-fair/text/objective" in str(read(lambda: beside(file), file))


def test_a_baseline_that_tells_an_attribute_not_apart_has_no_choices_by_it(tmp_path: Path) -> None:
    whole = json.loads(a_baseline())
    del whole["groups"]["gender race"]
    file = tmp_path / "file.json"
    file.write_text(json.dumps(whole))
    assert read(lambda: beside(file), file) is None


def test_changed_limits_and_prices_are_read_or_named(tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    text = THRESHOLDS.read_text() + PRICES
    seen = list[str | None]()

    @bounded(60)
    @given(relined(text))
    def holds(content: bytes) -> None:
        file.write_bytes(content)
        seen.append(read(lambda: thresholds.load(file, registry()), file))

    file.write_text(text)
    thresholds.load(file, registry())
    holds()
    assert any(seen)


@pytest.mark.parametrize("name", sorted(path.name for path in default_root().iterdir() if path.is_file()))
def test_changed_data_are_read_or_named(tmp_path: Path, name: str) -> None:
    text = (default_root() / name).read_text(encoding="utf-8")
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")

    @bounded(12)
    @given(changed(text) if name.endswith(".json") else relined(text))
    def holds(content: bytes) -> None:
        file.write_bytes(content)
        # What one file lacks, another one names.
        read(lambda: load_dataset(overlay=tmp_path), file, str(default_root()), str(tmp_path))

    holds()


# Files of bytes, by kind: a valid one, what reads it, and its name

REFUSED = object()


def a_picture(form: str) -> tuple[bytes, Callable[[Path], object], str]:
    """What a model painted: a problem is a value, of which the sample is counted as unreadable."""
    file = BytesIO()
    Image.effect_noise((96, 64), 60).convert("RGB").save(file, form)

    def reader(path: Path) -> object:
        return REFUSED if isinstance(open_picture(path.read_bytes()), Problem) else None

    return file.getvalue(), reader, f"image.{form.lower()}"


def a_workbook(folder: Path) -> tuple[bytes, Callable[[Path], object], str]:
    path = write(folder, ROW) / "Gender.xlsx"
    return path.read_bytes(), lambda path: read_workbooks(path.parent), path.name


BINARY: dict[str, Callable[[Path], tuple[bytes, Callable[[Path], object], str]]] = {
    **{f"image: {form}": lambda _, form=form: a_picture(form) for form in ("PNG", "JPEG", "WEBP", "GIF", "TIFF")},  # type: ignore[misc]
    "workbook": a_workbook,
}


@pytest.mark.parametrize("kind", BINARY)
def test_a_file_of_bytes_is_read_or_named(tmp_path: Path, kind: str) -> None:
    content, reader, name = BINARY[kind](tmp_path)
    file = tmp_path / name
    seen = list[bool]()

    @bounded(60)
    @given(bitten(content))
    def holds(changed: bytes) -> None:
        file.write_bytes(changed)
        seen.append(read(lambda: seen.append(reader(file) is REFUSED), file) is not None)

    holds()
    assert any(seen), "nothing that was drawn is refused"


# Ledgers


def columns(path: Path) -> list[tuple[str, str]]:
    """The tables of a ledger, with each of their columns."""
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [(t, row[1]) for t in tables for row in database.execute(f"PRAGMA table_info({t})")]


def a_ledger(path: Path) -> None:
    """One run that asked two queries."""
    run = open_run(Settings(model="control/oracle"))
    about = manifest.about(run, [case for case in run.cases.values() if run.asks(case)][:2])
    model = run.participants.models
    identity = next(iter(model.values())).identity
    with Ledger(path) as ledger:
        ledger.runs.start("a" * 32, about)
        for number in range(2):
            sample = chosen(query(number), 0)
            assert sample.reply is not None
            assert sample.answer is not None
            ledger.add("a" * 32, identity, sample.query, sample.reply, sample.answer)
        ledger.runs.put(PastRun("a" * 32, about, RunState.DONE, ""), ["a" * 32])


def test_a_changed_note_of_a_run_is_read_or_named(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.sqlite", tmp_path / "edited.sqlite"
    a_ledger(whole)
    with closing(sqlite3.connect(whole)) as database:
        [[about]] = database.execute("SELECT about FROM runs")
    seen = list[str | None]()

    @bounded(40)
    @given(changed(about))
    def holds(content: bytes) -> None:
        shutil.copy(whole, path)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE runs SET about = ?", (content.decode("utf-8", "replace"),))
        seen.append(read(lambda: judged_again(path), path, "--model", "--t2i-model", "--judge"))

    holds()
    assert any(seen)


CELLS = st.sampled_from([None, *EVIL, b"\0\xff", "{}", *[each for each in NUMBERS if abs(each) < 2**63], 9e300])
COMMANDS = (["show"], ["verify"], ["export"])


def test_a_changed_row_of_a_ledger_is_read_or_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, path = tmp_path / "whole.sqlite", tmp_path / "edited.sqlite"
    a_ledger(whole)

    @bounded(80)
    @given(st.sampled_from(columns(whole)), CELLS, st.sampled_from(COMMANDS))
    def holds(place: tuple[str, str], value: object, command: list[str]) -> None:
        table, column = place
        shutil.copy(whole, path)
        with closing(sqlite3.connect(path)) as database, database, suppress(sqlite3.IntegrityError):
            # Not every column takes every value: then the ledger stays as it was.
            database.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (value,))  # noqa: S608 - names of our own tables
        before = path.read_bytes()
        code = cli.main(["ledger", str(path), *command])
        said = capsys.readouterr()
        assert code in (0, 4, 7), place
        assert bool(said.err) == (code == 4) or command != ["show"], said.err
        assert "\x1b" not in said.out + said.err
        assert not [line for line in (said.out + said.err).splitlines() if line.lstrip().startswith("::")]
        assert path.read_bytes() == before

    holds()
