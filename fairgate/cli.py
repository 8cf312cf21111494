"""`python -m fairgate`: what needs no pytest."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from fairgate import __version__
from fairgate.commands import calibrate, compare, doctor, faces, gate, ledger, merge, published, weights
from fairgate.errors import FairgateError
from fairgate.models.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

TROUBLE = 7
COMMANDS = (gate, compare, ledger, merge, weights, doctor, faces, calibrate, published)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 where it did what it says, 7 on trouble, 2 on a wrong command line.

    A command returns the text to print, or that and an exit code of its own.
    """
    parser = argparse.ArgumentParser(
        prog="python -m fairgate",
        description="What needs no model. To gate one, run pytest: `pytest --model PROVIDER/NAME`; `pytest --help` "
        "lists the options under `fairgate`.",
        epilog="`python -m fairgate COMMAND --help` says more of each.",
    )
    parser.add_argument("--version", action="version", version=f"fairgate {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for each in COMMANDS:
        each.add(subparsers)
    options = parser.parse_args(arguments)
    try:
        done: str | tuple[str, int] = options.command(options)
        text, code = (done, 0) if isinstance(done, str) else done
        # A terminal or a file need not know every character.
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except FairgateError as error:
        print("\n".join(map(printable, str(error).splitlines())), file=sys.stderr)
        return TROUBLE
    except BrokenPipeError:
        # Whoever read has had enough; the interpreter would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror or type(error).__name__}.", file=sys.stderr)
        if error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    return code
