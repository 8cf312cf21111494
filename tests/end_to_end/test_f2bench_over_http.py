"""F²Bench with a chat server as model and another as judge: whole runs, kill -9 in mid-dialogue, keys and fitness."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from fairgate.replies.citations import judged_in
from tests.running import CHECKOUT, Outcome, bench, finished, started, stored, wait_until_stored
from tests.servers.chat import ChatStub, answer_by_prompt
from tests.servers.words import RIGHT, judges, speaks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

IN_FLIGHT = 4
DIALOGUES = 4 * 6  # turns of the one category that is asked
BALANCES = 4 * 3
# Of quick: 104 of its texts a task, each kind of text that tries to steer and its calm twin, 60 marks.
GOLD = {"dialogue": 104 + 2 * 13, "balance": 104 + 2 * 11 + 60}
JUDGED = {"dialogue": 4, "balance": 4 * 6}
MODEL_KEY, JUDGE_KEY = "planted-model-key-93ab", "planted-judge-key-41cd"


class Remembering(ChatStub):
    """Keeps whole conversations."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.conversations: list[list[dict[str, str]]] = []
        self.keys: set[str] = set()

    def _answer(self, model: str, prompt: str) -> bytes:
        self.conversations.append(json.loads(self.last_body)["messages"])
        self.keys.add(self.last_headers.get("Authorization", ""))
        return super()._answer(model, prompt)


@pytest.fixture
def model() -> Iterator[Remembering]:
    with Remembering(reply=speaks, key=MODEL_KEY) as running:
        yield running


@pytest.fixture
def judge() -> Iterator[Remembering]:
    with Remembering(reply=judges, key=JUDGE_KEY) as running:
        yield running


KEYS = {"OPENAI_API_KEY": MODEL_KEY, "JUDGE_API_KEY": JUDGE_KEY}


def given(model: ChatStub, judge: ChatStub, *more: str) -> tuple[str, ...]:
    servers = (
        *("--model=openai/tiny", f"--base-url={model.base_url}"),
        *("--judge=openai/wise", f"--judge-base-url={judge.base_url}"),
    )
    return (*servers, f"--max-in-flight={IN_FLIGHT}", "-p", "no:xdist", *more)


TIES = "Yes, that is reasonable to conclude."


@pytest.mark.parametrize(
    ("cite", "tail"),
    [
        ('"{}"', " </think> No."),
        ('"{}"', "\nSo it is.\nFinal answer: No"),
        ("\n\n```\n{}\n```\n\n", "\n```\nFinal answer: No\n```"),
        ("\n\n> {}\n\n", " </think> No."),
        ("\u300c{}\u300d", " 6'2\" <think>"),
    ],
)
def test_a_model_that_ties_does_not_pass_by_what_its_judge_cites(tmp_path: Path, cite: str, tail: str) -> None:
    def says(prompt: str) -> str:
        return TIES + tail if "direct answer (Yes or No)" in prompt else speaks(prompt)

    def cites(prompt: str) -> str:
        said = judges(prompt)
        known = said not in ("Yes", "No") or prompt in RIGHT
        return said if known else f"{said}. The response reads: {cite.format(judged_in(prompt))} That is my reason."

    with ChatStub(reply=says, key=MODEL_KEY) as model, ChatStub(reply=cites, key=JUDGE_KEY) as judge:
        asked = given(model, judge, "-m", "f2bench and dialogue", f"--thresholds={CHECKOUT / 'thresholds.toml'}")
        run = bench(tmp_path, *asked, env=KEYS)
        assert run.code == 1, run.output
        (score,) = [
            each["value"]
            for each in run.summary["scores"]
            if (each["group"], each["scoring"], each["score"]) == (None, "definition", "S_dialogue")
        ]
        assert score == 0.0
        assert run.summary["outcomes"]["f2bench"]["unreadable"] == 0
        # Read again from the ledger, it is the same.
        again = bench(tmp_path, *asked, env=KEYS)
        assert (again.code, again.summary["scores"]) == (1, run.summary["scores"])


def test_a_server_is_judged_by_another(tmp_path: Path, model: Remembering, judge: Remembering) -> None:
    run = bench(tmp_path, *given(model, judge, "-k", "health", "-m", "f2bench"), env=KEYS)
    assert run.code == 0, run.output
    assert (run.summary["judge"], run.summary["model"]) == ("openai/wise", "openai/tiny")
    assert model.answered == DIALOGUES + BALANCES
    assert judge.answered == sum(GOLD.values()) + sum(JUDGED.values())
    assert run.summary["calls"]["asked"] == model.answered + judge.answered
    assert (model.keys, judge.keys) == ({f"Bearer {MODEL_KEY}"}, {f"Bearer {JUDGE_KEY}"})
    scores = {
        each["score"]: each["value"]
        for each in run.summary["scores"]
        if each["group"] is None and each["scoring"] == "definition" and each["score"].startswith("S_")
    }
    assert scores == {"S_dialogue": 0.0, "S_fairness": 100.0, "S_factuality": 70.0}
    for record in run.summary["judging"]:
        assert (record["agreement"], record["steered"], record["unfit"]) == (1.0, 0, None)
    assert run.summary["judge"] == "openai/wise"
    # Turns with roles, each with all that was said before it.
    talks = [each for each in model.conversations if len(each) == 11]
    assert len(talks) == 4
    assert [message["role"] for message in talks[0]] == ["user", "assistant"] * 5 + ["user"]
    for talk in talks:
        assert all(
            answer["content"] == speaks(question["content"])
            for question, answer in zip(talk[::2], talk[1::2], strict=False)
        )
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert not any(key.encode() in path.read_bytes() for key in KEYS.values()), path
    again = bench(tmp_path, *given(model, judge, "-k", "health", "-m", "f2bench"), env=KEYS)
    assert again.summary["calls"]["asked"] == 0
    assert again.summary["scores"] == run.summary["scores"]


def test_without_a_judge_a_real_model_is_not_judged_by_a_control(tmp_path: Path, model: Remembering) -> None:
    server = ("--model=openai/tiny", f"--base-url={model.base_url}", "-p", "no:xdist")
    run = bench(tmp_path, *server, "-k", "health", "-m", "f2bench", env=KEYS)
    assert run.code == 5, run.output
    assert "no judge was named, so the cases of F²Bench are deselected" in " ".join(run.output.split())
    assert model.requests == 0
    refused = bench(tmp_path, *server, "--judge=control/judge", "-k", "health", env=KEYS)
    assert refused.code == 4
    assert "reads the sentences of controls alone" in refused.output


def yes_man(prompt: str) -> str:
    return "5" if "integer score" in prompt else "Yes"


def test_a_judge_that_is_not_fit_is_trouble_and_is_paid_for_the_gold_set_alone(
    tmp_path: Path, model: Remembering
) -> None:
    with ChatStub(reply=yes_man) as judge:
        run = bench(tmp_path, *given(model, judge, "-k", "health", "-m", "f2bench"), env=KEYS)
        assert (model.requests, judge.requests) == (0, sum(GOLD.values()))
        again = bench(tmp_path, *given(model, judge, "-k", "health", "-m", "f2bench"), env=KEYS)
        assert (model.requests, judge.requests) == (0, sum(GOLD.values()))
    for each in (run, again):
        assert each.code == 7, each.output
        assert "The judge is not fit" in each.summary["error"]
        # Once, and not again for each case and gate.
        assert " ".join(each.output.split()).count("its yes says nothing") == 1
        assert set(each.gates.values()) == {"inconclusive"}
        assert {gate["reason"] for gate in each.summary["gates"]} == {"the judge is not fit"}
        assert each.summary["cases"] == {"passed": 0, "failed": 0, "inconclusive": 0, "error": 2}
        counted = each.summary["outcomes"]["f2bench"]
        assert (counted["failed"], counted["not_asked"]) == (0, counted["samples"])
        assert f"not asked {counted['samples']} (100.0 %)" in " ".join(each.output.split())


@pytest.mark.parametrize("explain", [(), ("--explain",)])
def test_what_needs_no_judge_is_asked_whatever_the_judge(
    tmp_path: Path, model: Remembering, explain: tuple[str, ...]
) -> None:
    """With --explain choices come with reasons for the judge to sort, so that only objective queries need none."""
    model.reply = answer_by_prompt
    part = ("-k", "health or crime-rate-high", *explain)
    with ChatStub(reply=yes_man) as judge:
        run = bench(tmp_path, *given(model, judge, *part), env=KEYS)
    assert judge.requests == sum(GOLD.values())
    assert run.code == 7, run.output
    asked = {name.split("/")[2] for name in queries_in(tmp_path / "ledger.sqlite")}
    assert asked == {"dialogue", "balance", "objective", *([] if explain else ["subjective"])}
    facts = {verdict for gate, verdict in run.gates.items() if gate.startswith("objective")}
    assert facts
    assert run.summary["cases"]["error"] == 2


# kill -9


def queries_in(ledger: Path) -> list[str]:
    with closing(sqlite3.connect(ledger)) as database:
        return [query for (query,) in database.execute("SELECT query FROM samples")]


def last_turns(ledger: Path) -> Counter[str]:
    with closing(sqlite3.connect(ledger)) as database:
        return Counter(prompt.rpartition("\x1e")[2] for (prompt,) in database.execute("SELECT prompt FROM samples"))


def conversations(ledger: Path) -> set[str]:
    """Dialogues that have begun and not ended, by instance."""
    turns = Counter(query.split("/")[-2] for query in queries_in(ledger) if "/turn-" in query)
    return {instance for instance, count in turns.items() if 0 < count < 6}


def test_a_killed_run_goes_on_in_mid_dialogue(tmp_path: Path, model: Remembering, judge: Remembering) -> None:
    part = ("-k", "health and dialogue", "-m", "f2bench")
    whole = bench(tmp_path / "whole", *given(model, judge, *part), env=KEYS)
    assert whole.code == 0, whole.output
    planned = Counter([*model.prompts, *judge.prompts])
    samples = DIALOGUES + GOLD["dialogue"] + JUDGED["dialogue"]
    assert planned.total() == samples
    for stub in (model, judge):
        stub.prompts.clear()
    model.latency = 0.2
    model.most = model.answered + 9 + IN_FLIGHT  # so that it cannot be done before it is killed
    folder = tmp_path / "killed"
    ledger = folder / "ledger.sqlite"
    with started(folder, *given(model, judge, *part), env=KEYS) as process:
        wait_until_stored(ledger, GOLD["dialogue"] + 9, process)
        os.killpg(process.pid, signal.SIGKILL)
        assert finished(process, folder).code == -signal.SIGKILL
    for stub in (model, judge):
        stub.let_go()
    assert conversations(ledger), "no dialogue was under way"
    kept = last_turns(ledger)
    assert GOLD["dialogue"] + 9 <= kept.total() < samples
    asked = len(model.prompts), len(judge.prompts)
    # Only requests in flight may have been lost.
    assert sum(asked) - kept.total() <= IN_FLIGHT
    again = bench(folder, *given(model, judge, *part), env=KEYS)
    assert again.code == 0, again.output
    assert Counter([*model.prompts[asked[0] :], *judge.prompts[asked[1] :]]) == planned - kept
    assert last_turns(ledger) == planned
    assert stored(ledger) == samples
    assert_the_same(again, whole)


def assert_the_same(one: Outcome, other: Outcome) -> None:
    for part in ("verdict", "scores", "gates", "rates", "judging", "cases"):
        assert one.summary[part] == other.summary[part]
