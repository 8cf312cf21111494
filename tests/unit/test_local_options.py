"""The options of models on this machine, and the errors of what is not installed."""

from __future__ import annotations

from dataclasses import replace
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

import pytest

from fairgate.core.errors import ConfigError, MissingDependency
from fairgate.providers.local import options
from fairgate.providers.local.folder import digest
from fairgate.providers.local.options import ImageOptions, Named, TextOptions, seed_of
from tests.builders import query

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "find_spec", lambda name: ModuleSpec(name, None))


@pytest.mark.parametrize(("provider", "package"), [("hf", "transformers"), ("vllm", "vllm"), ("hf", "torch")])
def test_a_package_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, provider: str, package: str
) -> None:
    monkeypatch.setattr(options, "find_spec", lambda name: None if name == package else ModuleSpec(name, None))
    with pytest.raises(MissingDependency, match=rf"{package} is not installed.*fairgate\[{provider}\]"):
        Named.of(provider, "some/model", [], TextOptions)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("max_tokens=5", "hf/ has no 'max_tokens'. Did you mean 'max_new_tokens'"),
        ("batch=many", "batch: .*'many'"),
        ("batch=0", "batch is 0"),
        ("temperature=-1", "temperature is -1"),
        ("dtype=int8", "dtype is 'int8'"),
        ("trust_remote_code=true", "has no 'trust_remote_code'"),
    ],
)
def test_an_argument_that_cannot_be_used_is_an_error(given: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Named.of("hf", "some/model", [given], TextOptions)


@pytest.mark.usefixtures("installed")
def test_the_identity_holds_what_decides_a_reply_and_nothing_else() -> None:
    named = Named.of("hf", "some/model", ["temperature=1", "batch=4", "device=cpu"], TextOptions, "Be brief.")
    assert named.identity.label == "hf/some/model"
    assert dict(named.identity.parameters) == {
        "temperature": 1.0,
        "top_p": 1.0,
        "max_new_tokens": 256,
        "dtype": "auto",
        "system_prompt": "Be brief.",
    }
    image_model = Named.of("diffusers", "some/pipeline", ["steps=4"], ImageOptions)
    assert dict(image_model.identity.parameters) == {"steps": 4, "dtype": "auto"}


def test_a_seed_is_the_querys_own() -> None:
    asked = query()
    assert seed_of(asked) == seed_of(replace(asked))
    assert len({seed_of(replace(asked, index=number)) for number in range(50)}) == 50
    assert 0 <= seed_of(asked) < 2**48


def test_the_digest_of_a_folder_sees_both_ends_of_a_file(tmp_path: Path) -> None:
    weights = tmp_path / "w.bin"
    found = set()
    for content in (b"a" * 10, b"b" + b"a" * 9, b"a" * 9 + b"b", b"a" * 11):
        weights.write_bytes(content)
        found.add(digest(tmp_path, "hf/m"))
    assert len(found) == 4
