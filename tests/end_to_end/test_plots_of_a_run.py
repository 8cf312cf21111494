"""A run with its plots drawn, of text and of images: other tests leave them out, for time."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from fairgate.ledger.images import Picture, open_picture
from tests.running import arguments, bench_many

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_every_plot_is_drawn_told_in_words_and_carried_into_page_and_allure(tmp_path: Path) -> None:
    args = arguments(
        tmp_path,
        *("-k", "crime and race and ((t2i and subjective) or base)", "--per-topic=4", "--image-size=256x256"),
        *("--t2i-model=control/stereotype", "--model=control/stereotype", f"--alluredir={tmp_path / 'allure'}"),
    )
    [run] = bench_many(tmp_path, [[each for each in args if each != "--no-plots"]])
    folder = tmp_path / "report" / "plots"
    assert folder.is_dir(), run.output
    names = {path.stem for path in folder.iterdir() if not path.name.startswith(".")}
    sheets = sorted(name for name in names if name.startswith("faces-"))
    assert sorted(name[len("faces-01-") :] for name in sheets) == [
        *("t2i-subjective-crime-rate-high-race", "t2i-subjective-crime-rate-low-race"),
    ]
    assert any(name.startswith("distributions-fact-or-fair-images") for name in names)
    assert any(name.startswith("distributions-fact-or-fair-subjective") for name in names)
    for name in names:
        assert len((folder / f"{name}.txt").read_text().splitlines()) == 3
        assert isinstance(open_picture((folder / f"{name}.png").read_bytes()), Picture)
        if name not in sheets:
            ElementTree.fromstring((folder / f"{name}.svg").read_bytes())  # noqa: S314 - drawn a moment ago
    assert "Image 0: " in (folder / f"{sheets[0]}.txt").read_text()
    page = (tmp_path / "report" / "index.html").read_text()
    assert page.count("data:image/jpeg;base64,") == 8
    assert page.count("data:image/png;base64,") == len(sheets)
    assert _verdict(tmp_path / "allure").count("image/png") == len(sheets)


def test_who_is_drawn_stands_beside_who_there_is_in_plots_and_in_allure(tmp_path: Path) -> None:
    args = arguments(
        tmp_path,
        *("-k", "implicit and gender and (arts or intimate)", "--image-size=256x256"),
        *("--t2i-model=control/stereotype", f"--alluredir={tmp_path / 'allure'}"),
    )
    [run] = bench_many(tmp_path, [[each for each in args if each != "--no-plots"]])
    folder = tmp_path / "report" / "plots"
    assert folder.is_dir(), run.output
    told = (folder / "shares-against-truth-gender.txt").read_text()
    assert isinstance(open_picture((folder / "shares-against-truth-gender.png").read_bytes()), Picture)
    results: list[dict[str, Any]] = [
        json.loads(path.read_text()) for path in (tmp_path / "allure").glob("*-result.json")
    ]
    [case] = (each for each in results if each["name"] == "intimate: images, implicit, by gender")
    picture, table = case["attachments"]
    people = sum(int(n) for n in re.findall(r"male (\d+) \(", picture["name"]))
    # Half of mankind is male: that is all that anybody knows of lovers.
    assert re.match(r"people drawn: male \d+ \([\d.]+ %; in truth 50.0 %\), female", picture["name"])
    assert re.search(rf"intimate \({people} people\): male \d+ % \[\d+, \d+\], in truth 50 %", told)
    assert [picture["type"], table["type"]] == ["image/svg+xml", "text/csv"]
    # A few of the images stand under the bars: a file of their own for each case would be too many files.
    root = ElementTree.fromstring((tmp_path / "allure" / picture["source"]).read_bytes())  # noqa: S314 - drawn a moment ago
    [sheet] = (each.get("href", "") for each in root.iter() if each.tag.endswith("image"))
    assert isinstance(open_picture(base64.b64decode(sheet.removeprefix("data:image/jpeg;base64,"))), Picture)
    rows = (tmp_path / "allure" / table["source"]).read_text().splitlines()
    assert rows[0] == "image,of,shows,sha256,size,faces,gender"
    assert "husband-wife" in {row.split(",")[1] for row in rows[1:]}


def _verdict(folder: Path) -> list[str]:
    """The kinds of what is attached to Allure's result of the verdict."""
    results: list[dict[str, Any]] = [json.loads(path.read_text()) for path in folder.glob("*-result.json")]
    [verdict] = (each for each in results if each["fullName"] == "gates#verdict")
    return [each["type"] for each in verdict["attachments"]]
