"""A folder of a model: what tells it from its state before, and from a model of the hub."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import sys
from typing import TYPE_CHECKING, NoReturn

import pytest

from fairgate.core.errors import ConfigError
from fairgate.providers.local import folder, options
from fairgate.providers.local.folder import check_code, check_layers, digest
from fairgate.providers.local.memory import room
from fairgate.providers.local.options import Named, TextOptions

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
    before = digest(tmp_path, "hf/m")
    content[2 << 20] = 1
    weights.write_bytes(content)
    assert digest(tmp_path, "hf/m") != before


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


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Two models of a file each, and a folder `mine` whose weights are to lie in one of them."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(name.encode())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    return tmp_path


def index(place: Path, name: str) -> None:
    told = {"metadata": {}, "weight_map": {"lm_head.weight": name}}
    (place / "model.safetensors.index.json").write_text(json.dumps(told))


def test_other_weights_behind_a_linked_folder_are_another_model(models: Path) -> None:
    found = set()
    for name in ("one", "two", "one"):
        (models / "mine" / "unet").unlink(missing_ok=True)
        (models / "mine" / "unet").symlink_to(f"../{name}")
        found.add(digest(models / "mine", "hf/m"))
    assert len(found) == 2
    (models / "one" / "model.safetensors").write_bytes(b"trained further")
    assert digest(models / "mine", "hf/m") not in found


@pytest.mark.parametrize("name", [".shard.safetensors", ".hidden/model.safetensors"])
def test_weights_whose_name_begins_with_a_dot_count(models: Path, name: str) -> None:
    path = models / "mine" / name
    path.parent.mkdir(exist_ok=True)
    index(models / "mine", name)
    found = set()
    for content in (b"one", b"two"):
        path.write_bytes(content)
        found.add(digest(models / "mine", "hf/m"))
    assert len(found) == 2


@pytest.mark.parametrize("left_out", [".git", ".cache"])
def test_what_a_download_leaves_beside_a_model_makes_no_other_of_it(models: Path, left_out: str) -> None:
    before = digest(models / "mine", "hf/m")
    (models / "mine" / left_out).mkdir()
    (models / "mine" / left_out / "fetched").write_text("2026-01-01")
    assert digest(models / "mine", "hf/m") == before


def test_linked_folders_in_a_circle_and_of_many_names_are_read_once(models: Path) -> None:
    """Followed by every name, these would be 2 to the 30th files."""
    place = models / "mine"
    for _ in range(30):
        place = place / "next"
        place.mkdir()
        (place.parent / "again").symlink_to("next")
    (place / "above").symlink_to(models / "mine")
    before = digest(models / "mine", "hf/m")
    (models / "mine" / "again").unlink()
    assert digest(models / "mine", "hf/m") != before, "the second name is one that a model may be loaded by"


@pytest.mark.parametrize("name", ["../one/model.safetensors", ".cache/model.safetensors"])
def test_an_index_that_names_weights_elsewhere_is_refused(models: Path, name: str) -> None:
    (models / "mine" / ".cache").mkdir()
    (models / "mine" / ".cache" / "model.safetensors").write_bytes(b"one")
    index(models / "mine", name)
    with pytest.raises(ConfigError, match=rf"hf/m: model\.safetensors\.index\.json names '{re.escape(name)}'"):
        digest(models / "mine", "hf/m")


def test_an_index_in_a_folder_below_names_nothing_outside_of_the_model(models: Path) -> None:
    below = models / "mine" / "sub"
    below.mkdir()
    (below / "x.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    with pytest.raises(ConfigError, match=r"sub/x\.safetensors\.index\.json names '\.\./elsewhere\.safetensors'"):
        digest(models / "mine", "hf/m")


def test_a_configuration_names_no_weights_of_its_own(models: Path) -> None:
    (models / "mine" / "config.json").write_text('{"transformers_weights": ".cache/x.safetensors"}')
    with pytest.raises(ConfigError, match=r"config\.json has 'transformers_weights', which names weights of its own"):
        digest(models / "mine", "hf/m")


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "5", '{"weight_map": [1]}', '{"weight_map": {"a": 1, "b": "\\u0000"}}']
)
def test_an_index_of_anything_is_left_to_the_library(models: Path, content: str) -> None:
    (models / "mine" / "model.safetensors.index.json").write_text(content)
    assert len(digest(models / "mine", "hf/m")) == 16


@pytest.mark.parametrize("place", [".", "text_encoder"])
def test_an_adapter_whose_base_model_lies_elsewhere_is_refused(models: Path, place: str) -> None:
    (models / "mine" / place).mkdir(exist_ok=True)
    (models / "mine" / place / "adapter_config.json").write_text('{"base_model_name_or_path": "../one"}')
    with pytest.raises(ConfigError, match=r"it holds an adapter.*merge_and_unload"):
        assert Named.of("hf", str(models / "mine"), [], TextOptions).identity


def test_a_fifo_in_a_folder_is_not_waited_for(models: Path) -> None:
    before = digest(models / "mine", "hf/m")
    os.mkfifo(models / "mine" / "model.safetensors")
    assert digest(models / "mine", "hf/m") == before


def test_what_cannot_be_read_is_named(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(folder, "opened", refuse)  # the superuser could read it
    with pytest.raises(ConfigError, match=r"hf/m: .*model\.safetensors cannot be read: Permission denied"):
        digest(models / "one", "hf/m")


def test_a_folder_is_loaded_without_the_network_and_a_name_of_the_hub_with_it(tmp_path: Path) -> None:
    assert Named.of("hf", str(tmp_path), [], TextOptions).environment == {"HF_HUB_OFFLINE": "1"}
    assert Named.of("hf", "org/other", [], TextOptions).environment == {}


@pytest.mark.parametrize(
    "name", ["pipe.py", "unet/evil.pyc", "unet/evil.cpython-312-x86_64-linux-gnu.so", ".cache/a.PY"]
)
def test_a_pipelines_folder_with_code_is_refused(models: Path, name: str) -> None:
    check_code(models / "mine")
    (models / "elsewhere" / name).parent.mkdir(parents=True)
    (models / "elsewhere" / name).write_bytes(b"")
    (models / "mine" / "part").symlink_to("../elsewhere")
    with pytest.raises(ValueError, match=f"it holds code of its own, part/{name}"):
        check_code(models / "mine")


@pytest.mark.parametrize(
    ("part", "refused"),
    [
        (["theirs.unet.evil", "X"], "'theirs.unet.evil'"),
        (["antigravity", "X"], "'antigravity'"),
        (["..antigravity", "X"], "'..antigravity'"),
        (["diffusers", "UNet2DConditionModel"], None),
        (["transformers", "CLIPTextModel"], None),
        ([None, None], None),
        ([512, 512], None),
    ],
)
def test_a_pipeline_whose_parts_are_of_other_modules_is_refused(
    models: Path, part: list[object], refused: str | None
) -> None:
    (models / "mine" / "model_index.json").write_text(json.dumps({"_class_name": "Pipe", "unet": part}))
    if refused is None:
        check_code(models / "mine")
        return
    with pytest.raises(ValueError, match=f"names {refused} for unet, which is no part of diffusers or transformers"):
        check_code(models / "mine")


@pytest.mark.parametrize("part", [{"num_hidden_layers": 100}, {"text_config": {"n_layer": 100}}])
def test_a_configuration_of_more_layers_than_the_files_hold_is_refused(models: Path, part: dict[str, object]) -> None:
    (models / "mine" / "config.json").write_text(json.dumps(part))
    with pytest.raises(ValueError, match=r"its config\.json has n\w+ 100, and all of its files \d+ bytes"):
        check_layers(models / "mine")
    (models / "mine" / "model.safetensors").write_bytes(bytes(100 * 4096))
    check_layers(models / "mine")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_a_template_that_takes_all_memory_is_stopped() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), room(2**28):
        _ = "a" * 2**30
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    with room(2**28):
        assert len("a" * 2**20) == 2**20
