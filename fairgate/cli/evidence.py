"""`fairgate evidence`: a dossier of a ledger's run for those who release a model, as Markdown, HTML and JSON."""

from __future__ import annotations

import datetime
import hashlib
import platform
import re
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate import __version__
from fairgate.cli import gate
from fairgate.core.current_folder import check_inside
from fairgate.core.errors import FairgateError
from fairgate.core.files import whole
from fairgate.ledger.paths import place_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from fairgate.reports.dossier.contents import Provenance
    from fairgate.runs.past_run import Past

FOLDER = Path("fairgate-evidence")
WAL = "-wal"  # SQLite's write-ahead log: what a run has written, and not yet moved into the file


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    evidence = commands.add_parser(
        "evidence",
        help="write a dossier of a ledger's run",
        description="Judges a ledger's last run again, offline, and writes evidence.md, evidence.html and "
        "evidence.json: what was tested, limits and waivers, verdicts with intervals, error rates of judge and "
        "detector, impact ratios, hashes and versions, and what they do not show.",
    )
    gate.add_inputs(evidence)
    evidence.add_argument(
        "--output", type=Path, default=FOLDER, metavar="DIR", help=f"the folder to write. Default: {FOLDER}"
    )
    evidence.set_defaults(command=_evidence)


def _evidence(options: argparse.Namespace) -> str:
    from fairgate.reports.dossier.render import to_html, to_json, to_markdown

    past = gate.found(options)
    # The verdict is to be of the bytes that the hash is of.
    before = hashes(options.ledger)
    report = gate.judged(options)
    if hashes(options.ledger) != before:
        raise FairgateError(
            "it changed while it was judged.", where=str(options.ledger), hint="Wait for the run's end."
        )
    origin = _origin(options.ledger, past, before)
    folder: Path = options.output
    check_inside(Path(), folder, "--output")
    folder.mkdir(parents=True, exist_ok=True)
    for name, render in (("evidence.md", to_markdown), ("evidence.html", to_html), ("evidence.json", to_json)):
        with whole(folder / name, follow=False) as file:
            file.write(render(report, origin).encode())
    return f"{report.headline}\n{folder}: evidence.md, evidence.html and evidence.json are written.\n"


def hashes(ledger: Path) -> Mapping[str, str]:
    """The SHA-256 of a ledger's file, and of its write-ahead log where that holds anything."""
    ledger = place_of(ledger)  # the log lies beside the file, not beside a link to it
    log = ledger.with_name(ledger.name + WAL)
    files = [ledger, *([log] if log.is_file() and log.stat().st_size else [])]
    found = {}
    for path in files:
        with path.open("rb") as file:
            found[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _origin(ledger: Path, past: Past, digests: Mapping[str, str]) -> Provenance:
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.maintenance import survey
    from fairgate.reports.dossier.contents import Party, Provenance

    with Ledger(ledger, write=False) as held:
        began = {run.id: run.started_at for run in survey(held).runs}
    moment = datetime.datetime.fromtimestamp(began[past.id], datetime.UTC)
    parties = (
        Party(str(role), each.provider, each.name, each.address, each.parameters)
        for role, each in past.identities.items()
    )
    return Provenance(
        ledger=ledger.name,
        hashes=digests,
        run=past.id,
        members=past.members,
        sampled=moment.isoformat(timespec="seconds").removesuffix("+00:00"),
        parties=tuple(parties),
        versions=dict(past.note.versions or {}),
        environment=environment(),
    )


def environment() -> dict[str, str]:
    """The versions of fairgate, of Python, and of what fairgate requires, with the extras that are installed."""
    found = {
        "fairgate": __version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": platform.platform(),
    }
    try:
        required = requires("fairgate") or []
    except PackageNotFoundError:
        required = []
    for name in sorted({each[0] for line in required if (each := re.match(r"[\w.-]+", line)) is not None}):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
