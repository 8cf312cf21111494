"""PROVIDER/NAME -> a model at the right address, with the right key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fairgate.core.errors import ConfigError
from fairgate.providers.chat import registry as providers
from fairgate.sampling.scheduler import Scheduler
from tests.settings import settings_of

if TYPE_CHECKING:
    from fairgate.options.settings import Settings

VARIABLES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
ASIDE = Scheduler().step_aside
OWN = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com/v1"}


def given(*said: str) -> Settings:
    return settings_of(Path("/"), *said)


@pytest.fixture(autouse=True)
def _nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES.values():
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("provider", VARIABLES)
def test_the_environment_names_the_server_unless_the_user_does(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def address(*more: str) -> str | None:
        return providers.make(given(f"--model={provider}/m", *more), (), ASIDE).identity.address

    assert address() == OWN[provider]
    for variable in VARIABLES.values():
        monkeypatch.setenv(variable, "http://other.invalid/v1")
    monkeypatch.setenv(VARIABLES[provider], "http://env.invalid/v1")
    assert address() == "http://env.invalid/v1"
    assert address("--base-url=http://given.invalid/v1") == "http://given.invalid/v1"
    monkeypatch.setenv(VARIABLES[provider], "")
    assert address() == OWN[provider]


@pytest.mark.parametrize(
    ("judge", "more", "address"),
    [
        ("openai/j", (), "http://model.invalid/v1"),
        ("openai/j", ("--judge-base-url=http://judge.invalid/v1",), "http://judge.invalid/v1"),
        ("anthropic/j", (), OWN["anthropic"]),
        ("anthropic/j", ("--judge-base-url=http://judge.invalid",), "http://judge.invalid/v1"),
    ],
)
def test_a_judge_of_another_provider_is_not_sought_at_the_models_address(
    judge: str, more: tuple[str, ...], address: str
) -> None:
    made = providers.make_judge(
        given("--model=openai/m", "--base-url=http://model.invalid/v1", f"--judge={judge}", *more), (), ASIDE
    )
    assert made.identity.address == address


@pytest.mark.parametrize(
    ("judge", "more", "where"),
    [
        ("openai/j", "--judge-arg=foo", "--judge-arg"),
        ("openai/j", "--judge-base-url=nowhere", "--judge-base-url"),
        ("control/judge", "--judge-arg=a=1", "--judge-arg"),
    ],
)
def test_what_is_wrong_with_the_judge_names_the_judges_own_option(judge: str, more: str, where: str) -> None:
    model = "control/oracle" if judge.startswith("control") else "openai/m"
    with pytest.raises(ConfigError) as refused:
        providers.make_judge(given(f"--model={model}", f"--judge={judge}", more), (), ASIDE)
    assert refused.value.where == where
    assert "--base-url" not in str(refused.value).replace("--judge-base-url", "")
    assert "--model-arg" not in str(refused.value)
