"""Files of the benchmarks' authors, or in their layouts, that somebody changed: each is read, or named in one error."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from fairgate.benchmarks.bigbench.data import load as load_bigbench
from fairgate.benchmarks.bigbench.original_files import read_original
from fairgate.benchmarks.f2bench import data as f2bench
from fairgate.benchmarks.f2bench.gold import load_gold
from fairgate.benchmarks.f2bench.prompts import load_released
from fairgate.benchmarks.fact_or_fair.data import load as load_dataset
from fairgate.benchmarks.fact_or_fair.results import read_llm, read_t2i
from fairgate.core.errors import DataError
from tests import original_layouts as original
from tests.property.test_hostile_files import bounded, changed, read, relined

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DATASET = load_dataset()


@pytest.fixture(scope="module")
def bigbench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """BIGbench's files in the authors' layout."""
    folder = tmp_path_factory.mktemp("bigbench")
    original.write_bigbench(folder, folder / "prompt", load_bigbench())
    return folder


def held_to_be_read_or_named(file: Path, reader: Callable[[], object], examples: int, *named: str) -> list[str | None]:
    """What was said of each changed file, which is then as it was."""
    text = file.read_text(encoding="utf-8")
    seen = list[str | None]()

    @bounded(examples)
    @given(changed(text) if file.suffix == ".json" else relined(text))
    def holds(content: bytes) -> None:
        file.write_bytes(content)
        seen.append(read(reader, file, *named))

    try:
        reader()
        holds()
    finally:
        file.write_text(text, encoding="utf-8")
    return seen


BIGBENCH_FILES = ["weight", "category", "eta", "oc_gt", "char_gt", "sr_gt"]


@pytest.mark.parametrize("name", BIGBENCH_FILES)
def test_changed_files_of_bigbench_are_read_or_named(bigbench: Path, name: str) -> None:
    # What one file lacks, the folder or a subject of another one is named for.
    file = bigbench / f"{name}.json"
    said = held_to_be_read_or_named(file, lambda: read_original(bigbench), 12, str(bigbench), "truth of ")
    assert any(said), "nothing that was drawn is refused"


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("weight", ("a photo of one Nurse",), 0, "weight.json: 'a photo of one Nurse': .*>= 0.001"),
        ("weight", ("a photo of one Nurse",), float("nan"), "weight.json: 'a photo of one Nurse': .*It is nan"),
        ("weight", ("a photo of one Nurse",), "5", "weight.json: 'a photo of one Nurse': .*It is '5'"),
        ("weight", (), [], "weight.json: Expected `object`, got `array`"),
        ("oc_gt", ("a photo of one Nurse", "gender", "male"), 1e308, "'a photo of one Nurse', 'gender': 'male': "),
        ("oc_gt", ("a photo of one Nurse", "gender"), None, "'a photo of one Nurse', 'gender': Expected `object`"),
        ("sr_gt", ("One Husband at left with one Wife at right", "left"), 1, "at right', left: Expected `object`"),
        ("eta", ("pair1", 1), -1, "eta.json: 'pair1': .*>= 0.001.*It is -1"),
        ("category", ("positive",), "rich", "category.json: 'positive': Expected `array`"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_file_and_key(
    bigbench: Path, tmp_path: Path, name: str, place: tuple[str | int, ...], value: object, message: str
) -> None:
    folder = shutil.copytree(bigbench, tmp_path / "original")
    file = folder / f"{name}.json"
    whole = {"top": json.loads(file.read_text())}
    *above, last = ("top", *place)
    inner = whole
    for key in above:
        inner = inner[key]
    assert last in inner or isinstance(inner, list)
    inner[last] = value
    file.write_text(json.dumps(whole["top"]))
    with pytest.raises(DataError, match=message):
        read_original(folder)


def test_the_truth_of_two_people_is_that_of_both(bigbench: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bigbench, tmp_path / "original")
    file = folder / "sr_gt.json"
    whole = json.loads(file.read_text())
    prompt = "One Husband at left with one Wife at right"
    whole[prompt] = whole[prompt]["left"]
    file.write_text(json.dumps(whole))
    with pytest.raises(DataError, match=f"{prompt}': it has the truth of 1, not of 2"):
        read_original(folder)


def test_prompts_in_folders_without_end_are_refused(bigbench: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bigbench, tmp_path / "original")
    (folder / "prompt" / "/".join("d" * 9)).mkdir(parents=True)
    with pytest.raises(DataError, match="prompt: has folders more than 8 deep"):
        read_original(folder)


def test_a_family_of_others_leaves_a_subject_in_its_own(bigbench: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(bigbench, tmp_path / "original")
    file = folder / "category.json"
    whole = json.loads(file.read_text())
    [listed] = [names for names in whole.values() if "Nurse" in names]
    listed.remove("Nurse")
    whole["positive"].append("Nurse")
    file.write_text(json.dumps(whole))
    data = read_original(folder)
    assert data.subject("nurse").family == load_bigbench().subject("nurse").family
    assert any("category.json: positive has no occupations" in note for note in data.notes)


RESULTS: dict[str, Callable[[Path], object]] = {
    "*/objective_test/**/*.json": lambda folder: read_llm(folder, DATASET),
    "*/subjective_test/**/*.csv": lambda folder: read_llm(folder, DATASET),
    "*/*/Distribution/*_count.csv": lambda folder: read_t2i(folder, DATASET),
    "*/*/Distribution/*_distribution.csv": lambda folder: read_t2i(folder, DATASET),
}


@pytest.mark.parametrize("pattern", RESULTS)
def test_changed_results_are_read_or_named(tmp_path: Path, pattern: str) -> None:
    chance = original.seeded(0)
    drawn = original.draw_llm(DATASET, chance)
    original.write_llm(tmp_path / "llm", DATASET, drawn, chance)
    painted = original.draw_t2i(DATASET, chance)
    original.write_t2i(tmp_path / "t2i", DATASET, painted, counts=pattern.endswith("_count.csv"))
    file = max(tmp_path.glob(pattern), key=lambda path: path.stat().st_size)
    root = tmp_path / file.relative_to(tmp_path).parts[0]
    assert any(held_to_be_read_or_named(file, lambda: RESULTS[pattern](root), 60, str(root)))


F2BENCH: dict[str, Callable[[Path], object]] = {
    "instances.json": f2bench.load,
    "gold.json": load_gold,
}


@pytest.mark.parametrize("name", F2BENCH)
def test_changed_files_of_f2bench_are_read_or_named(tmp_path: Path, name: str) -> None:
    shutil.copy(f2bench.default_root() / name, tmp_path)
    # Of a file without instances there is no row to name.
    assert any(held_to_be_read_or_named(tmp_path / name, lambda: F2BENCH[name](tmp_path), 60, "F²Bench: no row"))


@pytest.mark.parametrize(("key", "value"), [("provenance", []), ("group1", "half an emoji: \ud83d")])
def test_an_instance_that_cannot_be_used_is_named(tmp_path: Path, key: str, value: object) -> None:
    file = tmp_path / "instances.json"
    whole = json.loads((f2bench.default_root() / file.name).read_text(encoding="utf-8"))
    whole["instances"][0][key] = value
    file.write_text(json.dumps(whole))
    with pytest.raises(DataError, match=r"instances\.json"):
        f2bench.load(tmp_path)


RELEASED = """[dialogue]
questions = ["{DemoGroup} {GroupAttr}", "Why?", "2", "3", "4", "5"]

[balance]
summary = "Say it anew: {GivenFact}"

[judge]
factuality = "{Response} {GivenFact}"
"""


def test_changed_texts_of_the_released_program_are_read_or_named(tmp_path: Path) -> None:
    file = tmp_path / "released.toml"
    file.write_text(RELEASED)
    assert any(held_to_be_read_or_named(file, lambda: load_released(file), 150))
