"""`deepface/NAME`: DeepFace, the papers' second detector, with NAME as its finder of faces (retinaface, opencv, …).

Imported only when it is asked for: it brings much of its own, and fetches its weights at the first call.
"""

from __future__ import annotations

import threading
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from fairgate.core.domain import Identity
from fairgate.core.errors import ConfigError, FairgateError, MissingDependency
from fairgate.ledger.images import Problem, open_picture
from fairgate.providers.faces.attributes import range_of
from fairgate.replies.faces import Face, Reading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ACTIONS = ("gender", "race", "age")
EXTRA = "pip install 'fairgate[deepface]'"


class DeepFaceDetector:
    """DeepFace.analyze as a detector. Raises FairgateError where the package is missing."""

    runs_on = "DeepFace's own choice"

    def __init__(self, name: str, arguments: Sequence[str] = ()) -> None:
        if arguments:
            raise ConfigError(f"{arguments[0]!r}: DeepFace takes none.", where="--detector-arg", hint="Remove it.")
        try:
            from deepface import DeepFace
        except ImportError as error:
            raise MissingDependency(f"deepface is not installed ({error}).", where="--detector", hint=EXTRA) from error
        except ValueError as error:  # what it raises at its import where its TensorFlow lacks tf-keras
            raise MissingDependency(f"deepface cannot be loaded: {error}", where="--detector") from error
        self._name, self._analyze = name, DeepFace.analyze
        self.identity = Identity("deepface", name, parameters={"version": 1, "deepface": _version()})
        # Its networks are fetched and loaded at the first call, which no two threads may make at once.
        self._alone = threading.Lock()

    def read(self, content: bytes) -> Reading:
        """All faces of one image file."""
        picture = open_picture(content)
        if isinstance(picture, Problem):
            return Reading(problem=str(picture))
        try:
            with self._alone:
                # DeepFace takes OpenCV's order of channels.
                told = self._analyze(
                    img_path=picture.pixels[:, :, ::-1].copy(),
                    actions=ACTIONS,
                    detector_backend=self._name,
                    enforce_detection=True,
                    silent=True,
                )
        except Exception as error:
            # An unknown finder, one whose package lacks, weights that cannot be fetched: not the image's fault.
            if "could not be detected" in str(error) or type(error).__name__ == "FaceNotDetected":
                return Reading(picture.size)
            raise FairgateError(f"DeepFace: {error}.", where=f"deepface/{self._name}") from error
        return Reading(picture.size, tuple(map(_face, told if isinstance(told, list) else [told])))

    def read_all(self, contents: Sequence[bytes]) -> list[Reading]:
        """All faces of each of these image files, one after the other."""
        return [self.read(content) for content in contents]

    def close(self) -> None:
        """Nothing is held."""


def _face(told: Mapping[str, Any]) -> Face:
    region = told["region"]
    left, top = float(region["x"]), float(region["y"])
    return Face(
        (left, top, left + float(region["w"]), top + float(region["h"])),
        float(told.get("face_confidence", 1.0)),
        gender=_shares(told["gender"]),
        race=_shares(told["race"]),
        age={range_of(int(told["age"])): 1.0},
    )


def _shares(percent: Mapping[str, float]) -> dict[str, float]:
    return {label: round(float(share) / 100, 5) for label, share in percent.items()}


def _version() -> str:
    try:
        return version("deepface")
    except PackageNotFoundError:
        return "unknown"
