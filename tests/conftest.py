"""Runs that many tests look at."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.plugin import strict
from tests.running import Outcome, bench

if TYPE_CHECKING:
    from pathlib import Path


def pytest_configure(config: pytest.Config) -> None:
    strict.pytest_configure(config)
    # The tests start hundreds of processes: to compile every module anew would be half of their time.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # A job in the background ignores Ctrl-C, and what it starts inherits that: some tests send it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=["default", "fast"])
def each_transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP through the default transport, and once more through that of the extra `fast` where it is installed."""
    if request.param == "fast":
        pytest.importorskip("pyreqwest")
    monkeypatch.setenv("FAIRGATE_FAST", str(int(request.param == "fast")))


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy and no certificate of the machine's own environment."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "FAIRGATE_CLIENT_CERT", "FAIRGATE_CLIENT_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@dataclass(frozen=True)
class ControlRuns:
    """The same small run of the default control, in every way in which pytest can be started.

    `plain` without xdist, `again` with `-n 0` on the ledger of `plain`, `workers` with `-n 2` and a ledger of its own.
    """

    plain: Outcome
    again: Outcome
    workers: Outcome

    @property
    def all(self) -> tuple[Outcome, ...]:
        return self.plain, self.again, self.workers


@pytest.fixture(scope="session")
def control_runs(tmp_path_factory: pytest.TempPathFactory) -> ControlRuns:
    root = tmp_path_factory.mktemp("control")

    def run(name: str, *more: str | Path) -> Outcome:
        folder = root / name
        written = (f"--junitxml={folder / 'junit.xml'}", f"--alluredir={folder / 'allure'}")
        return bench(folder, "-v", "-k", "crime and not t2i", *written, *more)

    plain = run("plain", "-p", "no:xdist")
    again = run("again", "-n", "0", f"--ledger={plain.folder / 'ledger.sqlite'}")
    return ControlRuns(plain, again, run("workers", "-n", "2"))
