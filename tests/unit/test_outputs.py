"""Options of plug-ins that may be installed: none of them names the ledger as a place to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fairgate.core.errors import ConfigError
from fairgate.options.settings import Settings
from fairgate.runs.outputs import check_outputs

if TYPE_CHECKING:
    from pathlib import Path


def nothing(name: str, default: object) -> object:
    """No option of pytest is given."""
    del name
    return default


@pytest.mark.parametrize(
    ("name", "value"),
    [("htmlpath", "a.sqlite"), ("json_report_file", "./a.sqlite-wal"), ("cov_report", {"xml": "a.sqlite"})],
)
def test_an_option_of_any_plug_in_that_names_the_ledger_is_refused(tmp_path: Path, name: str, value: object) -> None:
    settings = Settings(ledger=tmp_path / "a.sqlite")
    with pytest.raises(ConfigError, match=r"ledger's own\.") as refused:
        check_outputs(nothing, tmp_path, settings, {name: value}, None)
    assert refused.value.where == f"--{name.replace('_', '-')}"


@pytest.mark.parametrize("value", ["b.sqlite", "race and not crime or " * 100, "x\ny", "", 3, None, ["a.sqlite"]])
def test_what_names_no_file_of_the_ledger_is_left_alone(tmp_path: Path, value: object) -> None:
    check_outputs(nothing, tmp_path, Settings(ledger=tmp_path / "a.sqlite"), {"keyword": value}, None)
