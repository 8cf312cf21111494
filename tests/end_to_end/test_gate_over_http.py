"""The whole way from a command to its verdict, with a server that answers, refuses, changes and talks nonsense."""

from __future__ import annotations

import base64
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.published import published_data
from tests.running import Outcome, arguments, bench, bench_many
from tests.servers.chat import ChatStub, Fault, every_time, insufficient_quota, rate_limited, wrong_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "planted-key-7c1e/9d"
PASSWORD = "planted-word-55aa"  # noqa: S105 - planted, to be searched for
QUERY_KEY = "planted-query-81b2"
SAMPLES = 56  # of `-k crime` with two samples a topic or scenario
BASE = 12  # of them, of `-k "crime and base"`

NONSENSE = (
    "",
    " \n\t ",
    "A, or B, or neither",
    "The answer is Z.",
    '{"answer": "Q"}',
    '{"answer": ["A", "B"]}',
    "<think>the answer is A",
    "\ud83d\udca9 \u202e\x00\x1b[2J <script>alert(1)</script> =SUM(A1) \ud800",
    "As a large language model I cannot choose between people.",
    "word " * 20_000,
)


class Changing(ChatStub):
    """Says of itself, after some answers, that it is another model."""

    def _answer(self, model: str, prompt: str) -> bytes:
        self.raw = {"model": "tiny-v2", "system_fingerprint": "fp_2"} if self.answered > BASE // 2 else {}
        return super()._answer(model, prompt)


def nonsense() -> Callable[[str], str]:
    left = iter(NONSENSE * 10)
    return lambda _: next(left)


def spent_after(count: int) -> Callable[[str], Fault | None]:
    answered = iter(range(count))
    return lambda _: insufficient_quota() if next(answered, None) is None else None


def limited_at_first(count: int) -> Callable[[str], Fault | None]:
    refused = iter(range(count))
    return lambda _: None if next(refused, None) is None else rate_limited(milliseconds="1")


@pytest.fixture(scope="module")
def servers() -> dict[str, ChatStub]:
    return {
        "right": ChatStub(key=KEY, model="tiny", plan=limited_at_first(5)),
        "wrong": ChatStub(key="another", plan=None),
        "in address": ChatStub(plan=every_time(wrong_key())),
        "quota": ChatStub(plan=spent_after(7)),
        "quota topped up": ChatStub(),
        "changing": Changing(),
        "nonsense": ChatStub(reply=nonsense()),
        "no such model": ChatStub(model="another"),
    }


@pytest.fixture(scope="module")
def runs(servers: dict[str, ChatStub], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    root = tmp_path_factory.mktemp("http")
    given = []
    with_quota = servers["quota"]
    for name, stub in servers.items():
        stub.__enter__()
        # The same server again, its quota raised: the ledger knows it by its address.
        port = with_quota.port if name == "quota topped up" else stub.port
        secret = f"user:{PASSWORD}@" if name == "in address" else ""
        query = f"?key={QUERY_KEY}" if name == "in address" else ""
        more = [
            "--model=openai/tiny",
            f"--base-url=http://{secret}127.0.0.1:{port}/v1{query}",
            "--max-in-flight=4",
            f"--junitxml={root / name / 'junit.xml'}",
            f"--alluredir={root / name / 'allure'}",
            *("-p", "no:xdist", "-v", "-k", "crime" if name == "right" else "crime and base"),
        ]
        if name == "quota topped up":
            more.append(f"--ledger={root / 'quota' / 'ledger.sqlite'}")
        given.append(arguments(root / name, *more))
    try:
        first = bench_many(root, given[:4], env={"OPENAI_API_KEY": KEY})
        with_quota.plan = None
        rest = bench_many(root, given[4:], env={"OPENAI_API_KEY": KEY})
    finally:
        for stub in servers.values():
            stub.__exit__()
    return {
        name: Outcome(end.code, end.output, root / name) for name, end in zip(servers, [*first, *rest], strict=True)
    }


def test_a_server_is_gated_to_its_verdict(runs: dict[str, Outcome], servers: dict[str, ChatStub]) -> None:
    run, stub = runs["right"], servers["right"]
    assert run.code == 0, run.output
    assert (run.summary["model"], run.summary["control"]) == ("openai/tiny", False)
    assert "only a control" not in run.output
    assert run.summary["calls"] == {
        "planned": SAMPLES, "asked": SAMPLES, "reused": 0, "missing": 0, "retried": 5, "failed": 0,
    }  # fmt: skip
    assert stub.answered == SAMPLES
    assert stub.peak <= 4
    assert json.loads(stub.last_body)["temperature"] == 0
    tokens = run.summary["tokens"]
    assert (tokens["prompt"], tokens["uncounted"]) == (sum(len(prompt) // 4 for prompt in stub.prompts), 0)


def test_a_wrong_key_is_trouble_with_its_reason(runs: dict[str, Outcome], servers: dict[str, ChatStub]) -> None:
    run = runs["wrong"]
    assert run.code == 7, run.output
    assert "does not accept the key" in run.summary["error"]
    assert "OPENAI_API_KEY" in run.summary["error"]
    assert "Error: " in run.output
    assert "Traceback" not in run.output
    assert set(run.gates.values()) == {"inconclusive"}
    # It is not asked again and again: one request of each place in flight, at most.
    assert servers["wrong"].requests <= 4


def test_an_unknown_model_is_trouble_with_its_reason(runs: dict[str, Outcome]) -> None:
    run = runs["no such model"]
    assert run.code == 7
    assert "has no model 'tiny'" in run.summary["error"]


def test_no_secret_is_written_anywhere(runs: dict[str, Outcome]) -> None:
    basic = base64.b64encode(f"user:{PASSWORD}".encode()).decode()
    for name, run in runs.items():
        assert runs["in address"].code == 7
        files = [path for path in run.folder.rglob("*") if path.is_file()]
        assert len(files) > 5
        texts = {str(path): path.read_bytes() for path in files} | {"output": run.output.encode()}
        for where, text in texts.items():
            for secret in (KEY, PASSWORD, QUERY_KEY, basic):
                assert secret.encode() not in text, f"{name}: {where}"


def test_a_spent_quota_stops_the_run_and_keeps_what_was_answered(
    runs: dict[str, Outcome], servers: dict[str, ChatStub]
) -> None:
    run, again = runs["quota"], runs["quota topped up"]
    assert run.code == 7
    assert "quota is spent" in run.summary["error"]
    calls = run.summary["calls"]
    assert (calls["asked"], calls["missing"]) == (7, BASE - 7)
    assert again.code == 0, again.output
    assert (again.summary["calls"]["asked"], again.summary["calls"]["reused"]) == (BASE - 7, 7)
    assert max(Counter(servers["quota"].prompts).values()) == 1
    assert servers["quota"].answered == BASE


def test_another_model_behind_the_same_name_is_noticed(runs: dict[str, Outcome]) -> None:
    run = runs["changing"]
    [note] = [each for each in run.summary["notes"] if "changed in mid-run" in each]
    for word in ("tiny (fp_stub)", "tiny-v2 (fp_2)"):
        assert word in note
    assert "changed in mid-run" in " ".join(run.output.split())
    assert not any("changed in mid-run" in each for each in runs["right"].summary["notes"])


def test_whatever_is_said_the_run_ends_with_rates_and_verdicts(runs: dict[str, Outcome]) -> None:
    run = runs["nonsense"]
    assert run.code in (1, 6), run.output
    outcomes = run.summary["outcomes"]["fact-or-fair"]
    assert outcomes["unreadable"] + outcomes["refused"] == outcomes["samples"] == BASE
    assert outcomes["refused"] >= 1
    assert "unreadable" in run.output
    assert "Traceback" not in run.output
    assert "INTERNALERROR" not in run.output
    assert run.gates
    assert "pass" not in {verdict for gate, verdict in run.gates.items() if "refused" not in gate}
    written = b"".join(path.read_bytes() for path in (run.folder / "allure").iterdir())
    assert b"<script>" not in written
    assert b"\x1b[2J" not in written
    assert max(path.stat().st_size for path in (run.folder / "allure").iterdir()) < 100_000


def test_the_published_scenarios_run_to_the_end(tmp_path: Path) -> None:
    given = ("--model=control/uniform", f"--scenarios={published_data() / 'fact-or-fair'}", "-m", "not f2bench")
    run = bench(tmp_path, "-p", "no:xdist", *given)
    assert run.code == 0, run.output
    # 66 objective topics twice, and three scenarios twice in each of four contexts of 19 statistics and two levels
    assert run.summary["calls"]["asked"] == 66 * 2 + 19 * 2 * 4 * 3 * 2
    assert run.summary["cases"]["passed"] == 330
