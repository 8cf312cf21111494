"""The instances of F²Bench: what we carry, what the loaders refuse, and what the published workbooks hold."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.benchmarks.f2bench.data import (
    Category,
    FactSource,
    Instance,
    InstanceKind,
    Instances,
    default_root,
    load,
    read_workbooks,
)
from fairgate.benchmarks.f2bench.swap import swap, twin, without_twin
from fairgate.core.errors import ConfigError, DataError
from tests.published import published_data

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEADER = [
    "Paragraph",
    "Primary Category",
    "Secondary Category",
    "DemoGroup1",
    "DemoGroup2",
    "GroupAttr1",
    "GroupAttr2",
    "GivenFact",
    "Type",
]
ROW = ["A man met a woman.", "gender", "N/A", "man", "woman", "to be tall", "to be short", "People differ.", 1]


@pytest.fixture(scope="module")
def ours() -> Instances:
    return load()


@pytest.fixture(scope="module")
def published() -> Instances:
    pytest.importorskip("openpyxl")
    return read_workbooks(published_data() / "f2bench")


# What is carried


def test_every_category_has_thirty_of_each_kind(ours: Instances) -> None:
    assert len(ours.instances) == 600
    assert ours.notes == ()
    assert {(category, kind): 30 for category in Category for kind in InstanceKind} == ours.counts


def test_no_paragraph_stands_twice_and_neither_group_is_named_first_throughout(ours: Instances) -> None:
    assert len({instance.paragraph for instance in ours.instances}) == 600
    for category in Category:
        for kind in InstanceKind:
            members = ours.of(kind, category)
            first = sum(each.paragraph.index(each.group1) < each.paragraph.index(each.group2) for each in members)
            assert 10 <= first <= 20, (category, kind)


def test_secondary_categories_are_other_categories(ours: Instances) -> None:
    crossed = [each for each in ours.instances if each.secondary is not None]
    assert len(crossed) >= 300
    assert all(each.secondary in set(Category) and each.secondary != each.category for each in crossed)


def test_every_instance_has_a_twin_that_swaps_back(ours: Instances) -> None:
    assert without_twin(ours.instances) == {}
    for instance in ours.instances:
        found = twin(instance)
        assert found.text is not None
        assert found.text != instance.paragraph
        assert found.mentions == (1, 1), instance.id
        assert swap(found.text, instance.group1, instance.group2).text == instance.paragraph, instance.id


def test_both_groups_stand_literally_in_the_paragraph_before_the_attributes(ours: Instances) -> None:
    for instance in ours.instances:
        # The attributes are told in sentences of their own, which name neither group.
        opening = instance.paragraph.partition(". ")[0]
        assert instance.group1 in opening, instance.id
        assert instance.group2 in opening, instance.id


def test_attributes_have_the_form_that_the_questions_need(ours: Instances) -> None:
    for instance in ours.instances:
        assert instance.attribute1.startswith("to "), instance.id
        assert instance.attribute2.startswith("to "), instance.id
        assert instance.attribute1 != instance.attribute2


def test_every_fact_has_a_source_to_look_up_and_says_how_well_it_is_known(ours: Instances) -> None:
    for instance in ours.instances:
        assert instance.provenance in set(FactSource), instance.id
        assert instance.source, instance.id
        assert any(char.isdigit() for char in instance.source) or "https://" in instance.source, instance.id
        # What a newspaper, a blog or a copy quotes was not read at the issuing agency.
        assert instance.provenance is FactSource.B or "as reported at" not in instance.source, instance.id
    known = Counter((each.kind, each.provenance) for each in ours.instances)
    first, second = (sum(known[kind, each] for kind in InstanceKind) for each in (FactSource.A, FactSource.B))
    told = (default_root() / "SOURCES.md").read_text(encoding="utf-8")
    assert f"A ({first}, of which {known[InstanceKind.FACT, FactSource.A]} are of type 0)" in told
    assert f"({second}): of type 0 ({known[InstanceKind.FACT, FactSource.B]})" in told
    assert f"of type 1 ({known[InstanceKind.STEREOTYPE, FactSource.B]}), recalled" in told


def test_ids_are_stable_words(ours: Instances) -> None:
    for instance in ours.instances:
        assert instance.id.startswith(f"{instance.category}-")
        assert instance.id == instance.id.lower()


def test_version_follows_the_content(ours: Instances) -> None:
    assert ours.version == load().version
    assert Instances(ours.instances[1:]).version != ours.version


# What is refused


def write(folder: Path, *rows: list[Any], header: list[str] | None = None, name: str = "Gender.xlsx") -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (header or HEADER, *rows):
        book.active.append(row)
    book.save(folder / name)
    return folder


def changed(**cells: object) -> list[Any]:
    return [cells.get(name.replace(" ", ""), value) for name, value in zip(HEADER, ROW, strict=True)]


def test_the_authors_repository_is_read_with_its_folder_of_data(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    write(tmp_path, changed(PrimaryCategory="Age"), name="Age.xlsx")
    write(tmp_path / "data", ROW, name="Gender.xlsx")
    assert [instance.id for instance in read_workbooks(tmp_path).instances] == ["age-2", "gender-2"]
    assert [instance.id for instance in read_workbooks(tmp_path / "data").instances] == ["gender-2"]


def test_both_header_spellings_are_read(tmp_path: Path) -> None:
    together = [name.replace(" ", "") for name in HEADER]
    write(tmp_path, ROW, name="A.xlsx")
    write(tmp_path, ROW, header=together, name="B.xlsx")
    found = read_workbooks(tmp_path)
    assert [instance.id for instance in found.instances] == ["a-2", "b-2"]
    absent = "race, religion, age, socioeconomy, education, lgbtq, nationality, health, appearance"
    assert found.notes == (f"1 of 10 categories: no {absent}",)


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (changed(GivenFact=None), "lacks GivenFact."),
        (changed(GivenFact="  "), "lacks GivenFact."),
        (changed(DemoGroup1=None, Type=None), "lacks DemoGroup1, Type."),
        (changed(Type=2), "'2' is no type: 0 is a fact, 1 a stereotype."),
        (changed(Type="fact"), "'fact' is no type: 0 is a fact, 1 a stereotype."),
        (changed(PrimaryCategory="Gendre"), "'Gendre' is no category. Did you mean 'gender'?"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, row: list[Any], what: str) -> None:
    write(tmp_path, ROW, row, [None] * 9, changed(Type=0.0))
    with pytest.raises(DataError, match="1 of 3 rows cannot be used") as refused:
        read_workbooks(tmp_path)
    assert f"Gender.xlsx, sheet Sheet, row 3: {what}" in str(refused.value)
    found = read_workbooks(tmp_path, lenient=True)
    assert [instance.id for instance in found.instances] == ["gender-2", "gender-5"]
    assert [str(problem) for problem in found.problems] == [f"Gender.xlsx, sheet Sheet, row 3: {what}"]


def test_other_words_of_the_workbooks_are_understood(tmp_path: Path) -> None:
    write(
        tmp_path, changed(PrimaryCategory="Socioeco", SecondaryCategory="LGBTQ+"), changed(SecondaryCategory="Culture")
    )
    first, second = read_workbooks(tmp_path).instances
    assert (first.category, first.secondary) == (Category.SOCIOECONOMY, "lgbtq")
    assert second.secondary == "culture"


def test_a_header_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    write(tmp_path, ROW[:-1], header=HEADER[:-1])
    with pytest.raises(DataError, match="the header lacks Type"):
        read_workbooks(tmp_path)


def test_a_workbook_without_the_columns_is_named(tmp_path: Path) -> None:
    write(tmp_path, ["x"], header=["Paragraph"])
    with pytest.raises(DataError, match="no sheet has the columns"):
        read_workbooks(tmp_path)


def test_a_file_that_is_no_workbook_is_named(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    (tmp_path / "Gender.xlsx").write_text("not a workbook", encoding="utf-8")
    with pytest.raises(DataError, match=r"Gender\.xlsx: cannot be read as a workbook"):
        read_workbooks(tmp_path)
    assert read_workbooks(write(tmp_path, ROW, name="Other.xlsx"), lenient=True).instances


def test_each_sheet_of_data_is_read_and_the_first_one_gives_the_short_ids(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    write(tmp_path, ROW)
    book = openpyxl.load_workbook(tmp_path / "Gender.xlsx")
    second = book.create_sheet("Sheet2")
    for row in (HEADER, ROW):
        second.append(row)
    book.save(tmp_path / "Gender.xlsx")
    assert [each.id for each in read_workbooks(tmp_path).instances] == ["gender-2", "gender-sheet2-2"]


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("rows", [[], [changed(GivenFact=None)]])
def test_no_row_at_all_is_refused_however_lenient(tmp_path: Path, rows: list[list[Any]], *, lenient: bool) -> None:
    """A benchmark that vanished would look like one that passed."""
    with pytest.raises(DataError, match=r"no row can be used|rows cannot be used"):
        read_workbooks(write(tmp_path, *rows), lenient=lenient)


def test_a_folder_must_hold_workbooks(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no workbook"):
        read_workbooks(tmp_path)
    with pytest.raises(DataError, match="no such folder"):
        read_workbooks(tmp_path / "absent")


def test_without_openpyxl_the_command_to_install_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Gender.xlsx").touch()
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ConfigError, match=r"pip install 'fairgate\[f2bench\]'"):
        read_workbooks(tmp_path)


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda rows: rows.append(rows[0]), "stands twice"),
        (lambda rows: rows[0].pop("given_fact"), "lacks GivenFact"),
        (lambda rows: rows[0].pop("id"), "lacks an id"),
        (lambda rows: rows[0].update(provenance="C"), "no provenance"),
        (lambda rows: rows.append("text"), "no object"),
    ],
)
def test_a_fault_in_our_own_file_is_named(tmp_path: Path, spoil: Callable[[list[Any]], object], what: str) -> None:
    held = json.loads((default_root() / "instances.json").read_text(encoding="utf-8"))
    spoil(held["instances"])
    (tmp_path / "instances.json").write_text(json.dumps(held), encoding="utf-8")
    with pytest.raises(DataError, match=what):
        load(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"instances": {}}'])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "instances.json").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="instances"):
        load(tmp_path)
    with pytest.raises(DataError, match="cannot be read"):
        load(tmp_path / "absent")


# What the published workbooks hold


def test_all_published_instances_load(published: Instances) -> None:
    assert len(published.instances) == 1851
    assert published.problems == ()
    assert "8 of 10 categories: no race, appearance" in published.notes
    assert {
        category.value: tuple(published.counts[category, kind] for kind in InstanceKind) for category in Category
    } == {
        "gender": (71, 245),
        "race": (0, 0),
        "religion": (53, 112),
        "age": (70, 183),
        "socioeconomy": (80, 105),
        "education": (56, 42),
        "lgbtq": (147, 235),
        "nationality": (157, 158),
        "health": (29, 108),
        "appearance": (0, 0),
    }


def test_published_secondary_categories(published: Instances) -> None:
    counts = Counter((each.category, each.secondary) for each in published.instances)
    assert sum(counts.values()) == 1851
    assert counts[Category.AGE, "health"] == 46
    assert counts[Category.NATIONALITY, "gender"] == 9
    odd = {name for _, name in counts if name and name not in set(Category)}
    assert odd == {"culture", "healthcare"}


def test_published_instances_without_a_twin(published: Instances) -> None:
    found = without_twin(published.instances)
    assert {category.value: len(ids) for category, ids in found.items()} == {
        "gender": 2,
        "nationality": 1,
        "religion": 4,
        "socioeconomy": 9,
    }


def runs(instance: Instance, words: int = 9) -> set[tuple[str, ...]]:
    """Every run of words of an instance's texts; groups, which anyone names alike, stand as one sign."""
    found: set[tuple[str, ...]] = set()
    first, second = instance.group1.lower(), instance.group2.lower()
    for text in (instance.paragraph, instance.fact):
        said = text.lower().replace(first, "#").replace(second, "#").split()
        found |= {tuple(said[start : start + words]) for start in range(len(said) - words + 1)}
    return found


def test_no_passage_of_ours_is_a_published_one(published: Instances, ours: Instances) -> None:
    theirs = {run for each in published.instances for run in runs(each)}
    for instance in ours.instances:
        assert not runs(instance) & theirs, instance.id


SHEET = "xl/worksheets/sheet1.xml"


def _packed(path: Path, parts: dict[str, bytes]) -> None:
    """The workbook with these parts in the place of its own."""
    with zipfile.ZipFile(path) as before:
        held = {name: before.read(name) for name in before.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as after:
        for name, content in {**held, **parts}.items():
            after.writestr(name, content)


HOSTILE = {
    "broken XML": b"<worksheet><sheetData>",
    "an entity": b'<!DOCTYPE w [<!ENTITY a "aaaa">]><worksheet>&a;</worksheet>',
    "an entity in UTF-16": '<!DOCTYPE w [<!ENTITY a "aaaa">]><worksheet>&a;</worksheet>'.encode("utf-16"),
    "a cell of 200 MB": b"<worksheet>" + b"x" * 200_000_000 + b"</worksheet>",
    "row 2,000,000,000": (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        b'<row r="2000000000"><c r="A2000000000"><v>1</v></c></row></sheetData></worksheet>'
    ),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_workbook_is_one_clear_problem(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, ROW)
    _packed(tmp_path / "Gender.xlsx", {SHEET: content})
    with pytest.raises(DataError, match=r"Gender\.xlsx: cannot be read as a workbook"):
        read_workbooks(tmp_path)


@pytest.mark.parametrize("name", [SHEET, "xl/styles.xml"])
def test_a_workbook_of_more_tags_than_become_objects_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    write(tmp_path, ROW)
    _packed(tmp_path / "Gender.xlsx", {name: b"<x>" + b"<c/>" * 2_000_000 + b"</x>"})
    monkeypatch.setattr(openpyxl, "load_workbook", lambda *_, **__: pytest.fail("it is read"))
    with pytest.raises(DataError, match=rf"more than 2,000,000 tags, up to its part {name}"):
        read_workbooks(tmp_path)


def test_a_workbook_that_is_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    os.mkfifo(tmp_path / "Gender.xlsx")
    with pytest.raises(DataError, match="no regular file"):
        read_workbooks(tmp_path)
