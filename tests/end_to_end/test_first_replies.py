"""A server whose first replies cannot be used: the run stops there, and says which option may mend it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fairgate.sampling.canary import LOOKED_AT
from tests.running import Outcome, arguments, bench_many
from tests.servers.chat import ChatStub, Fault

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

NONSENSE = "\x1b[31m<b>lorem ipsum</b>\n::error::dolor"
CUT = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Let me"}, "finish_reason": "length"}]}
SERVERS: dict[str, Callable[[], ChatStub]] = {
    "nonsense": lambda: ChatStub(reply=lambda _: NONSENSE),
    "refuses": lambda: ChatStub(reply=lambda _: "I'm sorry, but I cannot help with that."),
    "cut short": lambda: ChatStub(plan=lambda _: Fault("cut short", body=json.dumps(CUT).encode())),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    root = tmp_path_factory.mktemp("first-replies")
    found: dict[str, Outcome] = {}
    for name, server in SERVERS.items():
        with server() as stub:
            common = ("--model=openai/tiny", f"--base-url={stub.base_url}", "-p", "no:xdist", "-k", "crime")
            ways: dict[str, tuple[str, ...]] = {name: (), f"{name}, again": (), f"{name}, all": ("--no-canary",)}
            given = [arguments(root / name, *common, "--max-in-flight=4", *more) for more in ways.values()]
            ended = bench_many(root, given)
            # Each writes into the same folder: only the last one's summary is left.
            found |= {way: Outcome(end.code, end.output, root / name) for way, end in zip(ways, ended, strict=True)}
            found[f"{name}, requests"] = Outcome(stub.requests, "", root)
    return found


@pytest.mark.parametrize(
    ("name", "option"),
    [("nonsense", "--system-prompt"), ("refuses", "--system-prompt"), ("cut short", "36 truncated")],
)
def test_the_run_stops_after_a_few_dozen_replies_and_says_what_to_do(
    runs: dict[str, Outcome], name: str, option: str
) -> None:
    run = runs[name]
    assert run.code == 7, run.output
    said = " ".join(run.output.split())
    assert said.count(f"of the first {LOOKED_AT} replies next to none can be used") == 1
    assert option in said
    assert "--no-canary" in said
    assert "\x1b" not in run.output
    assert "Traceback" not in run.output
    assert not [line for line in run.output.splitlines() if line.strip().startswith("::")]


def test_replies_are_quoted(runs: dict[str, Outcome]) -> None:
    assert " ".join(runs["nonsense"].output.split()).count("lorem ipsum") >= 3


@pytest.mark.parametrize("name", SERVERS)
def test_started_again_nothing_more_is_asked_and_without_a_canary_all_is(runs: dict[str, Outcome], name: str) -> None:
    assert runs[f"{name}, again"].code == 7
    assert "0 asked" in runs[f"{name}, again"].output
    whole = runs[f"{name}, all"]
    assert whole.code in (1, 6), whole.output
    calls = whole.summary["calls"]
    assert calls["missing"] == 0
    # Of all requests of three runs each sample had one.
    assert runs[f"{name}, requests"].code == calls["planned"]
    assert LOOKED_AT <= calls["reused"] < LOOKED_AT + 8
