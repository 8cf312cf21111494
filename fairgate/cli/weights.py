"""`fairgate weights`: pulls, takes or shows the networks that read faces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.providers.faces.weights import Network, WeightsFolder, default_folder, kind, kinds

if TYPE_CHECKING:
    import argparse


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    weights = commands.add_parser(
        "weights",
        help="pull, take or show the networks that read faces",
        description="The networks that read faces in images. Their licences are printed: insightface's pretrained "
        "models are for non-commercial research only.",
    )
    actions = weights.add_subparsers(required=True, metavar="ACTION")
    pull = actions.add_parser("pull", help="fetch them: insightface's from its own address, FairFace's from yours")
    pull.add_argument("--url", help="address of insightface's models (default: buffalo_l.zip at its own address)")
    pull.add_argument("--sha256", metavar="SUM", help="what the package's SHA-256 must be")
    pull.add_argument("--fairface-url", metavar="URL", help="address of FairFace's model of seven races, as ONNX")
    pull.add_argument("--fairface-sha256", metavar="SUM", help="what its SHA-256 must be")
    pull.set_defaults(command=_pull)
    take = actions.add_parser("add", help="take one from a file")
    take.add_argument("kind", choices=sorted(kinds()), help="which network it is")
    take.add_argument("file", type=Path, metavar="FILE")
    take.add_argument("--sha256", metavar="SUM", help="what its SHA-256 must be")
    take.set_defaults(command=_add)
    show = actions.add_parser("show", help="say which are there")
    show.set_defaults(command=_show)
    for action in (pull, take):
        action.add_argument("--replace", action="store_true", help="overwrite existing ones")
    for action in (pull, take, show):
        action.add_argument("--weights", type=Path, metavar="DIR", help="the folder, in place of the user's cache")


def _folder(options: argparse.Namespace) -> WeightsFolder:
    return WeightsFolder(options.weights or default_folder())


def _pull(options: argparse.Namespace) -> str:
    from fairgate.providers.faces.download import Puller, package_address

    folder = _folder(options)
    puller = Puller(folder, replace=options.replace, progress=_progress)
    missing = not all(folder.files(each.name) for each in kinds().values() if each.package)
    pulled: list[Network] = []
    if options.url or options.replace or missing:
        pulled += puller.pull_package(options.url or package_address(), options.sha256)
    if options.fairface_url:
        pulled.append(puller.pull(kind("fairface"), options.fairface_url, options.fairface_sha256))
    told = [f"kept {each.path} ({each.sha256})" for each in pulled] or ["nothing to pull: all of insightface's is here"]
    return "\n".join([*told, "", *_state(folder), ""])


def _add(options: argparse.Namespace) -> str:
    from fairgate.providers.faces.download import Puller

    folder = _folder(options)
    kept = Puller(folder, replace=options.replace).add(kind(options.kind), options.file, options.sha256)
    return "\n".join([f"kept {kept.path} ({kept.sha256})", "", *_state(folder), ""])


def _show(options: argparse.Namespace) -> str:
    return "\n".join([*_state(_folder(options)), ""])


def _state(folder: WeightsFolder) -> list[str]:
    lines = [f"weights in {folder.path}"]
    for each in kinds().values():
        there = folder.files(each.name)
        named = folder.network(each.name) if there else None
        lines += [
            f"- {each.name}: {each.title}",
            f"  {each.licence}",
            f"  {named.path.name}, SHA-256 {named.sha256}" if named else "  not there",
        ]
        if named is None and each.package is None:
            lines.append("  give its address (weights pull --fairface-url URL) or its file (weights add fairface FILE)")
    return lines


def _progress(done: int, whole: int | None) -> None:
    if sys.stderr.isatty():
        of = f" of {whole / 2**20:.0f}" if whole else ""
        sys.stderr.write(f"\r{done / 2**20:.0f}{of} MiB" + ("\n" if done == whole else ""))
