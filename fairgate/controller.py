"""The controlling process of a run: it starts the one sampler, collects the cases' verdicts and judges at the end."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fairgate.comparison.baseline import make_room, save
from fairgate.domain import Role
from fairgate.errors import ConfigError, FairgateError, MissingDependency
from fairgate.report import folder, progress, terminal
from fairgate.report.allure_gates import drop_empty_containers, write_gates, write_missing
from fairgate.report.plots import gallery
from fairgate.report.progress import ProgressLines
from fairgate.report.pytest_reports import gate_reports
from fairgate.report.report import EXITS
from fairgate.runs.forecast import forecast, lines
from fairgate.runs.judgement import report_of
from fairgate.runs.sampling import Sampling
from fairgate.runs.save_baseline import kept
from fairgate.runs.selection import Selection
from fairgate.runs.selfcheck import self_check
from fairgate.sampling.ledger_lock import is_taken
from fairgate.verdicts.gate import Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from fairgate.benchmarks.base import Case
    from fairgate.report.plots.drawing import Plot
    from fairgate.report.report import Report
    from fairgate.runs.forecast import Forecast
    from fairgate.runs.run import Run

LOST = "fairgate_lost"  # in a worker's output: what it could not write
GRACE = 2.0  # seconds
IMAGES = "pip install 'fairgate[images]'"
EXIT_SEVERITY = (0, 6, 1, 7)
SEVERITY = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL, Verdict.TROUBLE)


class Controller:
    """A pytest plugin of the controlling process alone: with xdist, workers have none."""

    def __init__(self, config: pytest.Config, run: Run, lost: list[str]) -> None:
        self._config, self._run = config, run
        self._sampling: Sampling | None = None
        self._progress: ProgressLines | None = None
        self._verdicts: dict[Case, Verdict] = {}
        self._missing: dict[Case, str] = {}
        self._report: Report | None = None
        self._foreign_failed = False
        self._forecast: Forecast | None = None
        self._unwritten = lost
        self._unjudged: FairgateError | None = None

    # Before

    def pytest_report_header(self) -> list[str]:
        """Say what will be gated, before it is."""
        settings = self._run.settings
        plan = f"plan {settings.plan}, seed {settings.seed}, key {settings.key}"
        models = [settings.model_spec, settings.t2i_spec and f"{settings.t2i_spec} for images"]
        named = " and ".join(name for name in models if name is not None)
        missing = [name for name, spec in zip(("text", "image"), models, strict=True) if spec is None]
        without = f"; no {missing[0]} model was named, so its cases are deselected" if missing else ""
        if settings.without_images:
            without = f"; the cases of images are deselected: their packages are not installed ({IMAGES})"
        new = " (new)" if self._run.ledger_is_new else ""
        if settings.ledger_wait and is_taken(settings.ledger):
            new += f" (another run asks with it: waiting up to {settings.ledger_wait:g} s)"
        judge = f", judged by {settings.judge_spec}" if Role.JUDGE in self._run.participants.roles else ""
        faces = f", faces read by {settings.detector_spec}" if Role.DETECTOR in self._run.participants.roles else ""
        if not judge and Role.MODEL in self._run.participants.roles:
            without += "; no judge was named, so the cases of F²Bench are deselected (--judge)"
        return [f"fairgate: {named}, {plan}{judge}{faces}, ledger {self._run.ledger_shown}{new}{without}"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Check the gate itself, before a worker is started."""
        if not self._run.settings.self_check or self._run.settings.dry_run:
            return
        with _usage_errors():
            self._make_room()
            reason = self_check(self._run.settings)
        if reason is not None:
            pytest.exit(
                f"fairgate: the gate does not stand its own check, so no model is judged: {reason}", returncode=7
            )

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        """Tell a worker which run it serves."""
        with _usage_errors():
            node.workerinput["fairgate"] = self._run.told()  # type: ignore[attr-defined]

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
            return forecast(self._run, Selection(self._run, [case for case in cases if case is not None]))

    def _start(self, nodeids: Iterable[str]) -> None:
        if self._sampling is not None:
            return
        cases = [case for nodeid in nodeids if (case := self._run.case_of(nodeid)) is not None]
        if not cases:
            return
        with _usage_errors():
            self._make_room()
            self._sampling = Sampling(self._run, cases)
        self._progress = ProgressLines(progress.terminal(self._config), self._sampling.progress)
        self._sampling.start()
        self._progress.start()

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
        """Keep each case's worst verdict; a case whose worker crashed has none of its own, and is trouble."""
        case = self._run.case_of(report.nodeid)
        self._foreign_failed |= case is None and report.failed and not hasattr(report, "fairgate_verdict")
        if case is None or (report.passed and report.when != "call"):
            return
        if not hasattr(report, "fairgate_verdict"):
            said = report.longreprtext.splitlines()[-1:]
            self._missing[case] = f"{''.join(said)}. Its samples are kept; run again to judge it."
        verdict = Verdict(getattr(report, "fairgate_verdict", Verdict.TROUBLE))
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
            self._report = report_of(self._sampling, self._verdicts)
        except FairgateError as error:
            # What was answered cannot be read: no verdict, and never an internal error.
            self._unjudged = self._sampling.trouble or error
            return
        # The terminal's percentages count against what was collected.
        session.testscollected += len(self._report.gates)
        for phase in gate_reports(self._report):
            self._config.hook.pytest_runtest_logreport(report=phase)
        self._write(self._report)
        path = self._run.settings.save_baseline
        if path is not None:
            with self._said():
                save(path, kept(self._sampling))

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

    def _write(self, report: Report) -> None:
        allure_dir = self._config.getoption("allure_report_dir", None)
        directory = self._run.settings.report_dir
        looked_at = allure_dir or directory is not None
        drawn: tuple[Plot, ...] = ()
        with self._said():
            drawn = gallery.plots(report, pictures=self._run.settings.plots) if looked_at else ()
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
        return () if self._sampling is None else self._sampling.cases

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Give the exit code of the verdict, where there is one and nothing of pytest's own went wrong."""
        if self._unjudged is not None:
            session.exitstatus = EXITS[Verdict.TROUBLE]
        if self._report is not None and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            foreign = pytest.ExitCode.TESTS_FAILED if self._foreign_failed else pytest.ExitCode.OK
            unwritten = EXITS[Verdict.TROUBLE] if self._unwritten else 0
            session.exitstatus = max(self._report.exit, foreign, unwritten, key=EXIT_SEVERITY.index)

    @pytest.hookimpl(wrapper=True, trylast=True, specname="pytest_sessionfinish")
    def pytest_sessionfinish_of_others(self, session: pytest.Session) -> Generator[None, object, object]:
        """Say what others could not write at the end, such as --junitxml: trouble, and no verdict lost."""
        before = len(self._unwritten)
        with self._said():
            result = yield
        if len(self._unwritten) > before:
            session.exitstatus = EXITS[Verdict.TROUBLE]
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
            terminalreporter.write_line(f"Trouble: {self._unjudged}", red=True)
            return
        if self._report is None:
            if self._sampling is not None:
                terminalreporter.write_sep("=", "fairgate: no verdict", yellow=True)
                terminalreporter.write_line(
                    f"The run ended early. {self._sampling.progress.done:,} of {self._sampling.planned:,} samples are"
                    f" in {self._run.ledger_shown}; run again to go on from there."
                )
            return
        colour = {Verdict.PASS: "green", Verdict.FAIL: "red"}.get(self._report.verdict, "yellow")
        terminalreporter.write_sep("=", f"fairgate: {self._report.verdict}", **{colour: True})
        headline, *rest = terminal.lines(self._report)
        terminalreporter.write_line(headline, **{colour: True, "bold": True})
        for line in (*rest, "", self._place_to_look):
            terminalreporter.write_line(line)
        for said in self._unwritten:
            terminalreporter.write_line(f"Trouble: {said}", red=True)
        if self._unwritten:
            again = f"python -m fairgate gate {self._run.ledger_shown}"
            terminalreporter.write_line(f"The verdict stands. `{again}` writes it anew, and asks nothing.")

    @property
    def _place_to_look(self) -> str:
        directory = self._run.settings.report_dir
        if directory is None:
            return "--report-dir DIR writes a page to look into it, with the samples: index.html"
        here = Path.cwd()
        page = directory / "index.html"
        return f"Look into it: {page.relative_to(here) if page.is_relative_to(here) else page}"


@contextmanager
def _usage_errors() -> Iterator[None]:
    """What is wrong with a model's name, an option or the ledger's place ends the run before it begins."""
    try:
        yield
    except MissingDependency as error:
        # Nothing was typed wrong: trouble, before anything is paid for.
        pytest.exit(str(error), EXITS[Verdict.TROUBLE])
    except FairgateError as error:
        raise pytest.UsageError(str(error)) from error
