"""What becomes of a run that meets a fault, by both transports: prints the tables of docs/faults.md.

Run it:  python -m benchmarks.fault_table
         python -m benchmarks.fault_table --only TLS "length too short"
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.errors import RunStopped
from tests.end_to_end.test_every_fault import IN_FLIGHT, sampled, serving
from tests.servers.fault_list import FAULTS
from tests.servers.faults import NOW_AND_THEN, Ends

if TYPE_CHECKING:
    from fairgate.sampling.sampler import Sampler
    from tests.servers.faults import Fault

TRANSPORTS = {"default": "0", "fast": "1"}
SAID = 240  # characters
ADDRESS = re.compile(r".*openai/tiny at \S+: ")


def outcome(fault: Fault, transport: str, folder: Path) -> tuple[str, str]:
    """What became of a run that met the fault always, and what it said; of others what the tests hold them to."""
    os.environ["FAIRGATE_FAST"] = TRANSPORTS[transport]
    with serving(fault, folder, None if fault.always else NOW_AND_THEN) as server:
        work, _ = sampled(folder / f"{transport}.sqlite", server)
    ends = _ended(work, len(server.asked)) if fault.always else fault.under(transport)[0]
    return ends.value, "" if work.error is None else _shown(str(work.error))


def _ended(work: Sampler, requests: int) -> Ends:
    progress = work.progress
    if isinstance(work.error, RunStopped) and not progress.failed and requests <= IN_FLIGHT:
        return Ends.STOPPED
    if progress.refused:
        return Ends.FILTERED
    if progress.retried:
        return Ends.REPEATED
    return Ends.FAILED if progress.failed else Ends.TAKEN


def _shown(message: str) -> str:
    said = ADDRESS.sub("", message).replace("|", "\\|").replace("<", "&lt;")
    said = re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:PORT", said)
    return said if len(said) <= SAID else f"{said[:SAID]}…"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="faults whose group or name holds one of these")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"):
        os.environ.pop(name, None)
    chosen = [each for each in FAULTS if not given.only or any(part in str(each) for part in given.only)]
    for group, faults in groupby(chosen, lambda each: each.group):
        print(f"\n**{group[0].upper()}{group[1:]}**\n")
        print("| fault | default | `fast` | what ends a run that meets nothing else |")
        print("| --- | --- | --- | --- |")
        for fault in faults:
            with tempfile.TemporaryDirectory() as folder:
                ended, said = outcome(fault, "default", Path(folder))
                other, words = outcome(fault, "fast", Path(folder))
            also = "the same" if other == ended else other
            more = f" — `fast`: {words}" if words != said and other != ended else ""
            print(f"| {fault.name} | {ended} | {also} | {said}{more} |", flush=True)


if __name__ == "__main__":
    main()
