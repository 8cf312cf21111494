"""The command `fairgate`, which `python -m fairgate` starts too."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn

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
from fairgate.core.errors import ERROR, WRONG_USAGE, FairgateError, exit_code
from fairgate.core.redaction import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

COMMANDS = (run, gate, compare, evidence, export, merge, ledger, published, doctor, weights, faces, calibrate, init)
OPTION = re.compile(r"(?<![\w-])--[a-z0-9][\w-]*")


class Parser(argparse.ArgumentParser):
    """Ends with the exit code 4 where the arguments are wrong, as pytest does, and takes no option by a part of it."""

    def __init__(self, *args: Any, **about: Any) -> None:
        super().__init__(*args, **about | {"allow_abbrev": False})

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, in a line, and where the usage is shown."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message}\n`{self.prog} --help` shows its arguments.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: that of a run, else 0 for done, 4 for wrong usage, 7 for an error.

    A command returns the text to print, or that and an exit code of its own.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if given[:1] == ["run"]:
            return run.run(given[1:])
        options = _parsed(given)
        done: str | tuple[str, int] = options.command(options)
        text, code = (done, 0) if isinstance(done, str) else done
        text = "\n".join(printable(line.expandtabs()) for line in text.split("\n"))
        # A terminal or a file need not know every character.
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except FairgateError as error:
        print("\n".join(map(printable, str(error).splitlines())), file=sys.stderr)
        return exit_code(error)
    except BrokenPipeError:
        # The reader closed the pipe; the interpreter would report that again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"{where}{error.strerror or type(error).__name__}.", file=sys.stderr)
        if error.filename is None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR
    except Exception:  # noqa: BLE001 - whatever was not foreseen: 1 would say that the model failed
        traceback.print_exc()
        print("fairgate: an error of its own, and no verdict. Please report it.", file=sys.stderr)
        return ERROR
    return code


def _parsed(given: Sequence[str]) -> argparse.Namespace:
    """The options of the command; for what nobody knows, the nearest that there is. Raises SystemExit."""
    parser = Parser(
        prog="fairgate",
        description="Gates releases of language and text-to-image models on factuality and on fairness to individuals.",
        epilog="`fairgate COMMAND --help` describes each command. To begin: `fairgate run`, `fairgate init`. Exit "
        "codes: 0 done, or pass; 1 fail; 4 wrong usage; 6 inconclusive; 7 error.",
    )
    parser.add_argument("--version", action="version", version=f"fairgate {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", dest="chosen")
    for each in COMMANDS:
        each.add(subparsers)
    if not given:
        parser.print_help()
        raise SystemExit(WRONG_USAGE)
    name = given[0]
    if not name.startswith("-") and name not in subparsers.choices:
        parser.error(f"no command {printable(name)!r}.{_nearest(name, subparsers.choices)}")
    options, unknown = parser.parse_known_args(given)
    command = subparsers.choices.get(options.chosen, parser)
    if unknown:
        near = _nearest(unknown[0], OPTION.findall(command.format_help()))
        command.error(f"unrecognized argument {printable(unknown[0])}.{near}")
    if command is parser:
        parser.error("no command is given.")
    return options


def _nearest(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word.partition("=")[0], list(known), n=1, cutoff=0.7)
    return f" Did you mean {near[0]}?" if near else ""
