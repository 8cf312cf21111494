"""Photographs of people, which the libraries' own packages carry: decoded, looked through, cut out, without weights."""

from __future__ import annotations

from pathlib import Path

import insightface
import numpy as np
import pytest
import skimage

from fairgate.ledger.images import Picture, open_picture
from fairgate.providers.faces import toy_graphs
from fairgate.providers.faces.alignment import TARGETS, chip
from fairgate.providers.faces.attributes import FairFace
from fairgate.providers.faces.face_finder import FoundFace
from fairgate.providers.faces.factory import make
from fairgate.replies.faces import Reading

INSIGHTFACE = Path(insightface.__file__).parent / "data" / "images"
ASTRONAUT = Path(skimage.__file__).parent / "data" / "astronaut.png"
# Read off the picture by hand: pupils, tip of the nose, corners of the mouth.
POINTS = np.array([(203.0, 100.75), (247.5, 103.0), (223.75, 126.25), (205.5, 141.25), (243.0, 142.0)])
BOX = (175.0, 70.0, 268.0, 163.0)


def opened(path: Path) -> Picture:
    picture = open_picture(path.read_bytes())
    assert isinstance(picture, Picture)
    return picture


@pytest.mark.parametrize("path", [*sorted(INSIGHTFACE.iterdir()), ASTRONAUT], ids=lambda path: path.name)
def test_photographs_go_all_the_way_and_show_no_control(path: Path) -> None:
    """The toy graphs know people by their discs alone: in a photograph they find nobody."""
    assert make("control/fairface", arguments=["size=640"]).read(path.read_bytes()) == Reading(opened(path).size)


def test_a_face_is_cut_out_where_fairface_expects_it() -> None:
    cut = chip(opened(ASTRONAUT).pixels, FoundFace(BOX, 1.0, POINTS)).mean(axis=2)
    for x, y in TARGETS[:2]:
        # The pupil is the darkest spot of its surroundings.
        left, top = round(x) - 16, round(y) - 12
        part = cut[top : top + 25, left : left + 33]
        row, column = np.unravel_index(np.argmin(part), part.shape)
        assert abs(left + column - x) <= 6
        assert abs(top + row - y) <= 6


def test_attributes_of_a_photograph_are_probabilities() -> None:
    reader = FairFace(toy_graphs.FOLDER / "fairface" / "fairface.onnx")
    (told,) = reader.read([(opened(ASTRONAUT).pixels, FoundFace(BOX, 1.0, POINTS))])
    assert [len(told[attribute]) for attribute in ("race", "gender", "age")] == [7, 2, 9]
    assert all(abs(sum(shares.values()) - 1) < 1e-9 for shares in told.values())
