"""Plan sentinel against a real server: a release like the last passes, a less fair one fails, all else is said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.logprobs import as_openai, tokens
from tests.releases import Release
from tests.running import CHECKOUT, Outcome, arguments, bench_many
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
CALLS = 266
FIRST = 7  # queries of the first topic: no more is paid for where there are no probabilities
LAST, ALIKE, WORSE = Release("last", 0.05), Release("alike", 0.05), Release("worse", 0.13)


@dataclass(frozen=True)
class Ran:
    """A run, and how many requests it made."""

    outcome: Outcome
    requests: int

    @property
    def said(self) -> str:
        return " ".join(self.outcome.output.split())


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    root = tmp_path_factory.mktemp("sentinel")
    saved, bare = root / "last.json", root / "bare.json"
    found: dict[str, Ran] = {}

    def run(name: str, stub: ChatStub, *more: str | Path, plan: str = "sentinel") -> None:
        folder = root / name
        folder.mkdir()
        given = ("--model=openai/tiny", f"--base-url={stub.base_url}", f"--plan={plan}", *more)
        limits = f"--thresholds={CHECKOUT / 'thresholds.toml'}"
        asked = stub.requests
        [outcome] = bench_many(folder, [arguments(folder, limits, *given)], env={"OPENAI_API_KEY": "x"})
        found[name] = Ran(outcome, stub.requests - asked)

    def served(release: Release, logprobs: object = None, *, most: int = 20, silent: bool = False) -> ChatStub:
        stub = ChatStub(reply=release.reply)
        if not silent:
            stub.logprobs = lambda prompt, reply: logprobs or release.logprobs(prompt, reply, most)
        return stub

    with served(LAST) as stub:
        run("saved", stub, f"--save-baseline={saved}")
        run("no baseline", stub)
        run("judged again", stub, f"--ledger={root / 'saved' / 'ledger.sqlite'}", "--replay", plan="sentinel")
        whole = json.loads(saved.read_text())
        bare.write_text(json.dumps({key: value for key, value in whole.items() if key != "shares"}))
        run("bare baseline", stub, f"--baseline={bare}")
        run("a control", stub, f"--baseline={saved}", "--model=control/oracle")
    with served(ALIKE) as stub:
        run("alike", stub, f"--baseline={saved}")
    with served(WORSE) as stub:
        run("worse", stub, f"--baseline={saved}")
    first = min(whole["shares"])
    for name, kept in {
        "one topic": {"topics": {first: whole["topics"][first]}, "shares": {first: whole["shares"][first]}},
        "no shares": {"shares": {each: [None] * len(held) for each, held in whole["shares"].items()}},
    }.items():
        cut = root / f"{name}.json"
        cut.write_text(json.dumps({**whole, **kept}))
        with served(WORSE) as stub:
            run(name, stub, f"--baseline={cut}", f"--ledger={root / 'worse' / 'ledger.sqlite'}")
    with served(ALIKE, silent=True) as stub:
        run("ignored", stub, f"--baseline={saved}")
    with served(ALIKE, as_openai(tokens(["token_id:9"], 0, {"token_id:9": 1.0}))) as stub:
        run("other tokens", stub, f"--baseline={saved}")
    with served(ALIKE) as stub:
        stub.reply = lambda prompt: f'{{"answer": "{min(of := ALIKE.probabilities(prompt), key=of.__getitem__)}"}}'
        run("least likely", stub, f"--baseline={saved}")
    with served(ALIKE, most=1) as stub:
        run("cut off", stub, f"--baseline={saved}")
    return found


def test_a_release_is_saved_in_one_go_with_what_its_letters_weigh(runs: dict[str, Ran]) -> None:
    saved = runs["saved"]
    assert (saved.outcome.code, saved.requests) == (0, CALLS)
    assert f"known of {CALLS} of {CALLS} choices; 1.0 % lie outside the letters" in saved.said
    scores = {each["score"] for each in saved.outcome.summary["scores"]}
    assert {"contrast", "contrast@soft", "preference@soft"} <= scores


def test_a_release_like_the_last_passes(runs: dict[str, Ran]) -> None:
    alike = runs["alike"]
    assert (alike.outcome.code, alike.requests) == (0, CALLS)
    assert alike.outcome.gates["subjective base gender contrast@soft@change"] == "pass"
    assert alike.outcome.gates["subjective base race contrast@soft@change"] == "pass"


def test_a_release_that_follows_stereotypes_more_fails_though_its_choices_prove_nothing(runs: dict[str, Ran]) -> None:
    worse = runs["worse"]
    assert (worse.outcome.code, worse.requests) == (1, CALLS)
    assert worse.outcome.gates["subjective base gender contrast@soft@change"] == "fail"
    assert "gender: less fair than the baseline (base contrast@soft +" in worse.said
    # The limits on scores, and on single cases, are not those of this plan.
    assert {name for name in worse.outcome.gates if not name.endswith("@change")} == {
        f"subjective base {rate}" if f"subjective base {rate}" in worse.outcome.gates else f"subjective {rate}"
        for rate in ("refused", "unreadable", "truncated")
    }


@pytest.mark.parametrize("name", ["one topic", "no shares"])
def test_a_baseline_that_holds_next_to_nothing_passes_nobody(runs: dict[str, Ran], name: str) -> None:
    run = runs[name]
    assert run.outcome.code == 6
    for attribute in ("gender", "race"):
        assert run.outcome.gates[f"subjective base {attribute} contrast@soft@change"] == "inconclusive"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ignored", "the server ignored the question"),
        ("other tokens", "those of other tokens than the answer's"),
        ("cut off", "the server lists too few tokens to hold all letters"),
    ],
)
def test_a_server_without_probabilities_ends_the_run_after_its_first_answers(
    runs: dict[str, Ran], name: str, why: str
) -> None:
    run = runs[name]
    assert run.outcome.code == 7
    assert run.requests <= FIRST
    assert why in run.said


def test_probabilities_that_are_none_of_what_was_chosen_pass_nobody(runs: dict[str, Ran]) -> None:
    run = runs["least likely"]
    assert run.outcome.code == 7
    assert f"{CALLS} are of another letter than the one chosen" in run.said


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("no baseline", "it finds what moved since a baseline, and none is given"),
        ("bare baseline", "the baseline holds no probabilities"),
        ("a control", "control/oracle gives no probabilities"),
    ],
)
def test_what_is_missing_is_said_before_anything_is_asked(runs: dict[str, Ran], name: str, why: str) -> None:
    run = runs[name]
    assert (run.outcome.code, run.requests) == (4, 0)
    assert why in run.said


def test_a_run_is_judged_again_with_what_its_letters_weigh(runs: dict[str, Ran]) -> None:
    again = runs["judged again"]
    assert (again.outcome.code, again.requests) == (0, 0)
    assert f"known of {CALLS} of {CALLS} choices" in again.said
