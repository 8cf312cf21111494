"""`fairgate ledger`: what a ledger holds, whether it is sound, and what is done with it."""

from __future__ import annotations

import getpass
import os
import stat
import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING

from fairgate.core.current_folder import check_inside
from fairgate.core.errors import ERROR, ConfigError, LedgerError
from fairgate.core.files import whole
from fairgate.core.plural import counted
from fairgate.core.redaction import without_orders
from fairgate.reports.wording import visible

if TYPE_CHECKING:
    import argparse
    from collections import Counter
    from collections.abc import Iterator

    from fairgate.core.statistics.prediction_powered import Corrects
    from fairgate.ledger.maintenance import Survey

RUNS_SHOWN = 10
FEWEST_MARKS = 20
RUNNERS = ("CI", "GITHUB_ACTIONS", "TF_BUILD")  # variables by which a CI's runner says that it reads along


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    ledger = commands.add_parser(
        "ledger",
        help="what a ledger holds; verify, export and prune it; mark replies that were misread",
        description="Shows what a ledger holds, or does what is named after it.",
    )
    ledger.add_argument("ledger", type=Path, metavar="LEDGER", help="the file that --ledger named")
    ledger.set_defaults(command=_show, topics=False, kind=None)
    what = ledger.add_subparsers(metavar="WHAT")

    show = what.add_parser("show", help="models, runs, samples by topic and kind, failures (default)")
    show.add_argument("--topics", action="store_true", help="every topic by itself")
    show.add_argument("--kind", help="also list samples of this kind: chosen, said, refused, unreadable, truncated")
    show.set_defaults(command=_show)

    verify = what.add_parser(
        "verify", help="check integrity, permissions, and that each sample matches its key; exit 7 if not"
    )
    verify.set_defaults(command=_verify)

    export = what.add_parser("export", help="write every sample as JSON lines, CSV or Parquet")
    export.add_argument("--format", choices=["jsonl", "csv", "parquet"], default="jsonl", help="default: jsonl")
    export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    export.set_defaults(command=_export)

    prune = what.add_parser("prune", help="delete samples; shows what it would do, and does it with --yes")
    prune.add_argument(
        "--runs-before", metavar="DATE", help="delete those of runs that began before this day (YYYY-MM-DD, UTC)"
    )
    prune.add_argument("--model", metavar="PROVIDER/NAME", help="delete those of this model")
    prune.add_argument("--failures", action="store_true", help="delete records of failures only, no samples")
    prune.add_argument(
        "--batches", action="store_true", help="delete batches that were sent and not fetched: they are paid for"
    )
    prune.add_argument("--yes", action="store_true", help="do it")
    prune.set_defaults(command=_prune)

    mark = what.add_parser("mark", help="correct a reply that the parser misread; scores are recomputed")
    mark.add_argument("sample", help="its query, as reports name it, or its key")
    mark.add_argument("word", metavar="ANSWER", help="a letter, yes, no, a mark, a kind of reason, refused, unreadable")
    review = what.add_parser(
        "review", help="list the judge's verdicts most worth checking by hand, and how many a decision needs"
    )
    review.add_argument("--count", type=int, default=5, metavar="N", help="how many to show; default: 5")
    review.set_defaults(command=_review)
    unmark = what.add_parser("unmark", help="let the parser read a reply again")
    unmark.add_argument("sample", help="its query, as reports name it, or its key")
    for each, command in ((mark, _mark), (unmark, _unmark)):
        each.add_argument("--why", required=True, help="the reason, kept beside the mark")
        each.add_argument("--who", help="the reviewer; default: the name of who is logged in")
        each.add_argument("--model", metavar="PROVIDER/NAME", help="whose reply, where several models were asked")
        each.set_defaults(command=command)


def _show(options: argparse.Namespace) -> str:
    from fairgate.core.redaction import Redaction
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.maintenance import samples_of, survey

    with Ledger(options.ledger, write=False) as ledger:
        text = _surveyed(options.ledger, survey(ledger), topics=options.topics)
        if options.kind is not None:
            shown = Redaction().show
            listed = samples_of(ledger, options.kind, 50)
            lines = [f"  {each.key.hex()[:12]}  {shown(each.query)}  {shown(each.reply)[:80]}" for each in listed]
            text += "\n".join([f"The first samples that were {options.kind}, by key and query:", *lines, ""])
    return text


def _surveyed(path: Path, held: Survey, *, topics: bool) -> str:
    # What a model or an editor of the file wrote is nothing that a terminal or a CI's runner is to obey.
    return "".join(f"{_line(line)}\n" for line in _lines(path, held, topics=topics))


def _line(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))] + visible(line)


def _lines(path: Path, held: Survey, *, topics: bool) -> list[str]:
    lines = [f"{path}: {counted(held.kinds.total(), 'sample')}, {held.size / 1e6:,.1f} MB, schema {held.schema}", ""]
    for asked in held.models:
        address = f" at {asked.model.address}" if asked.model.address else ""
        tokens = f"; {asked.prompt_tokens:,} + {asked.completion_tokens:,} tokens" if asked.prompt_tokens else ""
        lines.append(f"{asked.model.label}{address}: {_kinds(asked.kinds)}{tokens}")
    by_task: dict[str, Counter[str]] = {}
    for topic, kinds in held.topics.items():
        name = topic if topics else topic.rpartition("/")[0]
        by_task[name] = by_task[name] + kinds if name in by_task else kinds
    lines += ["", *(f"{name}: {_kinds(kinds)}" for name, kinds in by_task.items())]
    lines += ["", counted(len(held.runs), "run") + (", the last:" if len(held.runs) > RUNS_SHOWN else ":")]
    for run in held.runs[-RUNS_SHOWN:]:
        when = datetime.fromtimestamp(run.started_at, UTC).strftime("%Y-%m-%d %H:%M")
        failed = f", {run.failed:,} failed" if run.failed else ""
        message = f": {run.message}" if run.message else ""
        lines.append(f"  {when} {run.id[:8]} {run.model}, {run.asked:,} asked{failed}, {run.state}{message}")
    if held.failures:
        lines += ["", f"{counted(held.failures.total(), 'failure')}:"]
        lines += [f"  {counted(count, 'time')}: {reason}" for reason, count in held.failures.most_common(5)]
    if held.marks:
        lines += ["", f"{counted(held.marks, 'reply', 'replies')} marked by a reviewer."]
    if held.waiting:
        lines += ["", f"{counted(held.waiting, 'sample')} in batches whose results were not fetched yet."]
    return lines


def _kinds(kinds: Counter[str]) -> str:
    return (
        f"{counted(kinds.total(), 'sample')} ("
        + ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))
        + ")"
    )


def _verify(options: argparse.Namespace) -> tuple[str, int]:
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.maintenance import problems

    count = 0
    try:
        with Ledger(options.ledger, write=False) as ledger:
            found = list(problems(ledger))
            [count] = ledger.database.execute("SELECT count(*) FROM samples").fetchone()
    except LedgerError as error:
        if not options.ledger.is_file():
            raise
        found = [error.what]
    if not found:
        return f"{options.ledger} is sound: {counted(count, 'sample')}, each what its key says.\n", 0
    return "".join(f"{visible(f'{options.ledger}: {each}')}\n" for each in found), ERROR


def _export(options: argparse.Namespace) -> str:
    from fairgate.ledger.export import Format, write
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.paths import is_of

    form = Format(options.format)
    if form is Format.PARQUET and options.output is None:
        raise ConfigError("Parquet is no text.", where="--format parquet", hint="Name a file: --output FILE.")
    if options.output is not None and is_of(options.ledger, options.output):
        raise ConfigError(f"{options.output} is the ledger's own.", where="--output", hint="Name another file.")
    with Ledger(options.ledger, write=False) as ledger, _opened(options.output) as to:
        count = write(ledger, form, to)
    return "" if options.output is None else f"{counted(count, 'sample')} written to {options.output}\n"


class _Shown:
    """Standard output that is looked at: without what a terminal or a CI's runner obeys, in whatever a model wrote."""

    def write(self, content: bytes) -> int:
        text = content.decode("utf-8", "replace")
        safe = "".join(c if c.isprintable() or c in "\r\n\t" else f"\\u{ord(c):04x}" for c in text)
        sys.stdout.write("".join(map(without_orders, safe.splitlines(keepends=True))))
        return len(content)


def _is_looked_at() -> bool:
    """Whether standard output is a terminal, or in a CI, where a pipe is the job's log."""
    if sys.stdout.isatty() or not any(map(os.environ.get, RUNNERS)):
        return sys.stdout.isatty()
    try:
        return not stat.S_ISREG(os.fstat(sys.stdout.fileno()).st_mode)
    except OSError:
        return True


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[bytes]]:
    """The file, which holds prompts and replies as the ledger does: its owner's alone."""
    if path is None:
        try:
            yield _Shown() if _is_looked_at() else sys.stdout.buffer  # type: ignore[misc] # it is only written to
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            # The reader closed the pipe; the interpreter would report that again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    check_inside(Path(), path, "--output")
    try:
        with whole(path) as file:
            yield file
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", where="--output") from error


def _prune(options: argparse.Namespace) -> str:
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.maintenance import forget_batches, prune
    from fairgate.sampling.ledger_lock import LedgerLock

    some = options.runs_before or options.model or options.failures
    if bool(some) == options.batches:
        hint = "Give --runs-before, --model or --failures, or --batches alone."
        raise ConfigError("Nothing selected to prune.", where="ledger prune", hint=hint)
    before = None if options.runs_before is None else _day(options.runs_before)
    # Looked for before anything is opened for writing: a mistyped name must make no new ledger.
    Ledger(options.ledger, write=False).close()
    with LedgerLock(options.ledger, "pruning it"), Ledger(options.ledger) as ledger:
        if options.batches:
            count = forget_batches(ledger, really=options.yes)
            done = "is forgotten" if options.yes else "would be forgotten. Nothing was done: add --yes"
            return f"What is in batches ({counted(count, 'sample')}) {done}.\n"
        gone = prune(ledger, before=before, model=options.model, failures=options.failures, really=options.yes)
    parts = {"sample": gone.samples, "failure": gone.failures, "run": gone.runs, "mark": gone.marks}
    counts = ", ".join(counted(number, noun) for noun, number in parts.items())
    counts += f" and {counted(gone.images, 'image')}" if gone.images else ""
    return f"{counts} are gone.\n" if options.yes else f"{counts} would go. Nothing was done: add --yes.\n"


def _day(text: str) -> float:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise ConfigError(f"{text!r} is no day.", where="--runs-before", hint="Write YYYY-MM-DD.") from None


def _review(options: argparse.Namespace) -> str:
    from fairgate.benchmarks.registry import registry
    from fairgate.core.redaction import Redaction
    from fairgate.core.statistics.prediction_powered import Corrects, half_width, that_count, to_mark
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.reviews import reviewable

    def score_of(query: str) -> tuple[str, Corrects] | None:
        return next((found for each in registry().plugins if (found := each.reviewed(query)) is not None), None)

    with Ledger(options.ledger, write=False) as ledger:
        held = reviewable(ledger, score_of)
    shown = Redaction().show
    lines = []
    for (score, corrects, judge), texts in held.items():
        reviews = [each.review for each in texts]
        held_of = {id(each.review): each for each in texts}
        marked = len(that_count(reviews))
        unit = "% of its distance from 100" if corrects is Corrects.GAP else "points"
        widths = ", ".join(
            f"±{100 * half_width(reviews, more, corrects):.0f} {unit} after {marked + more}"
            for more in (0, 10, 20, 40, 80)
            if marked + more >= FEWEST_MARKS and marked + more <= len(reviews)
        )
        lines += [
            f"{score}, by {judge}: {counted(len(reviews), 'reply', 'replies')}, {marked:,} marked in their order.",
            f"What marks correct it to, about: {widths or 'every reply is to be marked'}.",
            "To decide a gate, the estimate must be farther from its limit than that.",
            "",
        ]
        for each in to_mark(reviews, options.count, corrects):
            sample = held_of[id(each)]
            lines += [
                f"  {sample.key.hex()[:12]}  {shown(each.name)}  (the judge says {_word(each.said, corrects)})",
                *(f"    {shown(line)}" for line in sample.prompt.strip().splitlines() if line.strip()),
                "",
            ]
    if not held:
        return f"{options.ledger} holds no replies that marks could correct a score by.\n"
    lines.append("Mark each with `fairgate ledger LEDGER mark KEY yes|no|0..10 --why REASON`, also where the "
                 "judge is right; marks count in this order alone.")  # fmt: skip
    return "".join(f"{_line(line)}\n" for line in lines)


def _word(said: float, corrects: Corrects) -> str:
    from fairgate.core.statistics.prediction_powered import Corrects
    from fairgate.replies.judgements import HIGHEST

    return f"{HIGHEST * said:g}" if corrects is Corrects.MEAN else "yes" if said else "no"


def _mark(options: argparse.Namespace) -> str:
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.maintenance import find, mark

    Ledger(options.ledger, write=False).close()
    with Ledger(options.ledger) as ledger:
        sample = find(ledger, options.sample, options.model)
        kept = mark(ledger, sample, options.word, who=_who(options), why=options.why)
    return f"{sample.query} of {sample.model} was read as {sample.kind}, and counts as {kept} from now on.\n"


def _unmark(options: argparse.Namespace) -> str:
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.maintenance import find, unmark

    Ledger(options.ledger, write=False).close()
    with Ledger(options.ledger) as ledger:
        sample = find(ledger, options.sample, options.model)
        unmark(ledger, sample, who=_who(options), why=options.why)
    return f"{sample.query} of {sample.model} is read by the parser again.\n"


def _who(options: argparse.Namespace) -> str:
    return str(options.who or getpass.getuser())
