"""The controlling process of a run: it starts the one sampler, collects the cases' verdicts and judges at the end."""

from __future__ import annotations

import traceback
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, NoReturn

import pytest

from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.registry import registry
from fairgate.comparison.baseline import make_room, save
from fairgate.core.domain import Role
from fairgate.core.errors import WRONG_USAGE, ConfigError, FairgateError, exit_code
from fairgate.core.plural import counted
from fairgate.core.redaction import Redaction, of_environment, printable
from fairgate.reports import folder, progress, short_summary, terminal
from fairgate.reports.allure_gates import drop_empty_containers, write_gates, write_missing
from fairgate.reports.plots import gallery
from fairgate.reports.progress import ProgressLines
from fairgate.reports.pytest_reports import gate_reports
from fairgate.reports.report import EXITS
from fairgate.runs.forecast import forecast, lines
from fairgate.runs.judgement import BROKEN, report_of
from fairgate.runs.opening import worker_info
from fairgate.runs.save_baseline import kept
from fairgate.runs.selection import Selection
from fairgate.runs.selfcheck import self_check
from fairgate.sampling.ledger_lock import is_taken

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from fairgate.benchmarks.case import Case
    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report
    from fairgate.runs.forecast import Forecast
    from fairgate.runs.sampling import Sampling
    from fairgate.runs.session import RunSession

LOST = "fairgate_lost"  # in a worker's output: what it could not write
GRACE = 2.0  # seconds
CAUSES = 3  # messages of cases that ended in an error
IMAGES = "pip install 'fairgate[images]'"
EXIT_SEVERITY = (0, 6, 1, 7)
SEVERITY = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.ERROR)


class Controller:
    """A pytest plugin of the controlling process alone: with xdist, workers have none."""

    def __init__(self, config: pytest.Config, session: RunSession, lost: list[str]) -> None:
        self._config, self._session, self._run = config, session, session.run
        self._sampling: Sampling | None = None
        self._progress: ProgressLines | None = None
        self._verdicts: dict[Case, Verdict] = {}
        self._missing: dict[Case, str] = {}
        self._report: Report | None = None
        self._foreign_failed = False
        self._forecast: Forecast | None = None
        self._unwritten = lost
        self._unjudged: FairgateError | None = None
        self._checked = ""
        self._causes = Counter[str]()
        self._unsampled: set[str] = set()
        self._failures: dict[Case, str] = {}
        self._alone = False

    @property
    def report(self) -> Report | None:
        """What the run came to; None before its end, or where there is no verdict."""
        return self._report

    @property
    def unwritten(self) -> Sequence[str]:
        """What could not be written, a sentence each."""
        return self._unwritten

    # Before

    @property
    def _brief(self) -> bool:
        """Whether the verdict is shown on one screen; -v shows all numbers, and each test."""
        return self._config.get_verbosity() <= 0

    @pytest.hookimpl(wrapper=True)
    def pytest_report_header(self) -> Generator[None, list[list[str] | str], list[list[str] | str]]:
        """Say what will be gated, before it is; where pytest found its configuration is shown with -v."""
        others = yield
        own = short_summary.wrapped(self._header, get_terminal_size().columns)
        return [own] if self._brief else [*others, own]

    @property
    def _header(self) -> str:
        settings = self._run.settings
        plan = f"plan {settings.plan}, seed {settings.seed}, key {settings.key}"
        models = [settings.model_spec, settings.t2i_spec and f"{settings.t2i_spec} for images"]
        named = " and ".join(name for name in models if name is not None)
        missing = [name for name, spec in zip(("text", "image"), models, strict=True) if spec is None]
        without = f"; no {missing[0]} model was named, so its cases are deselected" if missing else ""
        if settings.without_images:
            without = f"; the cases of images are deselected: their packages are not installed ({IMAGES})"
        new = "" if settings.ledger.exists() else " (new)"
        if settings.ledger_wait and is_taken(settings.ledger):
            new += f" (another run asks with it: waiting up to {settings.ledger_wait:g} s)"
        judge = f", judged by {settings.judge_spec}" if Role.JUDGE in self._run.participants.roles else ""
        faces = f", faces read by {settings.detector_spec}" if Role.DETECTOR in self._run.participants.roles else ""
        if not judge and Role.MODEL in self._run.participants.roles:
            judged = (registry().title(each.name) for each in self._run.benchmarks.all if Role.JUDGE in each.roles)
            unjudged = " and ".join(dict.fromkeys(judged))
            without += f"; no judge was named, so the cases of {unjudged} are deselected (--judge)"
        checked = f"; {self._checked}" if self._checked else ""
        ledger = f"ledger {settings.ledger_shown}{new}"
        return f"fairgate: {named}, {plan}{judge}{faces}, {ledger}{self._priced}{without}{checked}"

    @property
    def _priced(self) -> str:
        """What a budget in USD counts by: the file of limits, which says it, may be somebody else's."""
        settings, prices = self._run.settings, self._run.thresholds.prices
        if settings.budget_usd is None:
            return ""
        asked = (settings.model_spec, settings.judge_spec, settings.t2i_spec)
        told = (
            f"{spec} {price.input:g} in, {price.output:g} out (as of {price.date})"
            for spec in dict.fromkeys(asked)
            if spec is not None and (price := prices.get(spec)) is not None
        )
        return f"; at most {settings.budget_usd:g} USD, at USD a million tokens: {'; '.join(told) or 'none'}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Check the gate itself, before a worker is started."""
        if not self._run.settings.self_check or self._run.settings.dry_run:
            return
        with _usage_errors():
            self._make_room()
            check = self_check(self._run.settings)
        if check.reason is not None:
            pytest.exit(
                f"fairgate: the gate does not stand its own check, so no model is judged: {check.reason}", returncode=7
            )
        self._checked = f"self-check passed: {check.said}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        """Tell a worker which run it serves."""
        with _usage_errors():
            node.workerinput["fairgate"] = worker_info(self._run)  # type: ignore[attr-defined]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """Hear what a worker could not write."""
        self._unwritten += getattr(node, "workeroutput", {}).get(LOST, ())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Start to sample as soon as the first worker says what was selected."""
        self._start(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Sample beside the cases, and judge after the last of them."""
        if session.config.option.collectonly:
            return (yield)
        if self._run.settings.dry_run:
            self._forecast = self._foretold(session)
            session.items.clear()
            return (yield)
        if not session.config.pluginmanager.has_plugin("dsession"):
            self._start(item.nodeid for item in session.items)
        try:
            result = yield
        except BaseException:
            self._give_up()
            raise
        self._finish_sampling()
        self._judge(session)
        return result

    def _foretold(self, session: pytest.Session) -> Forecast:
        cases = (self._run.case_of(item.nodeid) for item in session.items)
        with _usage_errors():
            return forecast(self._run, Selection.of(self._run, [case for case in cases if case is not None]))

    def _start(self, nodeids: Iterable[str]) -> None:
        if self._sampling is not None:
            return
        found = [self._run.case_of(nodeid) for nodeid in nodeids]
        cases = [case for case in found if case is not None]
        if not cases:
            return
        self._leave_out_dots(alone=len(cases) == len(found))
        with _usage_errors():
            self._make_room()
            self._sampling = self._session.sample(cases)
        stream = progress.terminal(self._config)
        live = stream is not None and self._alone and progress.is_live(stream)
        self._progress = ProgressLines(stream, self._sampling.progress, live=live, alone=self._alone)
        self._sampling.start()
        self._progress.start()

    def _leave_out_dots(self, *, alone: bool) -> None:
        """Leave out pytest's lines of dots where there is no other test that they would show."""
        self._alone = self._brief and alone
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and self._alone:
            reporter.showfspath = False
            reporter._show_progress_info = False  # noqa: SLF001 - pytest has no public way to leave out "[100%]"

    def _make_room(self) -> None:
        """Before anything is asked: what cannot be written would be missed when all is paid for."""
        directory = self._run.settings.report_dir
        try:
            if directory is not None:
                folder.clear(directory)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise ConfigError(f"{directory} cannot be made: {reason}.", where="--report-dir") from error
        if self._run.settings.save_baseline is not None:
            make_room(self._run.settings.save_baseline)

    # Meanwhile

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep each case's worst verdict; a case whose worker crashed has none of its own, and is an error."""
        case = self._run.case_of(report.nodeid)
        self._foreign_failed |= case is None and report.failed and not hasattr(report, "fairgate_gate")
        if case is None or (report.passed and report.when != "call"):
            return
        if not hasattr(report, "fairgate_verdict"):
            said = report.longreprtext.splitlines()[-1:]
            self._missing[case] = f"{''.join(said)}. Its samples are kept; run again to judge it."
        verdict = Verdict(getattr(report, "fairgate_verdict", Verdict.ERROR))
        if verdict is Verdict.ERROR and _is_said(report):
            self._causes[report.longreprtext] += 1
            self._unsampled |= {report.longreprtext} if getattr(report, "fairgate_unsampled", False) else set()
        elif verdict is Verdict.FAIL:
            self._failures[case] = report.longreprtext
        self._verdicts[case] = max(verdict, self._verdicts.get(case, verdict), key=SEVERITY.index)

    # After

    def _give_up(self) -> None:
        if self._sampling is not None:
            self._sampling.stop()
        if self._progress is not None:
            self._progress.stop()

    def _finish_sampling(self) -> None:
        if self._sampling is not None:
            # Every case has waited for its samples: what is left is to give the connections back.
            self._sampling.wait(GRACE)
        self._give_up()

    def _judge(self, session: pytest.Session) -> None:
        if self._sampling is None:
            return
        try:
            sampled = self._sampling.sampled
            self._report = report_of(sampled, self._verdicts)
        except FairgateError as error:
            # What was answered cannot be read: no verdict, and never an internal error.
            self._unjudged = self._sampling.error or error
            return
        except Exception as error:  # noqa: BLE001 - whatever was not foreseen: what was answered was paid for
            self._unjudged = self._sampling.error or _unforeseen(error, self._run.settings.ledger_shown)
            return
        # The terminal's percentages count against what was collected.
        session.testscollected += len(self._report.gates)
        for phase in gate_reports(self._report):
            self._config.hook.pytest_runtest_logreport(report=phase)
        self._write(self._report)
        path = self._run.settings.save_baseline
        if path is not None and self._report.verdict is Verdict.ERROR:
            self._unwritten.append(f"{path} is not saved: nothing may be compared with a run that ended in an error.")
        elif path is not None:
            with self._said():
                save(path, kept(sampled.run, sampled.selection))

    @contextmanager
    def _said(self) -> Iterator[None]:
        """What cannot be written, though there was room at the start, is said beside the verdict: it is not lost."""
        try:
            yield
        except OSError as error:
            place = error.filename or self._run.settings.report_dir
            self._unwritten.append(f"{place} cannot be written: {error.strerror or type(error).__name__}.")
        except FairgateError as error:
            self._unwritten.append(str(error))
        except Exception as error:  # noqa: BLE001 - whatever goes wrong with a report, the verdict was paid for
            said = Redaction(of_environment()).show(f"{type(error).__name__}: {error}")
            self._unwritten.append(f"a part of the report cannot be made: {said}")

    def _write(self, report: Report) -> None:
        allure_dir = self._config.getoption("allure_report_dir", None)
        directory = self._run.settings.report_dir
        looked_at = allure_dir or directory is not None
        drawn: tuple[Plot, ...] = ()
        with self._said():
            drawn = gallery.plots(report, pictures=not self._run.settings.no_plots) if looked_at else ()
        if allure_dir:
            with self._said():
                self._write_allure(Path(allure_dir), report, drawn)
        if directory is not None:
            with self._said():
                folder.write(report, directory, drawn)

    def _write_allure(self, directory: Path, report: Report, plots: tuple[Plot, ...]) -> None:
        cells = report.evidence.cells
        silent = {case: "it came to no end" for case in self._sampling_cases if case not in self._verdicts}
        write_missing(directory, silent | self._missing, {cell.name: cell.about for cell in cells}, report.benchmarks)
        write_gates(directory, report, plots)
        drop_empty_containers(directory)

    @property
    def _sampling_cases(self) -> Sequence[Case]:
        return () if self._sampling is None else self._sampling.selection.cases

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Give the exit code of the verdict, where there is one and nothing of pytest's own went wrong."""
        if self._unjudged is not None:
            session.exitstatus = EXITS[Verdict.ERROR]
        if self._report is not None and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            foreign = pytest.ExitCode.TESTS_FAILED if self._foreign_failed else pytest.ExitCode.OK
            unwritten = EXITS[Verdict.ERROR] if self._unwritten else 0
            session.exitstatus = max(self._report.exit, foreign, unwritten, key=EXIT_SEVERITY.index)

    @pytest.hookimpl(wrapper=True, trylast=True, specname="pytest_sessionfinish")
    def pytest_sessionfinish_of_others(self, session: pytest.Session) -> Generator[None, object, object]:
        """Say what others could not write at the end, such as --junitxml: an error, and no verdict lost."""
        before = len(self._unwritten)
        with self._said():
            result = yield
        if len(self._unwritten) > before:
            session.exitstatus = EXITS[Verdict.ERROR]
            return None
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the report, or what a run would come to."""
        if self._forecast is not None:
            terminalreporter.write_sep("=", "fairgate: dry run")
            for line in lines(self._forecast):
                terminalreporter.write_line(line)
            return
        if self._unjudged is not None:
            terminalreporter.write_sep("=", "fairgate: no verdict", yellow=True)
            terminalreporter.write_line(f"Error: {self._unjudged}", red=True)
            return
        if self._report is None:
            if self._sampling is not None:
                so_far = self._sampling.progress
                terminalreporter.write_sep("=", "fairgate: no verdict", yellow=True)
                terminalreporter.write_line(
                    f"The run ended early. {so_far.done:,} of {so_far.planned:,} samples are"
                    f" in {self._run.settings.ledger_shown}; run again to go on from there."
                )
            return
        colour = {Verdict.PASS: "green", Verdict.FAIL: "red"}.get(self._report.verdict, "yellow")
        terminalreporter.write_sep("=", f"fairgate: {self._report.verdict}", **{colour: True})
        if self._brief:
            width = get_terminal_size().columns
            told = short_summary.lines(self._report, width, self._place_to_look, self._failed_cases)
        else:
            told = [*terminal.lines(self._report), "", self._place_to_look]
        terminalreporter.write_line(told[0], **{colour: True, "bold": True})
        for text in self._errors:
            told += short_summary.wrapped(text, get_terminal_size().columns)
        for line in told[1:]:
            terminalreporter.write_line(line)
        for unwritten in self._unwritten:
            terminalreporter.write_line(f"Error: {unwritten}", red=True)
        if self._unwritten and self._report.verdict is not Verdict.ERROR:
            again = f"fairgate gate {self._run.settings.ledger_shown}"
            terminalreporter.write_line(f"The verdict stands. `{again}` writes it anew, and asks nothing.")

    @pytest.hookimpl(wrapper=True, tryfirst=True, specname="pytest_terminal_summary")
    def pytest_terminal_summary_briefly(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None, object, object]:
        """Keep cases and gates out of pytest's own lists of failures: the summary says the same, once."""
        shown = terminalreporter.stats
        kept = {category: reports for category, reports in shown.items() if category in ("failed", "error")}
        if self._brief:
            shown.update(
                {category: [each for each in reports if not _is_said(each)] for category, reports in kept.items()}
            )
        try:
            return (yield)
        finally:
            shown.update(kept)

    @property
    def _failed_cases(self) -> list[str]:
        """The first of the cases that fail by themselves; the rest is counted."""
        found = [f"test_{case.name}: {said}" for case, said in self._failures.items()]
        more = len(found) - CAUSES
        return found if more <= 0 else [*found[:CAUSES], f"{more} more failed tests: -v lists them"]

    @property
    def _errors(self) -> list[str]:
        """What ended cases in an error, each message once, where it is not the run's own error."""
        error = "" if self._report is None else self._report.error or ""
        known = {error} if BROKEN in error else {error, *self._unsampled}
        found = Counter({said: n for said, n in self._causes.items() if said not in known})
        return [f"Error in {counted(n, 'test')}: {said}" for said, n in found.most_common(CAUSES)]

    @property
    def _place_to_look(self) -> str:
        directory = self._run.settings.report_dir
        if directory is None:
            return "Report: none. --report-dir DIR writes a page with the samples, index.html."
        here = Path.cwd()
        page = directory / "index.html"
        return f"Report: {page.relative_to(here) if page.is_relative_to(here) else page}"


def _unforeseen(error: Exception, ledger: str) -> FairgateError:
    """An error of fairgate's own while it judges, on one line, with the place in its code."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    said = Redaction(of_environment()).show(f"{type(error).__name__}: {error}")
    return FairgateError(
        f"the run cannot be judged, by an error of fairgate's own ({said}).",
        where=f"{Path(place.filename).name}:{place.lineno}",
        hint=f"Please report it. What was answered is kept in {ledger}.",
    )


def _is_said(report: object) -> bool:
    """Whether a report is of a case or gate, and a message rather than a traceback: the summary says it."""
    return hasattr(report, "fairgate_verdict") and isinstance(getattr(report, "longrepr", None), str)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """What is wrong with a model's name, an option or the ledger's place ends the run before it begins."""
    try:
        yield
    except FairgateError as error:
        end(error)


def end(error: FairgateError) -> NoReturn:
    """End the run before it begins, with the error's exit code."""
    # It may quote names of files, or what they hold: nothing in it is to be obeyed by a terminal or a CI's runner.
    said = "\n".join(map(printable, str(error).splitlines()))
    if exit_code(error) == WRONG_USAGE:
        raise pytest.UsageError(said) from error
    pytest.exit(said, exit_code(error))
