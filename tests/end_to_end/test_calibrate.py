"""`fairgate calibrate`: a detector measured on portraits whose labels are wrong as often as is known."""

from __future__ import annotations

import json
import subprocess
import sys
from random import Random
from typing import TYPE_CHECKING

from fairgate.providers.images.portraits import draw
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path


def test_a_labelled_folder_gives_the_confusion_that_was_drawn_into_it(tmp_path: Path) -> None:
    rows = ["file,gender,race"]
    # Of 6 who are labelled female 2 are drawn male, of 4 who are labelled male none is drawn female.
    for number in range(10):
        label = "Female" if number < 6 else "Male"
        drawn = "Male" if number in (0, 1) or number >= 6 else "Female"
        person = {"gender": drawn, "race": "Southeast Asian", "age": "20-29"}
        (tmp_path / f"{number}.png").write_bytes(draw([person], (256, 256), Random(number)))  # noqa: S311 - draws pictures
        rows.append(f"{number}.png,{label},East Asian")
    (tmp_path / "empty.png").write_bytes(draw([], (256, 256), Random(0)))  # noqa: S311 - draws a landscape
    (tmp_path / "broken.png").write_bytes(b"no picture")
    rows += ["empty.png,Male,White", "broken.png,Male,White"]
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    output = tmp_path / "calibration.json"
    command = [sys.executable, "-m", "fairgate", "calibrate", str(tmp_path), "--detector", "control/fairface"]
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, "--output", str(output)], cwd=CHECKOUT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "on 12 images" in done.stdout
    assert "1 of them unreadable" in done.stdout
    assert "| female | 6 | 33.3 % [4.3, 77.7] | 66.7 % [22.3, 95.7] | 0 |" in done.stdout
    kept = {
        (each["benchmark"], each["attribute"], each["label_map"]): each
        for each in json.loads(output.read_text())["confusions"]
    }
    gender = kept["fact-or-fair", "gender", "default"]
    assert gender["groups"] == ["male", "female"]
    assert gender["counts"] == [[4, 0], [2, 4]]
    assert gender["undetected"] == [1, 0]
    race = kept["bigbench", "race", "default"]
    east = race["groups"].index("East Asian")
    assert race["counts"][east][east] == 10


def test_a_folder_of_which_no_face_counts_leaves_no_calibration(tmp_path: Path) -> None:
    person = {"gender": "Male", "race": "White", "age": "20-29"}
    (tmp_path / "0.png").write_bytes(draw([person], (256, 256), Random(0)))  # noqa: S311 - draws pictures
    (tmp_path / "labels.csv").write_text("file,race\n0.png,Martian\n", encoding="utf-8")
    output = tmp_path / "calibration.json"
    command = [sys.executable, "-m", "fairgate", "calibrate", str(tmp_path), "--detector", "control/fairface"]
    done = subprocess.run(  # noqa: S603 - our own command
        [*command, "--output", str(output)], cwd=CHECKOUT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 4
    assert "none of 1 image shows a face of a known group" in done.stderr
    assert not output.exists()


def test_a_detector_without_weights_says_how_to_get_them(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"-")
    (tmp_path / "labels.csv").write_text("file,race\na.png,White\n", encoding="utf-8")
    command = [sys.executable, "-m", "fairgate", "calibrate", str(tmp_path), "--weights", str(tmp_path)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603 - our own command
    assert done.returncode == 7
    assert "fairgate weights pull --fairface-url URL" in done.stderr  # which pulls all that lacks
    assert "Traceback" not in done.stderr
