"""Attributes of found faces: FairFace's gender, race and age, or insightface's gender and age."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairgate.core.errors import FairgateError
from fairgate.providers.faces import runtime
from fairgate.providers.faces.alignment import SIZE, chip
from fairgate.replies.labels import own_labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from fairgate.providers.faces.face_finder import FoundFace

# By attribute and label; what a reader does not tell is not there.
Attributes = dict[str, dict[str, float]]

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, in shares of 255
AT_ONCE = 64  # chips in one call: 37 MB


class AttributeReader(Protocol):
    """Reads the attributes of faces, of any number of images at once. Threads may call at once."""

    @property
    def session(self) -> Any:
        """The session that it runs in."""
        ...

    def read(self, faces: Sequence[tuple[NDArray[np.uint8], FoundFace]]) -> list[Attributes]:
        """The attributes of each of these faces, each with its RGB image [h, w, 3]."""
        ...


class FairFace:
    """FairFace's model of seven races: 18 logits in one output, or race, gender and age in three."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        self._path, self._labels = path, own_labels("fairface")
        self.session = runtime.session(path, threads)
        # Of an output without a shape the width is unknown, and a graph may lack inputs.
        widths = [each.shape[-1] if each.shape else None for each in self.session.get_outputs()]
        taken = [each.shape for each in self.session.get_inputs()]
        self._places = _places(widths, self._labels)
        if len(taken) != 1 or self._places is None or list(taken[0] or ())[1:] != [3, SIZE, SIZE]:
            raise FairgateError(
                f"takes {taken} and gives {widths} values: FairFace takes [n, 3, 224, 224] and gives 18 logits, "
                "or race, gender and age (7, 2, 9).",
                where=str(path),
                hint="Export the model of seven races (res34_fair_align_multi_7).",
            )
        [entry] = self.session.get_inputs()
        self._input = entry.name
        self._at_once = entry.shape[0] if isinstance(entry.shape[0], int) else AT_ONCE

    def read(self, faces: Sequence[tuple[NDArray[np.uint8], FoundFace]]) -> list[Attributes]:
        """Gender, race and age of each face, by FairFace's labels."""
        chips = [chip(pixels, found) for pixels, found in faces]
        parts = (chips[start : start + self._at_once] for start in range(0, len(chips), self._at_once))
        with runtime.translated(self._path, runtime.UNUSABLE):
            return [each for part in parts for each in self._read(part)]

    def _read(self, chips: Sequence[NDArray[np.uint8]]) -> list[Attributes]:
        outputs = self.session.run(None, {self._input: normalised(chips)})
        logits = np.concatenate([np.reshape(each, (len(chips), -1)) for each in outputs], axis=1)
        if not np.isfinite(logits).all():
            raise ValueError("a logit is no number")
        shares = {
            attribute: softmax(logits[:, start : start + len(self._labels[attribute])])
            for attribute, start in (self._places or {}).items()
        }
        return [
            {
                attribute: dict(zip(self._labels[attribute], map(float, of[face]), strict=True))
                for attribute, of in shares.items()
            }
            for face in range(len(chips))
        ]


def _places(widths: Sequence[object], labels: Mapping[str, tuple[str, ...]]) -> dict[str, int] | None:
    """Where each attribute's logits start in the outputs, one after the other; None where they are none of ours."""
    order = ("race", "gender", "age")
    if widths == [18]:
        widths = [len(labels[attribute]) for attribute in order]
    by_width = {len(labels[attribute]): attribute for attribute in order}
    if sorted(map(str, widths)) != sorted(map(str, by_width)):
        return None
    places, start = {}, 0
    for width in widths:
        if not isinstance(width, int):
            return None
        places[by_width[width]] = start
        start += width
    return places


def normalised(chips: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """Chips [n] of [224, 224, 3] as the network takes them: [n, 3, 224, 224], ImageNet's mean 0 and deviation 1."""
    whole = np.empty((len(chips), 3, SIZE, SIZE), np.float32)
    for place, each in enumerate(chips):
        whole[place] = each.transpose(2, 0, 1)
    mean, std = (np.array(each, np.float32)[:, None, None] for each in (MEAN, STD))
    whole /= 255 * std
    whole -= mean / std
    return whole


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Probabilities [n, k] of finite logits [n, k]."""
    safe = logits.astype(np.float64)
    powers = np.exp(safe - safe.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


class GenderAge:
    """insightface's model of gender and age. It gives a group and a number of years, not how sure it is."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        from insightface.model_zoo import get_model

        with runtime.translated(path, "insightface does not load this model"):
            self._model = get_model(str(path), providers=runtime.offered(), sess_options=runtime.options(threads))
            told = getattr(self._model, "taskname", "nothing")
        if told != "genderage":
            raise FairgateError(f"tells {told}, not gender and age.", where=str(path), hint="fairgate weights pull")
        self.session, self._path = self._model.session, path
        self._labels = own_labels("insightface")

    def read(self, faces: Sequence[tuple[NDArray[np.uint8], FoundFace]]) -> list[Attributes]:
        """Gender and age of each face; years as FairFace's range that holds them, so that one map serves both."""
        import cv2
        from insightface.app.common import Face

        told = []
        for pixels, found in faces:
            face = Face(bbox=np.array(found.box, np.float32))
            with runtime.translated(self._path, runtime.UNUSABLE):
                gender, age = self._model.get(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), face)
                told.append({"gender": {self._labels["gender"][int(gender)]: 1.0}, "age": {range_of(int(age)): 1.0}})
        return told


def range_of(years: int) -> str:
    """FairFace's range of ages that holds this many years."""
    ages = own_labels("fairface")["age"]
    starts = [int(each.partition("-")[0].rstrip("+")) for each in ages]
    return ages[max(place for place, start in enumerate(starts) if place == 0 or years >= start)]
