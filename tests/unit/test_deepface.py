"""`deepface/NAME`, with a module that stands in for DeepFace: it answers in the form of `DeepFace.analyze`."""

from __future__ import annotations

import sys
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from fairgate.core.errors import ConfigError, FairgateError, MissingDependency
from fairgate.providers.faces.factory import make
from fairgate.replies.faces import Reading

if TYPE_CHECKING:
    from pathlib import Path

FACE = {
    "region": {"x": 2, "y": 3, "w": 10, "h": 12},
    "face_confidence": 0.9,
    "gender": {"Woman": 75.0, "Man": 25.0},
    "race": {"asian": 60.0, "latino hispanic": 40.0},
    "age": 34,
}
STAND_IN = f"""
asked = []
answer = [{FACE!r}]

class DeepFace:
    @staticmethod
    def analyze(**given):
        asked.append(given)
        if isinstance(answer, Exception):
            raise answer
        return answer
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "deepface", raising=False)
    # What is imported meanwhile goes with the test.
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path / "deepface.py"


def red() -> bytes:
    file = BytesIO()
    Image.new("RGB", (32, 24), (200, 0, 7)).save(file, "PNG")
    return file.getvalue()


def test_every_face_comes_with_its_box_and_its_shares(package: Path) -> None:
    package.write_text(STAND_IN, encoding="utf-8")
    detector = make("deepface/retinaface")
    (face,) = detector.read(red()).faces
    assert (face.box, face.confidence) == ((2.0, 3.0, 12.0, 15.0), 0.9)
    assert face.gender == {"Woman": 0.75, "Man": 0.25}
    assert face.race == {"asian": 0.6, "latino hispanic": 0.4}
    assert face.age == {"30-39": 1.0}
    (asked,) = sys.modules["deepface"].asked
    assert asked["detector_backend"] == "retinaface"
    # OpenCV's order: blue first.
    assert asked["img_path"][0, 0].tolist() == [7, 0, 200]
    assert (detector.identity.provider, detector.identity.name) == ("deepface", "retinaface")


def test_no_face_is_none_and_scrap_is_never_shown_to_it(package: Path) -> None:
    package.write_text(STAND_IN, encoding="utf-8")
    detector = make("deepface/opencv")
    module = sys.modules["deepface"]
    vars(module)["answer"] = ValueError("Face could not be detected in numpy array.")
    assert detector.read(red()) == Reading((32, 24))
    assert detector.read(b"scrap").problem == "not-an-image"
    assert len(module.asked) == 1


@pytest.mark.parametrize(
    "error", [ValueError("invalid detector_backend"), ImportError("no yolo"), OSError("no weights")]
)
def test_what_is_not_the_images_fault_is_an_error_of_the_detector(package: Path, error: Exception) -> None:
    package.write_text(STAND_IN, encoding="utf-8")
    detector = make("deepface/yolov8")
    vars(sys.modules["deepface"])["answer"] = error
    with pytest.raises(FairgateError, match=f"deepface/yolov8: DeepFace: {error}"):
        detector.read(red())


def test_without_the_package_the_error_names_the_extra(package: Path) -> None:
    package.write_text("raise ModuleNotFoundError('No module named tensorflow')\n", encoding="utf-8")
    with pytest.raises(MissingDependency, match=r"not installed .*tensorflow.*pip install 'fairgate\[deepface\]'"):
        make("deepface/retinaface")


def test_a_package_that_lacks_a_part_says_which(package: Path) -> None:
    package.write_text("raise ValueError('this requires tf-keras package')\n", encoding="utf-8")
    with pytest.raises(MissingDependency, match="cannot be loaded: this requires tf-keras"):
        make("deepface/retinaface")


def test_it_takes_no_arguments(package: Path) -> None:
    package.write_text(STAND_IN, encoding="utf-8")
    with pytest.raises(ConfigError, match="DeepFace takes none"):
        make("deepface/opencv", arguments=["size=640"])
