"""`fairgate faces`: the faces of a ledger's images, or of a folder's, read on this machine or on many."""

from __future__ import annotations

import os
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import check_unlinked
from fairgate.core.errors import ConfigError, FairgateError
from fairgate.core.plural import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

FACES = Path("faces.sqlite")  # the ledger of a folder's faces, in it
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    faces = commands.add_parser(
        "faces",
        help="read the faces of a ledger's images, or of a folder's, on this machine or on a Ray cluster",
        description="Reads whatever this detector has not read yet, and stores each batch in the ledger as it comes: "
        "stopped or killed, it goes on where it was. A later run of pytest with the same detector finds all read.",
    )
    faces.add_argument("path", type=Path, metavar="LEDGER|DIR", help="a ledger of generated images, or a folder")
    faces.add_argument("--ray", metavar="ADDRESS", help="a Ray cluster: auto, HOST:PORT or ray://HOST:PORT")
    faces.add_argument(
        "--actors", type=int, metavar="N", help="readers on the cluster. Default: one a GPU, or processor"
    )
    faces.add_argument("--detector", default="faces/fairface", metavar="PROVIDER/NAME", help="default: faces/fairface")
    faces.add_argument("--detector-arg", action="append", default=[], metavar="KEY=VALUE", help="as in a run")
    faces.add_argument("--weights", type=Path, metavar="DIR", help="where its weights are, on every node")
    faces.add_argument("--batch", type=int, default=32, metavar="N", help="images in a batch. Default: 32")
    faces.add_argument("--ledger", type=Path, metavar="PATH", help=f"of a folder: default DIR/{FACES}")
    faces.set_defaults(command=_faces)


def _faces(options: argparse.Namespace) -> str:
    from fairgate.ledger.images import ImageStore
    from fairgate.ledger.ledger import Ledger
    from fairgate.providers.faces import bulk
    from fairgate.sampling.ledger_lock import LedgerLock

    if options.batch < 1 or (options.actors is not None and options.actors < 1):
        raise ConfigError("there must be one at least.", where="--batch and --actors")
    path, folder = options.path, options.path.is_dir()
    if not folder and not path.is_file():
        raise ConfigError("no such ledger or folder.", where=str(path))
    file = (options.ledger or path / FACES) if folder else path
    if folder and options.ledger is None:
        check_unlinked(path, FACES, "--ledger", "Remove it, or name the ledger itself: --ledger PATH.")
    maker = bulk.Maker(options.detector, options.weights and str(options.weights), tuple(options.detector_arg))
    detector = maker.make()
    turn = LedgerLock(file, "fairgate faces")
    began, count, lost = time.monotonic(), 0, bulk.Lost()
    try:
        with Ledger(file) as ledger:
            store, identity = ImageStore(file), detector.identity
            if folder:
                names = sorted(each for each in _below(path) if each.suffix.lower() in PICTURES)
                pending = bulk.images_in(path, names, store, ledger, identity, lost)
            else:
                pending = bulk.images_of(ledger, identity)
            done = (
                bulk.here(detector, store, pending, lost, options.batch)
                if options.ray is None
                else bulk.on_ray(maker, store, pending, options.ray, lost, options.batch, options.actors)
            )
            for more in bulk.keep(ledger, uuid.uuid4().hex, identity, done):
                count += more
                if sys.stderr.isatty():
                    print(f"\r{counted(count, 'image')}", end="", file=sys.stderr, flush=True)
    finally:
        detector.close()
        turn.release()
    seconds = max(time.monotonic() - began, 1e-9)
    images = counted(count, "image")
    told = f"{images} read by {options.detector} in {seconds:.1f} s ({count / seconds:.1f}/s), kept in {file}"
    if lost.count:
        raise FairgateError(f"{told}; {lost.count:,} could not be read from the disk, the first: {lost.first}")
    return f"{told}\n"


def _below(folder: Path) -> Iterator[Path]:
    """All files below a folder, however deep; linked folders are not gone into."""
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names)
