"""What the gates say of controls: models that are unfair, fair, and fair but odd, as Markdown tables.

python benchmarks/zoo.py                          every row
python benchmarks/zoo.py --only in-group --seeds 3

Each run asks every text query of Fact-or-Fair, under plan `quick`. Replies go through the parser, the scores and the
gates of the limits file. They are not written to a ledger, and scores that are not gated are not computed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from fairgate.domain import Modality, Reply
from fairgate.fact_or_fair.effect_scores import effects_of_choices
from fairgate.fact_or_fair.live_counts import count
from fairgate.fact_or_fair.score_table import CONFIDENCE, board, rates
from fairgate.fact_or_fair.tally import Tallies
from fairgate.fact_or_fair.text import FactOrFairText
from fairgate.fact_or_fair.topics import Task
from fairgate.models.controls import ControlSpec, chance_of
from fairgate.runs.run import Run
from fairgate.settings import THRESHOLDS, Settings
from fairgate.store.samples import from_replies
from fairgate.verdicts.gate import FAILED, GateResult, Verdict, judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.domain import Query
    from fairgate.fact_or_fair.topics import StatisticTopic


@dataclass(frozen=True)
class Row:
    """Controls of which the same is wanted. `by`: how the name of a gate ends that must fail, None where none may."""

    controls: tuple[str, ...]
    by: str | None


UNFAIR = (
    Row(("stereotype",), "base-race-contrast"),
    Row(("stereotype-race",), "base-race-contrast"),
    Row(("stereotype-gender",), "base-gender-contrast"),
    Row(("stereotype-base",), "base-race-contrast"),
    Row(("stereotype-high",), "base-gender-contrast"),
    Row(("in-group", "out-group"), "ingroup-race-pull"),
    Row(("attribution",), "attribution-race-pull"),
    Row(("never-asian",), "base-race-preference"),
    Row(("joint",), "base-joint_preference"),
    Row(("women-first", "white-men-first"), "base-gender-preference"),
    Row(("split",), "base-gender-preference_spread"),
    Row(("first-letter", "always-d"), "base-position"),
)
SOFTER = tuple(
    Row(tuple(f"{name}:{p:g}" for p in (0.3, 0.5, 0.8)), by)
    for name, by in (
        ("stereotype", "base-race-contrast"),
        ("in-group", "ingroup-race-pull"),
        ("attribution", "attribution-race-pull"),
        ("women-first", "base-gender-preference"),
    )
)
FAIR = (Row(("oracle",), None), Row(("oldest", "name-initial", "by-wording"), None))


class Asked:
    """The text queries of Fact-or-Fair of one seed, written once for all controls."""

    def __init__(self, seed: int, thresholds: Path = THRESHOLDS, plan: str = "quick") -> None:
        settings = Settings(model="control/oracle", seed=seed, thresholds=thresholds, plan=plan)
        run = Run(settings)
        self._settings, self._thresholds = settings, run.thresholds
        self._benchmark = next(each for each in run.benchmarks.all if isinstance(each, FactOrFairText))

    @cached_property
    def _queries(self) -> Mapping[StatisticTopic, Sequence[Query]]:
        topics = dict.fromkeys(case.topic for case in self._benchmark.cases)
        return {topic: list(self._benchmark.plan.queries(topic)) for topic in topics}

    @property
    def calls(self) -> int:
        """How many queries there are."""
        return sum(map(len, self._queries.values()))

    def gates(self, control: str) -> tuple[GateResult, ...]:
        """The gates of a control, NAME or NAME:P."""
        spec = ControlSpec.of(control, {self._benchmark.name: self._benchmark.controls}, "control")

        def reply(query: Query) -> Reply:
            held, name, strength = spec.at(query.topic)
            return Reply(held.answer(name, strength, query, chance_of(query)))

        dataset = self._benchmark.dataset
        tallies = {
            topic: count(topic, from_replies(queries, reply), dataset)[0] for topic, queries in self._queries.items()
        }
        cases = {
            task: frozenset(case for case in self._benchmark.cases if case.topic.task is task)
            for task in (Task.OBJECTIVE, Task.SUBJECTIVE)
        }
        facts, choices = (
            Tallies(dataset, {topic: each for topic, each in tallies.items() if topic.task is task}, cases[task])
            for task in (Task.OBJECTIVE, Task.SUBJECTIVE)
        )
        entries = (
            *board(facts, dataset, key=self._settings.key, seed=self._settings.seed).entries,
            *effects_of_choices(choices, self._benchmark.plan.wordings, self._settings.key, CONFIDENCE),
            *rates(choices, (), CONFIDENCE),
        )
        return judge(entries, self._thresholds)


def verdict_of(gates: Sequence[GateResult]) -> Verdict:
    """The verdict of a run with these gates."""
    found = {gate.verdict for gate in gates}
    if Verdict.FAIL in found:
        return Verdict.FAIL
    return Verdict.PASS if found == {Verdict.PASS} else Verdict.INCONCLUSIVE


def failed_by(gates: Sequence[GateResult]) -> list[str]:
    """The gates that failed, by their names without benchmark and modality."""
    return [gate.name.removeprefix("fact-or-fair-text-") for gate in gates if gate.verdict in FAILED]


def brief(name: str) -> str:
    """A gate's name in a table: attributes together, contexts left out."""
    task, *parts = name.split("-")
    return f"{parts[-1]}" if task == Task.SUBJECTIVE else name


def table(title: str, rows: Sequence[Row], seeds: int, thresholds: Path, only: str | None, asked: list[Asked]) -> None:
    """Print what came of these controls under so many seeds."""
    print(f"\n{title}, seeds 0 to {seeds - 1}\n", flush=True)
    print("| model | pass / inconclusive / fail | fails by its gate | failed gates (scores, mean number) |")
    print("|---|---|---|---|", flush=True)
    for row in rows:
        for control in row.controls:
            if only is not None and only not in control:
                continue
            ends, by, scores = Counter[Verdict](), 0, Counter[str]()
            for seed in range(seeds):
                if seed == len(asked):
                    asked.append(Asked(seed, thresholds))
                gates = asked[seed].gates(control)
                ends[verdict_of(gates)] += 1
                failed = failed_by(gates)
                by += row.by is not None and any(name.endswith(row.by) for name in failed)
                scores.update(map(brief, failed))
            told = ", ".join(f"{score} {n / seeds:.1f}" for score, n in scores.most_common()) or "none"
            own = "" if row.by is None else f"{by} of {seeds} by {row.by}"
            counts = " / ".join(str(ends[each]) for each in (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL))
            print(f"| `{control}` | {counts} | {own} | {told} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="seeds at full strength and of fair models")
    parser.add_argument("--few", type=int, default=3, help="seeds at each lower strength")
    parser.add_argument("--thresholds", type=Path, default=THRESHOLDS)
    parser.add_argument("--only", help="controls whose name has this in it")
    options = parser.parse_args()
    asked: list[Asked] = []
    given = options.thresholds, options.only, asked
    table("Unfair", UNFAIR, options.seeds, *given)
    table("Fair", FAIR, options.seeds, *given)
    table("A share of the choices is unfair", SOFTER, options.few, *given)


if __name__ == "__main__":
    main()
