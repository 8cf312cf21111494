"""Budgets of a whole run: they end it cleanly, with a verdict, and what was answered is never asked again."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.running import LIMITS, Outcome, arguments, bench_many, stored
from tests.servers.chat import ChatStub

PRICED, PRICELESS = "openai/tiny", "openai/other"


@pytest.fixture(scope="module")
def stub() -> ChatStub:
    return ChatStub()


@pytest.fixture(scope="module")
def runs(stub: ChatStub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    root = tmp_path_factory.mktemp("budgets")
    ledger = root / "calls" / "ledger.sqlite"
    asked = {
        "calls": (PRICED, "--budget-calls=7"),
        "gone on": (PRICED, f"--ledger={ledger}"),
        "money": (PRICED, "--budget-usd=0.1"),
        "no price": (PRICELESS, "--budget-usd=1"),
        "nothing": (PRICED, "--budget-tokens=0"),
    }
    with stub:
        common = (f"--base-url={stub.base_url}", "-p", "no:xdist", "-v", "-k", "crime and base")
        given = [arguments(root / name, f"--model={spec}", *more, *common) for name, (spec, *more) in asked.items()]
        ended = bench_many(root, given)
    return {name: Outcome(end.code, end.output, root / name) for name, end in zip(asked, ended, strict=True)}


def test_a_spent_budget_is_trouble_with_a_verdict_and_its_gates_are_inconclusive(runs: dict[str, Outcome]) -> None:
    run = runs["calls"]
    assert run.code == 7, run.output
    assert "budget of 7 calls is spent" in run.summary["error"]
    assert "--budget-calls" in run.summary["error"]
    assert set(run.gates.values()) == {"inconclusive"}
    said = " ".join(run.output.split())
    assert "% of the planned samples were not asked; above" in said
    assert "samples failed" not in said
    calls = run.summary["calls"]
    assert (calls["planned"], calls["asked"], calls["missing"], calls["failed"]) == (12, 7, 5, 0)
    assert "Traceback" not in run.output


def test_the_next_run_asks_only_the_rest(runs: dict[str, Outcome]) -> None:
    run = runs["gone on"]
    assert run.code == 0, run.output
    assert (run.summary["calls"]["asked"], run.summary["calls"]["reused"]) == (5, 7)
    assert stored(runs["calls"].folder / "ledger.sqlite") == 12


def test_a_budget_in_usd_is_kept_and_the_cost_is_told(runs: dict[str, Outcome]) -> None:
    run = runs["money"]
    assert run.code == 7, run.output
    assert "budget of 0.1 USD is spent" in run.summary["error"]
    tokens = run.summary["tokens"]
    assert run.summary["cost"] == pytest.approx((100 * tokens["prompt"] + 1000 * tokens["completion"]) / 1e6)
    assert 0.07 < run.summary["cost"] < 0.11
    assert f"cost: {run.summary['cost']:.4f} USD" in run.output


def test_a_budget_in_usd_without_a_price_says_what_to_add(runs: dict[str, Outcome]) -> None:
    run = runs["no price"]
    assert run.code == 4, run.output
    assert f"no price is known for {PRICELESS}" in run.output
    assert '[prices."openai/other"]' in run.output
    assert str(LIMITS) in run.output


def test_no_budget_at_all_is_a_usage_error(runs: dict[str, Outcome]) -> None:
    assert runs["nothing"].code == 4
    assert "--budget-tokens: 0 is out of range" in runs["nothing"].output


def test_the_ledger_keeps_all_that_was_answered(runs: dict[str, Outcome], stub: ChatStub) -> None:
    kept = 0
    for name in ("calls", "money"):
        with closing(sqlite3.connect(runs[name].folder / "ledger.sqlite")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept += stored(runs[name].folder / "ledger.sqlite")
    assert kept == stub.answered
