"""The suite's plugin: pytest's hooks in every process of a run, each a line or two into what does the work."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.registry import registry
from fairgate.controller import LOST, Controller, end
from fairgate.core.current_folder import check_unlinked
from fairgate.core.errors import ClaimRefuted, FairgateError, Unsampled
from fairgate.core.redaction import printable
from fairgate.launch import CONTROLLER, Session
from fairgate.options.settings import DEFAULT_LEDGER
from fairgate.options.table import OptionTable
from fairgate.runs.opening import open_run
from fairgate.runs.outputs import check_debug, check_outputs
from fairgate.runs.past_run import recall
from fairgate.runs.session import RunSession

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path
    from types import FrameType

SESSION = pytest.StashKey[RunSession]()


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the group "fairgate" to `pytest --help`, and keep pytest's own log of itself off the ledger.

    pytest opens it before it calls another hook of a plugin that a conftest.py names.
    """
    try:
        registry().options.add(parser)
    except FairgateError:
        # A broken plug-in: pytest_configure says which.
        OptionTable().add(parser)
    config = pluginmanager.get_plugin("pytestconfig")
    early = None if config is None else getattr(config, "known_args_namespace", None)
    if config is None or early is None or not early.debug:
        return
    given = parser.parse_known_args(config.invocation_params.args)
    try:
        check_debug(given.ledger, early.debug, config.invocation_params.dir)
    except FairgateError as error:
        raise pytest.UsageError(printable(str(error))) from error


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read options, limits and data before anything is collected: what is wrong with them is a usage error."""
    if config.getoption("dry_run"):
        # Nothing is asked, so there is nothing to share: workers would only wait for one another.
        config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []
    if hasattr(config, "workerinput"):
        # Each worker, and each replacement of a crashed one, would empty the folder while others write to it.
        config.option.clean_alluredir = False
    try:
        options = registry().options
        given = options.read(config.getoption, config.invocation_params.dir)
        if config.getoption("ledger") == DEFAULT_LEDGER:
            hint = "Remove it, or name the ledger itself: --ledger PATH."
            check_unlinked(config.invocation_params.dir, DEFAULT_LEDGER, "--ledger", hint)
        if not hasattr(config, "workerinput"):
            mine = {each.name for each in options}
            others = {name: value for name, value in vars(config.option).items() if name not in mine}
            check_outputs(partial(_output, config), config.invocation_params.dir, given, others, _emptied_cache(config))
        past = recall(given.ledger, given.replay_run) if given.replay else None
        if past is not None:
            given = options.read(config.getoption, config.invocation_params.dir, past.asked)
        told = getattr(config, "workerinput", {}).get("fairgate")
        run = open_run(given, told, past, Session.of(config).callables)
    except FairgateError as error:
        # It may quote names of files, or what they hold: nothing in it is to be obeyed by a terminal or a CI's runner.
        end(error)
    session = config.stash[SESSION] = RunSession(run, None if told is None else os.getppid())
    seen_by = {name: f"seen by {name}" for name in run.benchmarks.attributes}
    for mark, meaning in (registry().markers | seen_by).items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    losses = _losses(config)
    if not hasattr(config, "workerinput"):
        if config.pluginmanager.register(Controller(config, session, losses), CONTROLLER) is None:
            raise pytest.UsageError(f"-p no:{CONTROLLER}: without it nothing is gated. Leave it out.")
        _interrupt_on_sigterm(config)


def _output(config: pytest.Config, name: str, default: object) -> object:
    """Where an option of pytest writes; its log has a setting of the same name."""
    return config.getoption(name, default) or (config.getini(name) if name == "log_file" else default)


def _emptied_cache(config: pytest.Config) -> Path | None:
    """pytest's cache, where it is to be emptied."""
    return config.rootpath / config.getini("cache_dir") if config.getoption("cacheclear", False) else None


def _interrupt_on_sigterm(config: pytest.Config) -> None:
    """End as after Ctrl-C where a CI's runner or a container ends the process: what was answered is kept, and said."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt("SIGTERM")

    def leave() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    signal.signal(signal.SIGTERM, interrupt)
    config.add_cleanup(leave)


def _losses(config: pytest.Config) -> list[str]:
    """What Allure could not write in this process, as it goes on."""
    if not config.getoption("allure_report_dir", None):
        return []
    import allure_commons

    from fairgate.reports.allure_losses import AllureLosses

    losses = AllureLosses()
    allure_commons.plugin_manager.register(losses)
    config.add_cleanup(lambda: allure_commons.plugin_manager.unregister(losses))
    if hasattr(config, "workeroutput"):
        config.workeroutput[LOST] = losses.said
    return losses.said


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say on a case's report what it means for the model; a plain attribute travels from worker to controller."""
    report = yield
    ours = item.config.stash[SESSION].run.case_of(item.nodeid) is not None
    if ours and (report.when == "call" or not report.passed):
        if call.excinfo is not None and call.excinfo.errisinstance((ClaimRefuted, FairgateError)):
            # What was found says it all: the line of code that found it would only hide it.
            report.longrepr = str(call.excinfo.value)
        # Missing samples have a cause in the run: it is said once, there.
        unsampled = call.excinfo is not None and call.excinfo.errisinstance(Unsampled)
        report.fairgate_unsampled = unsampled  # type: ignore[attr-defined] # as below
        # A plain string: that is what crosses from a worker to the controller.
        report.fairgate_verdict = str(_verdict(call.excinfo))  # type: ignore[attr-defined] # reports take attributes
    return report


def _verdict(excinfo: pytest.ExceptionInfo[BaseException] | None) -> Verdict:
    if excinfo is None:
        return Verdict.PASS
    if excinfo.errisinstance(ClaimRefuted):
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if excinfo.errisinstance(pytest.skip.Exception) else Verdict.ERROR


def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """Count what could not be decided as `inconclusive`, and a waived failure as such: no mere skips."""
    verdict = getattr(report, "fairgate_verdict", None)
    if not report.skipped or verdict is None:
        return None
    # Below -vv pytest cuts a reason to the room behind the case's name; at -vv it wraps it there, and swallows its
    # beginning where the name leaves no room: it gets a line of its own. Workers' reports have no reason in their line.
    own_line = (
        "\n " if config.get_verbosity(pytest.Config.VERBOSITY_TEST_CASES) > 1 and not hasattr(report, "node") else ""
    )
    known = ("waived", "w", "WAIVED") if verdict == Verdict.WAIVED else ("inconclusive", "i", "INCONCLUSIVE")
    return *known[:2], known[2] + own_line


@pytest.hookimpl(wrapper=True, specname="pytest_report_teststatus")
def pytest_report_teststatus_briefly(
    report: pytest.TestReport, config: pytest.Config
) -> Generator[None, tuple[str, str, object], tuple[str, str, object]]:
    """Print no letter for a case or a gate unless -v asks for names: the progress line counts samples instead."""
    category, letter, word = yield
    quiet = config.get_verbosity() <= 0 and hasattr(report, "fairgate_verdict")
    return category, "" if quiet else letter, word
