"""Chips: faces cut out, turned and scaled as FairFace was trained on them.

FairFace's chips are dlib's, of five points, padded by 0.25 and 224 pixels wide. insightface gives other points (the
nose's tip where dlib has its base), so it is their place on such a chip, derived from dlib's mean face, that they are
moved to. The least squares of five points leaves them within a pixel of dlib's own chips.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fairgate.providers.faces.face_finder import FoundFace

SIZE = 224

# Both eyes, the nose's tip, both corners of the mouth, those on the image's left first.
TARGETS = np.array([(71.01, 69.59), (150.04, 69.59), (110.53, 114.33), (75.29, 153.85), (145.76, 153.85)])

# Where these points usually lie within a face's box, in shares of its width and height: for detectors without points.
IN_BOX = np.array([(0.29, 0.385), (0.71, 0.385), (0.5, 0.585), (0.32, 0.775), (0.68, 0.775)])


def points_of(found: FoundFace) -> NDArray[np.float64]:
    """The five points of a face [5, 2], in pixels: its own, or roughly where they lie in its box."""
    if found.points is not None:
        return found.points
    left, top, right, bottom = found.box
    return np.array((left, top)) + IN_BOX * (right - left, bottom - top)


def similarity(points: NDArray[np.float64], targets: NDArray[np.float64] = TARGETS) -> NDArray[np.float64]:
    """The turn, scale and shift [2, 3] that bring points [n, 2] nearest to targets [n, 2], by least squares.

    A turn and a scale are one complex number, which regression on centred points gives.
    """
    here, there = points[:, 0] + 1j * points[:, 1], targets[:, 0] + 1j * targets[:, 1]
    centred = here - here.mean()
    turn = (centred.conj() @ (there - there.mean())) / max(float(np.vdot(centred, centred).real), 1e-9)
    shift = there.mean() - turn * here.mean()
    return np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])


def chip(pixels: NDArray[np.uint8], found: FoundFace) -> NDArray[np.uint8]:
    """The face as a chip [224, 224, 3] of an RGB image [h, w, 3]; black beyond the image's edge."""
    import cv2

    moved = similarity(points_of(found))
    scale = math.hypot(moved[0, 0], moved[1, 0])
    # As dlib does: a large face is halved until less than half is left to shrink, else pixels would be skipped.
    halvings = max(0, math.floor(-math.log2(max(scale, 1e-6))))
    if halvings:
        pixels, moved = _halved(pixels, moved, 2**halvings)
    return np.asarray(cv2.warpAffine(pixels, moved, (SIZE, SIZE), flags=cv2.INTER_LINEAR), np.uint8)


def _halved(
    pixels: NDArray[np.uint8], moved: NDArray[np.float64], by: int
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The part of the image that the chip shows, smaller by this factor, and the way from there to the chip."""
    import cv2

    inverse = np.linalg.inv(moved[:, :2])
    corners = np.array([(0, 0), (SIZE, 0), (0, SIZE), (SIZE, SIZE)]) - moved[:, 2]
    reach = corners @ inverse.T
    height, width = pixels.shape[:2]
    left, top = np.clip(np.floor(reach.min(0)).astype(int) - by, 0, (width - 1, height - 1))
    right, bottom = np.clip(np.ceil(reach.max(0)).astype(int) + by, (left + 1, top + 1), (width, height))
    part = pixels[top:bottom, left:right]
    across, down = max(1, part.shape[1] // by), max(1, part.shape[0] // by)
    small = cv2.resize(part, (across, down), interpolation=cv2.INTER_AREA)
    # A pixel's centre at i lies at (i + ½) of the larger ones, less ½.
    stretch = np.array((part.shape[1] / across, part.shape[0] / down))
    origin = np.array((left, top)) + (stretch - 1) / 2
    linear = moved[:, :2] * stretch
    return np.asarray(small, np.uint8), np.column_stack([linear, moved[:, :2] @ origin + moved[:, 2]])
