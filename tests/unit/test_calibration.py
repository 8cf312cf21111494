"""A detector's errors, measured on a labelled folder and read back from the file that keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fairgate.core.domain import Identity
from fairgate.core.errors import ConfigError, DataError
from fairgate.providers.faces.calibration import Calibration, Measuring, labelled, load, measure
from fairgate.replies.faces import Face, Reading
from fairgate.replies.labels import label_map

if TYPE_CHECKING:
    from pathlib import Path

DETECTOR = Identity("faces", "fairface", parameters={"weights": "ab12"})


def measuring() -> Measuring:
    return Measuring("fact-or-fair", "race", label_map("fact-or-fair", "race"))


def face(race: str, size: float = 10.0) -> Face:
    return Face(box=(0.0, 0.0, size, size), race={race: 0.9, "White": 0.05, "Black": 0.05})


def folder(tmp_path: Path, table: str, files: int) -> Path:
    for number in range(files):
        (tmp_path / f"{number}.jpg").write_bytes(b"never opened here")
    (tmp_path / "labels.csv").write_text(table, encoding="utf-8")
    return tmp_path


def test_every_image_is_counted_by_what_it_shows_and_what_was_found(tmp_path: Path) -> None:
    images = labelled(
        folder(
            tmp_path,
            "file,age,race\n0.jpg,3-9,East Asian\n1.jpg,3-9,Latino_Hispanic\n2.jpg,3-9,white\n3.jpg,3-9,Indian\n"
            "4.jpg,3-9,Black\n5.jpg,3-9,Black\n6.jpg,3-9,\n",
            7,
        )
    )
    readings = [
        Reading((9, 9), (face("Southeast Asian"),)),
        Reading((9, 9), (face("White", 5.0), face("White", 20.0), face("Latino_Hispanic", 10.0))),
        Reading((9, 9), ()),
        Reading((9, 9), (face("White"),)),
        Reading((9, 9), (face("Indian"),)),
        Reading(None, (), "truncated"),
        Reading((9, 9), (face("White"),)),
    ]
    counted = measuring()
    assert measure(images, iter(readings), [counted]) == 1
    confusion = counted.confusion
    # Indian has no group in this map: as a label it says nothing, as a finding the next most probable group counts.
    assert dict(counted.unnamed) == {"Indian": 1}
    assert confusion.groups == ("White", "Black", "Hispanic", "Asian")
    assert confusion.undetected == (1, 0, 0, 0)
    # The white person went undetected; one black image could not be opened, in the other the most probable label with a
    # group was White; the largest face of the Latino image was found White; East and Southeast Asian are one group.
    assert confusion.counts == ((0, 0, 0, 0), (1, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1))


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("name,race\n0.jpg,White\n", "It needs `file` and any of gender, race, age"),
        ("file,race\nmissing.jpg,White\n", r"row 2: 'missing.jpg' is no file of the folder"),
        ("file,race\n../elsewhere.jpg,White\n", r"row 2: '../elsewhere.jpg' is no file of the folder"),
        ("file,race\n0.jpg,White\n0.jpg,White\n", "names '0.jpg' twice"),
        ("file,race\n", "has no rows"),
    ],
)
def test_a_label_file_that_cannot_be_used_says_where(tmp_path: Path, table: str, says: str) -> None:
    (tmp_path / "elsewhere.jpg").write_bytes(b"not of the data set")
    (tmp_path / "set").mkdir()
    with pytest.raises(DataError, match=says):
        labelled(folder(tmp_path / "set", table, 1))


def kept(tmp_path: Path, rows: tuple[tuple[int, ...], ...]) -> Path:
    from fairgate.providers.faces.calibration import Confusion

    confusion = Confusion("fact-or-fair", "gender", "default", ("male", "female"), rows, (0,) * len(rows))
    path = tmp_path / "calibration.json"
    path.write_text(Calibration(DETECTOR.canonical, (confusion,), 200, 0).to_json(), encoding="utf-8")
    return path


def test_what_was_kept_comes_back_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    confusion = load(kept(tmp_path, ((90, 10), (20, 80))), DETECTOR).of("fact-or-fair", "gender", "default")
    assert confusion is not None
    assert confusion.mixing(("female", "male"), "here").counts.tolist() == [[80, 20], [10, 90]]
    assert load(kept(tmp_path, ((90, 10), (20, 80))), DETECTOR).of("fact-or-fair", "race", "default") is None


def test_a_calibration_of_other_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"of another detector, or of other weights.*ab12.*cd34"):
        load(kept(tmp_path, ((90, 10), (20, 80))), Identity("faces", "fairface", parameters={"weights": "cd34"}))


def test_a_detector_that_finds_the_same_whatever_is_there_is_refused(tmp_path: Path) -> None:
    confusion = load(kept(tmp_path, ((50, 50), (50, 50))), DETECTOR).of("fact-or-fair", "gender", "default")
    assert confusion is not None
    with pytest.raises(ConfigError, match="nothing can be corrected"):
        confusion.mixing(("male", "female"), "here")


@pytest.mark.parametrize("rows", [((90, 10),), ((90, -1), (0, 10)), ((90, 10, 1), (0, 10, 2)), ((10**30, 1), (1, 9))])
def test_a_table_that_is_not_square_or_holds_no_counts_is_refused(
    tmp_path: Path, rows: tuple[tuple[int, ...], ...]
) -> None:
    with pytest.raises(ConfigError, match=r"no square table of counts|is no calibration: .*`int`"):
        load(kept(tmp_path, rows), DETECTOR)


def test_a_file_that_is_no_calibration_says_how_to_make_one(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"counts": 3}', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"is no calibration: .*fairgate calibrate"):
        load(path, DETECTOR)
