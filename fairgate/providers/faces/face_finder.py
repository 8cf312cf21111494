"""Faces found in a picture by insightface: its loader, its SCRFD, all faces of an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.core.errors import FairgateError
from fairgate.providers.faces import runtime

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SMALLEST = 16  # pixels of the shorter side, when the longer one is scaled: a thinner image shows no face


@dataclass(frozen=True, slots=True, eq=False)
class FoundFace:
    """One face: `box` is left, top, right, bottom in pixels, `points` [5, 2] where the detector gives them."""

    box: tuple[float, float, float, float]
    confidence: float
    points: NDArray[np.float64] | None = None


class FaceFinder:
    """SCRFD, or any detector in its shapes, from the only ONNX file of a folder.

    Faces are looked for in the picture scaled to `size` pixels, and counted from this `confidence` on (0 to 1).
    """

    def __init__(self, folder: Path, *, size: int, confidence: float, threads: int = 1) -> None:
        # insightface would try to download a folder that is not there, and fail on an empty one without a word.
        if not any(folder.glob("*.onnx")):
            raise FairgateError("holds no detector.", where=str(folder), hint="fairgate weights pull")
        from insightface.app import FaceAnalysis

        self.size = size
        with runtime.translated(folder, "insightface does not load this detector"):
            found = FaceAnalysis(
                name=str(folder),
                allowed_modules=["detection"],
                providers=runtime.offered(),
                sess_options=runtime.options(threads),
            )
        with runtime.translated(folder, "insightface cannot use this detector"):
            # Its default would look at a second, smaller size too, whose worse boxes win ties.
            found.prepare(ctx_id=0, det_thresh=confidence, det_size=(size, size))
        self._detector: Any = found.det_model
        self._folder = folder

    @property
    def session(self) -> Any:
        """The session that it runs in."""
        return self._detector.session

    def find(self, pixels: NDArray[np.uint8]) -> list[FoundFace]:
        """All faces of an RGB image [h, w, 3], the most certain first. Threads may call at once."""
        import cv2

        height, width = pixels.shape[:2]
        if min(height, width) * self.size < SMALLEST * max(height, width):
            return []
        with runtime.translated(self._folder, runtime.UNUSABLE):
            boxes, points = self._detector.detect(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
        return [
            FoundFace(
                (float(box[0]), float(box[1]), float(box[2]), float(box[3])),
                float(box[4]),
                None if points is None else np.asarray(points[place], np.float64),
            )
            for place, box in enumerate(boxes)
            # Weights in disorder may give anything; what is no number is no face.
            if np.isfinite(box).all() and (points is None or np.isfinite(points[place]).all())
        ]
