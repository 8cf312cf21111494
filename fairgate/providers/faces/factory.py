"""PROVIDER/NAME -> the detector that it names."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from fairgate.core.domain import Identity
from fairgate.core.errors import ConfigError, MissingDependency, did_you_mean
from fairgate.providers.faces.weights import WeightsFolder, default_folder
from fairgate.replies.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fairgate.providers.faces.attributes import AttributeReader
    from fairgate.providers.faces.detector import FaceDetector
    from fairgate.providers.faces.face_finder import FaceFinder

# Raised where the same weights would now read otherwise: other alignment, other rounding.
VERSION = 1
ONNX = {"faces/fairface": "fairface", "faces/insightface": "genderage", "control/fairface": "fairface"}
ARGUMENTS = {"size": (64, 2048), "confidence": (0.05, 0.99)}
SIZE, CONFIDENCE = 640, 0.5  # insightface's larger size, and its threshold
CONTROL_SIZE = 320  # faces of portraits are large
CONTROL = ROOT / "control"
EXTRA = "pip install 'fairgate[images]'"
# Chat models that can be shown an image.
VISION = ("anthropic", "azure", "openai")


def make(spec: str, *, weights: Path | None = None, arguments: Sequence[str] = ()) -> FaceDetector:
    """The detector of this name; not for `openai/NAME`, a vision model (`vision_detector.py`).

    `weights`: the folder that holds them, the user's cache if none is named. `arguments`: `size=640`, the pixels that
    an image is scaled to (a multiple of 32), and `confidence=0.5`, from which on a face counts. Raises ConfigError for
    what is not known, and FairgateError, with the command to run, where packages or weights lack.
    """
    provider, _, name = spec.partition("/")
    if provider == "deepface" and name:
        from fairgate.providers.faces.deepface import DeepFaceDetector

        return DeepFaceDetector(name, arguments)
    if provider in VISION and name:
        raise ConfigError(
            "vision models work only in `fairgate run`.",
            where=f"--detector {spec}",
            hint="Give it to pytest, which asks what its ledger does not hold; or name a detector that runs here.",
        )
    if spec not in ONNX:
        known = [*ONNX, "deepface/retinaface", "openai/NAME", "anthropic/NAME"]
        raise ConfigError(f"no detector {spec!r}.", where="--detector", hint=did_you_mean(spec, known))
    size, confidence = _arguments(arguments, CONTROL_SIZE if provider == "control" else SIZE)
    _installed()
    from fairgate.providers.faces.onnx_detector import OnnxDetector

    folder = WeightsFolder(CONTROL if provider == "control" else weights or default_folder())
    # What reads faces first: the command that its error names pulls the detector as well.
    networks = {each: folder.network(each) for each in (ONNX[spec], "detection")}
    # Not where it runs: CUDA and CPU give the same labels, and need not read the same images twice.
    parameters: dict[str, object] = {"version": VERSION, "size": size, "confidence": confidence}
    parameters |= {each: network.sha256 for each, network in networks.items()}

    def load() -> tuple[FaceFinder, AttributeReader]:
        from fairgate.providers.faces.attributes import FairFace, GenderAge
        from fairgate.providers.faces.face_finder import FaceFinder

        finder = FaceFinder(networks["detection"].path.parent, size=size, confidence=confidence)
        return finder, (FairFace if ONNX[spec] == "fairface" else GenderAge)(networks[ONNX[spec]].path)

    return OnnxDetector(Identity(provider, name, parameters=parameters), load)


def _arguments(given: Sequence[str], size: int) -> tuple[int, float]:
    chosen = {"size": float(size), "confidence": CONFIDENCE}
    for each in given:
        key, _, value = each.partition("=")
        if key not in ARGUMENTS:
            raise ConfigError(f"{each!r} is not known.", where="--detector-arg", hint=did_you_mean(key, ARGUMENTS))
        low, high = ARGUMENTS[key]
        try:
            chosen[key] = float(value)
        except ValueError:
            chosen[key] = float("nan")
        if not low <= chosen[key] <= high or (key == "size" and chosen[key] % 32):
            raise ConfigError(
                f"{value!r} cannot be used.",
                where=f"--detector-arg {key}",
                hint=f"From {low} to {high}{', a multiple of 32' if key == 'size' else ''}.",
            )
    return int(chosen["size"]), chosen["confidence"]


def _installed() -> None:
    for package in ("insightface", "pillow"):
        try:
            version(package)
        except PackageNotFoundError as error:
            raise MissingDependency(f"{package} is not installed, and faces are found with it.", hint=EXTRA) from error
