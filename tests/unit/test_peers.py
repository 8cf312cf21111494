"""The peers beside which throughput is measured: each is named in the extra, and asks every prompt once."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections import Counter

import pytest

from benchmarks import throughput
from benchmarks.peers import PEERS, installed
from tests.running import CHECKOUT, PATIENCE
from tests.servers.chat import ChatStub

N = 12


def test_the_extra_installs_every_peer() -> None:
    extras = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    packages = " ".join(extras["peers"]).replace("-", "_")
    assert [module for module, _ in PEERS.values() if module not in packages] == []


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_asks_every_prompt_once(name: str) -> None:
    if not installed()[name]:
        pytest.skip("not installed")
    with ChatStub(latency=0.05) as stub:
        command = [sys.executable, "-m", "benchmarks.clients", name, stub.base_url, str(N), "4"]
        subprocess.run(command, cwd=CHECKOUT, check=True, timeout=PATIENCE)  # noqa: S603 - our own interpreter
        assert Counter(stub.prompts).total() == N
        assert 1 < stub.peak <= 4


def test_the_measurement_takes_its_options(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["throughput", "--latency", "0.5", "--only"])
    throughput.main()
    assert capsys.readouterr().out == ""


def test_a_client_that_crashed_is_not_measured() -> None:
    with throughput.stub(0.0) as url, pytest.raises(SystemExit, match="exited with 1"):
        throughput.measure(url, [sys.executable, "-c", "raise SystemExit(1)"], core=None)
