"""A folder of a model: what tells it from its state before, and from a model of the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fairgate.core.errors import ConfigError
from fairgate.providers.local import options
from fairgate.providers.local.options import Named, TextOptions, digest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the packages were there: nothing is loaded."""
    monkeypatch.setattr(options, "find_spec", lambda _: object())


def test_weights_that_differ_in_the_middle_alone_are_another_model(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    content = bytearray(4 << 20)
    weights.write_bytes(content)
    before = digest(tmp_path)
    content[2 << 20] = 1
    weights.write_bytes(content)
    assert digest(tmp_path) != before


def test_a_folder_is_not_taken_for_a_model_of_the_hub_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "org" / "model").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"is a folder here.*hf/\./org/model"):
        Named.of("hf", "org/model", [], TextOptions)
    for name in ("./org/model", str(tmp_path / "org" / "model")):
        assert "files" in Named.of("hf", name, [], TextOptions).identity.parameters
    assert "files" not in Named.of("hf", "org/other", [], TextOptions).identity.parameters


def test_a_folder_has_no_revision(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a folder has no revision"):
        Named.of("hf", str(tmp_path), ["revision=main"], TextOptions)
