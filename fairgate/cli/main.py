"""The command `fairgate`, which `python -m fairgate` starts too."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from fairgate import __version__
from fairgate.cli import (
    calibrate,
    compare,
    doctor,
    evidence,
    export,
    faces,
    gate,
    init,
    ledger,
    merge,
    published,
    run,
    weights,
)
from fairgate.core.errors import FairgateError
from fairgate.core.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

TROUBLE = 7
COMMANDS = (run, gate, compare, evidence, export, merge, ledger, published, doctor, weights, faces, calibrate, init)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: that of a run, else 0 for done, 7 for an error, 2 for a wrong command.

    A command returns the text to print, or that and an exit code of its own.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if given[:1] == ["run"]:
            return run.run(given[1:])
        options = _parser().parse_args(given)
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
        # The reader closed the pipe; the interpreter would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror or type(error).__name__}.", file=sys.stderr)
        if error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return TROUBLE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fairgate",
        description="Gates releases of language and text-to-image models on factuality and on fairness to individuals.",
        epilog="`fairgate COMMAND --help` describes each command. To begin: `fairgate run`, `fairgate init`.",
    )
    parser.add_argument("--version", action="version", version=f"fairgate {__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for each in COMMANDS:
        each.add(subparsers)
    return parser
