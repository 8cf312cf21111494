"""`fairgate doctor`: what is installed for images, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from fairgate import __version__
from fairgate.benchmarks.base import Package
from fairgate.benchmarks.registry import registry
from fairgate.core.errors import ERROR, FairgateError
from fairgate.providers.faces.weights import WeightsFolder, default_folder, kinds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

EXTRA = "pip install 'fairgate[images]'"
# Distributions that write the same folder: any second one leaves it in disorder.
RUNTIMES = {"onnxruntime", "onnxruntime-gpu", "onnxruntime-directml", "onnxruntime-openvino", "ort-nightly"}
OPENCVS = {f"opencv{of}-python{how}" for of in ("", "-contrib") for how in ("", "-headless")}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One line. `well` is None for what is only said; where it is False, no real detector can be used."""

    well: bool | None
    what: str
    hint: str = ""

    def __str__(self) -> str:
        mark = {True: "ok  ", False: "FIX ", None: "    "}[self.well]
        return f"{mark} {self.what}" + (f"\n     -> {self.hint}" if self.hint else "")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    doctor = commands.add_parser(
        "doctor",
        help="what is installed for gating images, what is missing, and what to do about it",
        description="Checks what gating an image model with real detectors needs; exit 0 where nothing is missing.",
    )
    doctor.add_argument("--weights", type=Path, metavar="DIR", help="the folder, in place of the user's cache")
    doctor.set_defaults(command=_doctor)


def _doctor(options: argparse.Namespace) -> tuple[str, int]:
    checks = list(examine(WeightsFolder(options.weights or default_folder())))
    well = all(check.well is not False for check in checks)
    last = (
        "Complete: --t2i-model openai/NAME is gated with faces/fairface."
        if well
        else "Some parts are missing. Control image models work; real image models need every line marked FIX."
    )
    return "\n".join([*map(str, checks), "", last, ""]), 0 if well else ERROR


def examine(folder: WeightsFolder) -> Iterator[Diagnosis]:
    """All checks, in order: packages, runtime, control detector, weights, and what is not needed."""
    yield Diagnosis(None, f"fairgate {__version__}, Python {platform.python_version()}, {sys.platform}")
    installed = {each.metadata["Name"].lower(): each.version for each in distributions() if each.metadata["Name"]}
    yield from _packages(installed)
    yield from _runtime(installed)
    yield _control()
    yield from _weights(folder)
    yield from _others()


def _packages(installed: dict[str, str]) -> Iterator[Diagnosis]:
    for name, module in (("pillow", "PIL"), ("insightface", "insightface"), ("OpenCV", "cv2")):
        try:
            __import__(module)
        except ImportError as error:
            missing_library = "lib" in str(error) and ".so" in str(error)
            hint = "In slim containers: pip uninstall -y opencv-python, then pip install opencv-python-headless"
            yield Diagnosis(False, f"{name} cannot be imported: {error}", hint if missing_library else EXTRA)
        else:
            yield Diagnosis(True, f"{name} {_version(name)}")
    several = sorted(OPENCVS & installed.keys())
    if len(several) > 1:
        hint = f"They share a folder. pip uninstall -y {' '.join(several)}, then pip install one of them"
        yield Diagnosis(None, f"{' and '.join(several)} are both installed", hint)


def _runtime(installed: dict[str, str]) -> Iterator[Diagnosis]:
    there = sorted(RUNTIMES & installed.keys())
    if len(there) > 1:
        hint = (
            f"They write the same folder. pip uninstall -y {' '.join(there)}, then pip install onnxruntime "
            "(or onnxruntime-gpu)"
        )
        yield Diagnosis(False, f"{' and '.join(there)} are both installed: the last one written is active", hint)
    try:
        import onnxruntime

        providers = onnxruntime.get_available_providers()
    except (ImportError, AttributeError) as error:
        yield Diagnosis(False, f"onnxruntime cannot be used: {error}", "pip install --force-reinstall onnxruntime")
        return
    which = f"{there[0]} " if len(there) == 1 else "onnxruntime "
    yield Diagnosis(True, f"{which}{onnxruntime.__version__}; it offers {', '.join(providers)}")
    yield _cuda(providers)
    off = os.environ.get("ORT_DISABLE_TELEMETRY") == "1"
    yield Diagnosis(
        off, f"onnxruntime's telemetry is {'off' if off else 'on'}", "" if off else "ORT_DISABLE_TELEMETRY=1"
    )


def _cuda(providers: list[str]) -> Diagnosis:
    from fairgate.providers.faces import runtime, toy_graphs

    try:
        used = runtime.runs_on([runtime.session(toy_graphs.FOLDER / "fairface" / "fairface.onnx")])
    except (FairgateError, ImportError) as error:
        return Diagnosis(False, f"no session can be made: {error}", EXTRA)
    if used == "CUDA":
        return Diagnosis(True, "networks run on CUDA")
    if runtime.CUDA in providers:
        return Diagnosis(None, "CUDA is offered and cannot be used: networks run on the CPU", "docs/images.md, GPU")
    return Diagnosis(None, "networks run on the CPU (for a GPU: docs/images.md)")


def _control() -> Diagnosis:
    """Draws a portrait and reads it."""
    from fairgate.providers.faces.factory import make
    from fairgate.providers.images.portraits import draw, shown

    chance = Random(1)  # noqa: S311 - draws people, guards nothing
    try:
        drawn = shown({}, {}, chance)
        faces = make("control/fairface").read(draw([drawn], (512, 512), chance)).faces
    except (FairgateError, ImportError) as error:
        return Diagnosis(False, f"the control detector fails: {error}", EXTRA)
    right = len(faces) == 1 and all(
        max(of := faces[0].attribute(name), key=of.__getitem__) == label for name, label in drawn.items()
    )
    told = "reads a control's portrait as it was drawn" if right else "misreads a control's portrait"
    return Diagnosis(right, f"the control detector needs no weights, and {told}", "" if right else EXTRA)


def _weights(folder: WeightsFolder) -> Iterator[Diagnosis]:
    yield Diagnosis(None, f"weights in {folder.path}")
    for kind in kinds().values():
        # FairFace tells gender and age itself.
        needed = kind.name != "genderage"
        try:
            network = folder.network(kind.name)
        except FairgateError as error:
            told = f"{kind.name}: {error.what}"
            yield Diagnosis(
                False if needed else None, told, f"{error.hint or ''}{'' if needed else ' (faces/insightface)'}"
            )
        else:
            recorded = f"{kind.name}/{network.path.name}" in folder.sums()
            yield Diagnosis(True, f"{kind.name}: {network.path.name}, SHA-256 {network.sha256}")
            yield Diagnosis(None, f"{kind.licence}{'' if recorded else ' Not pulled by fairgate: no sum is recorded.'}")


def _others() -> Iterator[Diagnosis]:
    wanted = {"deepface": Package("the detector deepface/NAME", "fairgate[deepface]")}
    for plugin in registry().plugins:
        wanted |= plugin.packages
    for name, about in wanted.items():
        try:
            yield Diagnosis(None, f"{name} {version(name)}, for {about.to}")
        except PackageNotFoundError:
            yield Diagnosis(None, f"{name} is not installed; only {about.to} needs it", f"pip install '{about.extra}'")
    yield Diagnosis(None, "no browser is needed")


def _version(name: str) -> str:
    if name == "OpenCV":
        import cv2

        return str(cv2.__version__)
    return version(name)
