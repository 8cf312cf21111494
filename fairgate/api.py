"""`fairgate.run`: a model gated from a program or a notebook."""

from __future__ import annotations

import contextlib
import io
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairgate import launch
from fairgate.benchmarks.registry import registry
from fairgate.core.domain import Role
from fairgate.core.errors import ConfigError, FairgateError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fairgate.reports.report import Report

INTERRUPTED, USAGE, NOTHING = 2, 4, 5  # pytest's exit codes
Model = str | Callable[..., object]
Option = str | int | float | bool | Path | list[str] | tuple[str, ...] | None
ROLES = {"model": Role.MODEL, "t2i_model": Role.IMAGE_MODEL, "judge": Role.JUDGE}
ARGUMENTS = {"model": "model_arg", "t2i_model": "t2i_arg", "judge": "judge_arg"}
WITHOUT_REPORT = ("dry_run", "replay", "replay_run")
SAID = 2000  # characters of a message


def run(
    model: Model | None = None,
    *,
    t2i_model: Model | None = None,
    judge: Model | None = None,
    plan: str = "quick",
    select: str | None = None,
    marks: str | None = None,
    revision: str | None = None,
    ledger: Path | str | None = None,
    verbose: bool = False,
    **options: Option,
) -> Report:
    """Query a model, judge its answers by the limits, and return the report.

    `model`, `t2i_model` and `judge` are names as `fairgate run` takes them, e.g. "openai/gpt-4o-mini", or callables:
    from a prompt to a reply; of an image model from a prompt to an image. A callable is called in this process, in
    threads, or awaited where it is a coroutine function. Without any model a control is judged, offline.

    `select` and `marks` choose cases as pytest's -k and -m do. `verbose` prints what `fairgate run` prints. `options`
    are the other options of `fairgate run`, with underscores: `judge_base_url="http://…"`, `budget_usd=2.5`,
    `stop_early=True`, `model_arg=["temperature=0"]`.

    Replies are kept in `ledger` (default: .fairgate/ledger.sqlite), and not requested again. Replies of a callable are
    kept only where `revision` is given: it names the state of your code, and another one is queried anew.

    Raises FairgateError where there is no report: an option that is wrong, a package that is missing. An endpoint that
    fails in the middle of a run has a report, with the verdict `error`.
    """
    __tracebackhide__ = True  # its arguments may hold the password of an address
    models = {"model": model, "t2i_model": t2i_model, "judge": judge}
    called = {name: each for name, each in models.items() if callable(each)}
    values: dict[str, Option] = {name: _name(each) if callable(each) else each for name, each in models.items()}
    if revision is not None:
        values |= {ARGUMENTS[name]: [f"revision={revision}"] for name in called}
    twice = sorted(values.keys() & options.keys())
    if twice:
        raise ConfigError("is said by revision already.", where=f"fairgate.run({twice[0]}=…)", hint="Remove one.")
    for name, text in (("select", select), ("marks", marks)):
        _check_expression(name, text)
    if called and ledger is not None and revision is None:
        raise ConfigError(
            f"{values[min(called)]} may have changed since its replies were kept there.",
            where="fairgate.run(ledger=…)",
            hint='Name the state of its code, e.g. revision="1": replies of that state alone are taken from a ledger.',
        )
    if called and len(called) == sum(each is not None for each in models.values()) and "request_timeout" in options:
        raise ConfigError(
            "a function in this process cannot be ended from outside.",
            where="fairgate.run(request_timeout=…)",
            hint="Leave it out, and give the function a limit of its own; or name it: python/pkg.module:callable.",
        )
    folder = None
    if called and revision is None:
        folder = tempfile.TemporaryDirectory(prefix="fairgate-")
        ledger = Path(folder.name) / "ledger.sqlite"
    given = [
        *_typed({**values, **options, "plan": plan, "ledger": ledger}),
        *(() if select is None else ("-k", select)),
        *(() if marks is None else ("-m", marks)),
    ]
    report = started(given, {ROLES[name]: each for name, each in called.items()}, verbose=verbose)
    if folder is not None:
        # The report reads samples when they are looked at: their ledger is kept as long.
        weakref.finalize(report, folder.cleanup)
    return report


def started(
    given: list[str], callables: Mapping[Role, Callable[..., object]] = MappingProxyType({}), *, verbose: bool = False
) -> Report:
    """The report of the suite with these options, run in this process. Raises FairgateError where there is none."""
    __tracebackhide__ = True
    session = launch.Session(callables)
    said = io.StringIO()
    with contextlib.ExitStack() as quiet:
        if not verbose:
            quiet.enter_context(contextlib.redirect_stdout(said))
            quiet.enter_context(contextlib.redirect_stderr(said))
        code = launch.start(given, session)
    if session.report is not None:
        return session.report
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code == NOTHING:
        raise ConfigError("no case is selected.", where="fairgate.run", hint="Change select and marks.")
    message = said.getvalue().strip().removeprefix("ERROR: ")[-SAID:] or "See what was printed."
    if code == USAGE:
        raise ConfigError(message)
    raise FairgateError(f"the run has no report (exit {code}). {message}")


def _check_expression(name: str, text: object) -> None:
    if text is not None and not isinstance(text, str):
        hint = 'Give an expression as pytest\'s -k and -m take it, e.g. "race and not crime".'
        raise ConfigError(f"{text!r} is not a string.", where=f"fairgate.run({name}=…)", hint=hint)


def _typed(values: Mapping[str, Option]) -> Iterator[str]:
    """The values as options of the command line. Raises ConfigError for a name that is no option."""
    __tracebackhide__ = True
    known = {name: each for each in registry().options for name in (each.name, *each.about.older)}
    for name, value in values.items():
        if name not in known or name in WITHOUT_REPORT:
            hint = did_you_mean(name, known.keys() - set(WITHOUT_REPORT))
            raise ConfigError(f"{name!r} is not an option of a run from Python.", where="fairgate.run", hint=hint)
        if value is True:
            yield known[name].flag
        elif value is not None and value is not False:
            yield from (
                f"{known[name].flag}={each}" for each in (value if isinstance(value, list | tuple) else [value])
            )


def _name(call: Callable[..., object]) -> str:
    """PROVIDER/NAME of a callable, for reports and the ledger."""
    named = call if hasattr(call, "__qualname__") else type(call)
    return f"python/{named.__module__}:{named.__qualname__}"
