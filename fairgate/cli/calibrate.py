"""`fairgate calibrate`: how a detector errs on a labelled folder."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import check_inside
from fairgate.core.errors import ConfigError, DataError
from fairgate.core.files import read_bytes, whole
from fairgate.core.plural import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from fairgate.providers.faces.calibration import Confusion, Labelled, Measuring
    from fairgate.providers.faces.detector import FaceDetector
    from fairgate.replies.faces import Reading

TOGETHER = 16  # images in one call
SHOWN = "default"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    calibrate = commands.add_parser(
        "calibrate",
        help="measure a face detector on a labelled folder, for scores that are corrected for its errors",
        description="Reads the faces of DIR, whose labels.csv has the columns `file` and any of `gender`, `race` and "
        "`age`, prints how often each group was taken for which, with 95 % intervals, and writes the counts to a file "
        "for --calibration. Take faces like those of the images that are to be judged: errors need not carry over.",
    )
    calibrate.add_argument("folder", type=Path, metavar="DIR", help="the labelled folder")
    calibrate.add_argument(
        "--detector", default="faces/fairface", metavar="PROVIDER/NAME", help="default: faces/fairface"
    )
    calibrate.add_argument("--detector-arg", action="append", default=[], metavar="KEY=VALUE", help="as in a run")
    calibrate.add_argument("--weights", type=Path, metavar="DIR", help="where its weights are")
    calibrate.add_argument(
        "--output", type=Path, default=Path("calibration.json"), metavar="PATH", help="default: calibration.json"
    )
    calibrate.set_defaults(command=_calibrate)


def _calibrate(options: argparse.Namespace) -> str:
    from fairgate.providers.faces.calibration import Calibration, Measuring, labelled, measure
    from fairgate.providers.faces.factory import make
    from fairgate.replies.labels import label_maps

    check_inside(Path(), options.output, "--output")
    images = labelled(options.folder)
    detector = make(options.detector, weights=options.weights, arguments=options.detector_arg)
    known = {attribute for image in images for attribute in image.labels}
    measuring = [Measuring(of, what, each) for (of, what, _), each in label_maps().items() if what in known]
    try:
        unreadable = measure(images, _readings(detector, images), measuring, tell=_Teller(len(images)))
    finally:
        detector.close()
    found = tuple(each.confusion for each in measuring)
    if not any(sum(map(sum, each.counts)) for each in found):
        raise DataError(
            f"none of {counted(len(images), 'image')} shows a face of a known group ({unreadable:,} are unreadable).",
            where=str(options.folder),
            hint="Labels are groups' names, as in male and Asian, or FairFace's own.",
        )
    calibration = Calibration(detector.identity.canonical, found, len(images), unreadable)
    try:
        with whole(options.output, follow=False) as file:
            file.write(calibration.to_json().encode())
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}.", where=f"--output {options.output}") from error
    lines = [
        f"{options.detector} on {counted(len(images), 'image')} of {options.folder}, {unreadable:,} of them unreadable."
    ]
    for each in measuring:
        if each.label_map.name == SHOWN:
            lines += ["", *_table(each.confusion), *_unnamed(each)]
    lines += ["", f"Written to {options.output}: give it to a run with --calibration={options.output}"]
    return "\n".join(lines) + "\n"


def _readings(detector: FaceDetector, images: Sequence[Labelled]) -> Iterator[Reading]:
    for start in range(0, len(images), TOGETHER):
        yield from detector.read_all([_content(image.path) for image in images[start : start + TOGETHER]])


def _content(path: Path) -> bytes:
    """An image's bytes; none where it cannot be read, which is counted as unreadable."""
    from fairgate.ledger.images import ImageLimits

    with suppress(OSError):
        return read_bytes(path, ImageLimits().content)
    return b""


class _Teller:
    """How far it is, on the terminal alone."""

    def __init__(self, whole: int) -> None:
        self._whole = whole

    def __call__(self, number: int) -> None:
        if sys.stderr.isatty() and (number % TOGETHER == 0 or number == self._whole):
            end = "\n" if number == self._whole else ""
            print(f"\r{number:,} of {self._whole:,} images", end=end, file=sys.stderr, flush=True)


def _table(confusion: Confusion) -> Iterator[str]:
    from fairgate.core.statistics.proportions import clopper_pearson

    yield f"## {confusion.benchmark}, {confusion.attribute}"
    yield ""
    yield "| is | faces | " + " | ".join(f"found {group}" for group in confusion.groups) + " | none found |"
    yield "|---|---|" + "---|" * (len(confusion.groups) + 1)
    for group, row, lost in zip(confusion.groups, confusion.counts, confusion.undetected, strict=True):
        faces = sum(row)
        cells = []
        for n in row:
            low, high = (100 * end for end in clopper_pearson(n, faces))
            cells.append(f"{100 * n / faces:.1f} % [{low:.1f}, {high:.1f}]" if faces else "-")
        yield f"| {group} | {faces} | " + " | ".join(cells) + f" | {lost} |"
    right, whole = sum(row[i] for i, row in enumerate(confusion.counts)), sum(map(sum, confusion.counts))
    if whole:
        low, high = (100 * end for end in clopper_pearson(whole - right, whole))
        yield f"\nWrong in {100 * (whole - right) / whole:.1f} % [{low:.1f}, {high:.1f}] of {counted(whole, 'face')}."


def _unnamed(measuring: Measuring) -> Iterator[str]:
    if measuring.unnamed:
        told = ", ".join(f"{label} ({n})" for label, n in sorted(measuring.unnamed.items()))
        yield f"Labels that have no group here, left out: {told}."
