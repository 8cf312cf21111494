"""For a pytest suite of your own: `pytest_plugins = ["fairgate.plugin"]` in its conftest.py.

It adds options that begin with `--fairgate-`, and fixtures. Nothing is queried unless a test uses one of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fairgate import api
from fairgate.benchmarks.registry import registry
from fairgate.core.errors import FairgateError
from fairgate.options.option import without_secrets
from fairgate.options.table import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairgate.reports.report import Report

# Another process of the same session may be asking; with its ledger, nothing is requested twice.
LEDGER_WAIT = 86_400.0  # seconds


class Options(dict[str, Any]):
    """Options by name; a traceback shows them without the secrets of addresses."""

    def __repr__(self) -> str:
        """With what a ledger would keep of an address."""
        addresses = {each.name for each in registry().options if each.about.address}
        return repr({name: without_secrets(value) if name in addresses else value for name, value in self.items()})


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the group "fairgate" to `pytest --help`."""
    registry().options.add(parser, prefixed=True)


@pytest.fixture(scope="session")
def fairgate_options(pytestconfig: pytest.Config) -> dict[str, Any]:
    """The options of a run that the command line gives, as `fairgate.run` takes them. Override it to set your own."""
    given = {each.name: pytestconfig.getoption(f"{PREFIX}_{each.name}") for each in registry().options}
    return Options((name, value) for name, value in given.items() if value is not None)


@pytest.fixture(scope="session")
def fairgate_model(fairgate_options: dict[str, Any]) -> api.Model | None:
    """The model of `fairgate_report`: --fairgate-model. Override it to return a name, or a callable of your own."""
    found: api.Model | None = fairgate_options.get("model")
    return found


@pytest.fixture(scope="session")
def fairgate_run(fairgate_options: dict[str, Any]) -> Callable[..., Report]:
    """`fairgate.run`, with the options of the command line where the test names no others."""

    def run(model: api.Model | None = None, **options: Any) -> Report:
        __tracebackhide__ = True
        chosen = {"ledger_wait": LEDGER_WAIT, **fairgate_options, **options}
        return api.run(**chosen | ({} if model is None else {"model": model}))

    return run


@pytest.fixture(scope="session")
def fairgate_report(fairgate_run: Callable[..., Report], fairgate_model: api.Model | None) -> Report:
    """The report of your model, made once a session, when the first test asks for it."""
    if fairgate_model is None:
        raise FairgateError(
            "fairgate_report: no model is named.",
            hint="Give --fairgate-model PROVIDER/NAME, or override the fixture fairgate_model.",
        )
    return fairgate_run(fairgate_model)
