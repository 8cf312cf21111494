"""--dry-run: what a run would ask, take and tell, and that nothing is asked to say so."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import sys
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from fairgate.ledger.ledger import Ledger
from fairgate.runs.forecast import _Count
from tests.running import CHECKOUT, Outcome, arguments, bench, bench_many
from tests.servers.chat import ChatStub, every_time, wrong_key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

SAID = re.compile(r"([\d,]+) samples?: ([\d,]+) in the ledger, ([\d,]+) to ask")
PARTS = {
    "both benchmarks": ("-k", "crime or (f2bench and (gender or health))"),
    "reasons": ("-k", "crime and subjective", "--explain"),
    "images": ("-k", "(t2i and crime and low) or (sports and gender) or (balance and gender)"),
    "a shard": ("-k", "crime or dialogue_induction", "--shard=2/3"),
}


def numbers(run: Outcome) -> tuple[int, int, int]:
    found = SAID.search(" ".join(run.output.split()))
    assert found, run.output
    planned, held, asked = (int(each.replace(",", "")) for each in found.groups())
    return planned, held, asked


def three(root: Path, part: Sequence[str]) -> list[Outcome]:
    """A dry run, the run, and a dry run once more."""
    given = [
        arguments(root / name, *part, f"--ledger={root / 'ledger.sqlite'}", *more)
        for name, more in {
            "before": ("--dry-run", "-n", "2"),
            "run": ("-p", "no:xdist"),
            "after": ("-p", "no:xdist", "--dry-run"),
        }.items()
    ]
    ended = bench_many(root, given)
    return [
        Outcome(end.code, end.output, root / name) for end, name in zip(ended, ("before", "run", "after"), strict=True)
    ]


@pytest.fixture(scope="module", params=PARTS.values(), ids=[*PARTS])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Outcome]:
    return three(tmp_path_factory.mktemp("dry"), request.param)


def test_it_counts_what_the_run_then_asks(runs: list[Outcome]) -> None:
    before, run, after = runs
    assert before.code == after.code == 0
    calls = run.summary["calls"]
    assert numbers(before) == (calls["planned"], 0, calls["asked"])
    assert numbers(after) == (calls["planned"], calls["planned"], 0)


def test_it_counts_what_each_model_is_asked(tmp_path: Path) -> None:
    part = ("-k", "(t2i and crime and low) or (balance and gender)")
    before, _, _ = three(tmp_path, part)
    told = re.findall(r"(control/\S+): ([\d,]+) calls", before.output)
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as database:
        rows = database.execute("SELECT identity, count(*) FROM samples JOIN models ON model = models.id GROUP BY 1")
        asked = Counter[str]()
        for identity, count in rows:
            asked[f"control/{json.loads(identity)['name']}"] += count
    assert {name: int(count.replace(",", "")) for name, count in told} == asked


def test_it_asks_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    ledger = tmp_path / "none.sqlite"
    models = (
        ("--model=python/tests.plugin.models:fails", "--judge=python/tests.plugin.models:fails"),
        # No key, and nobody there.
        ("--model=openai/gpt-x", "--base-url=http://127.0.0.1:9/v1"),
    )
    part = ("-p", "no:xdist", "-k", "crime or dialogue_induction", f"--ledger={ledger}", "--dry-run")
    for end in bench_many(tmp_path, [arguments(tmp_path / "r", *part, *model) for model in models]):
        assert end.code == 0, end.output
        assert "Nothing was asked." in end.output
        assert max(map(len, end.output.partition("dry run =")[2].splitlines()[1:])) <= 80
    assert not ledger.exists()
    assert not (tmp_path / "r" / "report").exists()


def test_it_says_what_it_costs_where_there_is_a_price_and_what_it_can_tell(tmp_path: Path) -> None:
    limits = tmp_path / "priced.toml"
    prices = '\n[prices."openai/gpt-x"]\ninput = 1000\noutput = 0\ndate = 2026-11-01\n'
    limits.write_text((CHECKOUT / "thresholds.toml").read_text() + prices)
    part = (
        "-p",
        "no:xdist",
        "-k",
        "objective and not t2i",
        "--dry-run",
        f"--thresholds={limits}",
        "--model=openai/gpt-x",
    )
    end, rounds = bench_many(tmp_path, [arguments(tmp_path, *part, *more) for more in (("--no-stop-early",), ())])
    said = " ".join(end.output.split())
    tokens, cost = re.search(r"about ([\d,]+) tokens in prompts .*? about ([\d,.]+) USD", said).groups()  # type: ignore[union-attr]
    assert float(cost.replace(",", "")) == pytest.approx(int(tokens.replace(",", "")) / 1000, abs=0.01)
    assert "estimated, 4 characters a token" in said
    row = re.search(r"S_fact gender, objective >= 70 ([\d.]+) ([\d.]+)", said)
    assert row, said
    assert 5 < float(row[2]) < float(row[1]) < 25
    # In rounds: after one, two and four answers a question.
    said = " ".join(rounds.output.split())
    assert "Asked in rounds, of 66 calls at first and 552 at most" in said
    calls = re.search(r"decided in four of five runs, after ([\d,]+) ([\d,]+) ([\d,]+)", said)
    row = re.search(r"S_fact race >= 35, objective ([\d.]+) ([\d.]+) ([\d.]+)", said)
    assert calls, said
    assert row, said
    assert calls.groups() == ("66", "132", "264")
    assert float(row[1]) > float(row[2]) > float(row[3])


def test_tokens_are_counted_where_the_tokenizer_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    words = SimpleNamespace(name="words", encode=lambda text, **_: text.split())
    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(encoding_for_model={"gpt-x": words}.__getitem__))
    known, unknown = _Count("openai/gpt-x"), _Count("openai/other")
    assert (known("one two three"), known.how) == (3, "counted with tiktoken, words")
    assert unknown("12345678") == 2
    assert "does not know the model" in unknown.how


def test_it_leaves_an_older_ledger_as_it_is(tmp_path: Path) -> None:
    ledger = tmp_path / "old.sqlite"
    Ledger(ledger).close()
    with contextlib.closing(sqlite3.connect(ledger)) as database:
        # As the schema before has it; who opens it to write brings it up to date.
        database.execute("ALTER TABLE samples DROP COLUMN probabilities")
        database.execute("PRAGMA user_version=4")
    before = ledger.read_bytes()
    end = bench(tmp_path, "-k", "crime and base", f"--ledger={ledger}", "--dry-run")
    assert end.code == 0, end.output
    assert ledger.read_bytes() == before


def test_a_probe_asks_a_few_samples_and_learns_from_them_how_long_replies_are(tmp_path: Path) -> None:
    """A reasoning model: 900 tokens a reply that nobody sees."""
    with ChatStub() as stub:
        stub.raw = {"usage": {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 1007}}
        given = ("--model=openai/thinker", f"--base-url={stub.base_url}", "-k", "crime and objective", "-p", "no:xdist")
        ledger = f"--ledger={tmp_path / 'ledger.sqlite'}"
        plain = bench(tmp_path / "plain", *given, ledger, "--dry-run")
        assert stub.requests == 0
        assert "assumed as short as asked for" in " ".join(plain.output.split())
        probed = bench(tmp_path / "probed", *given, ledger, "--dry-run", "--probe=5")
        assert stub.requests == 5
        planned, held, asked = numbers(probed)
        assert (held, asked) == (5, planned - 5)
        said = " ".join(probed.output.split())
        assert f"{907 * asked:,} in replies" in said
        assert "as long as 5 of the same model in this ledger" in said
        assert "5 samples asked and kept in the ledger" in said
        bench(tmp_path / "run", *given, ledger)
        assert stub.requests == planned
        refused = bench(tmp_path / "refused", *given, ledger, "--probe=5")
        assert (refused.code, "--probe: goes with --dry-run alone" in refused.output) == (4, True)


def test_a_probe_that_is_refused_says_why(tmp_path: Path) -> None:
    with ChatStub(plan=every_time(wrong_key())) as stub:
        given = ("--model=openai/m", f"--base-url={stub.base_url}", "-k", "crime and objective", "-p", "no:xdist")
        run = bench(tmp_path, *given, "--dry-run", "--probe=3")
    assert run.code == 7
    assert "the server wants a key" in " ".join(run.output.split())
