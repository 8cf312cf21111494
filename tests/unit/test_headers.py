"""Headers that the user adds, and the address of an Azure deployment."""

from __future__ import annotations

import pytest

from fairgate.core.errors import ConfigError
from fairgate.providers.chat.openai import azure_address
from fairgate.providers.headers import headers_of

KEY = "planted-key-7731"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f"{KEY}\n")
    monkeypatch.delenv("NOT_SET", raising=False)


def test_values_come_from_the_environment_and_are_known_as_secrets() -> None:
    given = ["api-key=$MY_KEY", "X-Auth=Token ${MY_KEY}", "X-Team=red=blue", "X-Price=$$5", "X-None="]
    headers = headers_of(given, "--header")
    assert headers.values == {
        "api-key": KEY, "X-Auth": f"Token {KEY}", "X-Team": "red=blue", "X-Price": "$5", "X-None": "",
    }  # fmt: skip
    assert set(headers.secrets) == {KEY}
    assert KEY not in repr(headers)
    assert headers.over({"x-TEAM": "old", "Accept": "a"}) == {"Accept": "a", **headers.values}


@pytest.mark.parametrize(
    ("name", "value", "apart"),
    [
        ("Authorization", f"Bearer {KEY}", {KEY}),
        ("Authorization", "Basic bWU6cGxhbnRlZC03NzMx", {"bWU6cGxhbnRlZC03NzMx", "me:planted-7731", "planted-7731"}),
        ("Authorization", f"Basic {KEY}", {KEY}),
        ("Cookie", f"session={KEY}; other={KEY}2", {KEY, f"{KEY}2"}),
        ("X-Key", f"three words {KEY}", set()),
    ],
)
def test_what_a_server_may_say_apart_is_a_secret_too(
    name: str, value: str, apart: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHOLE", value)
    assert set(headers_of([f"{name}=$WHOLE"], "--header").secrets) == {value, *apart}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("api-key", r"'api-key' is not the name of a header.*NAME=VALUE"),
        ("a key=1", "'a key' is not the name"),
        ("=1", "'' is not the name"),
        ("X-A=$NOT_SET", r"names \$NOT_SET, which is not set"),
        ("X-A=5$", "names no variable"),
        (f"api-key={KEY}", r"looks like a secret.*'api-key=\$VARIABLE'"),
        (f"Authorization=Bearer {KEY}", "looks like a secret"),
        (f"X-Any=Bearer {KEY}", "looks like a secret"),
        ("X-A=a\nb: c", "characters that no header may"),
        ("X-A=é", "characters that no header may"),
        ("Content-Type=text/plain", "Content-Type is not for the user"),
        ("host=a", "host is not for the user"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_without_its_value(given: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        headers_of([given], "--header")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("resource", "version", "address"),
    [
        ("https://r.openai.azure.com", None, "https://r.openai.azure.com/openai/v1"),
        ("https://r.openai.azure.com/", "2024-10-21", "https://r.openai.azure.com/openai/deployments/my%2Fgpt?api-version=2024-10-21"),
        ("https://r.openai.azure.com/openai", "2024-10-21", "https://r.openai.azure.com/openai/deployments/my%2Fgpt?api-version=2024-10-21"),
        ("https://r.openai.azure.com?api-version=1&a=b", "2", "https://r.openai.azure.com/openai/deployments/my%2Fgpt?api-version=1&a=b"),
        ("https://r.openai.azure.com/openai/v1/", "2", "https://r.openai.azure.com/openai/v1/"),
        ("https://r.openai.azure.com/openai/deployments/d?api-version=3", "2", "https://r.openai.azure.com/openai/deployments/d?api-version=3"),
        ("https://gateway.example/azure", "2", "https://gateway.example/azure/openai/deployments/my%2Fgpt?api-version=2"),
    ],
)  # fmt: skip
def test_an_azure_deployment_has_its_address_below_the_resource(
    resource: str, version: str | None, address: str
) -> None:
    assert azure_address(resource, "my/gpt", version) == address
