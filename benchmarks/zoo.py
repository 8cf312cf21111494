"""What the gates say of controls: models that are unfair, fair, and fair but odd, as Markdown tables.

python benchmarks/zoo.py                          every row
python benchmarks/zoo.py --only in-group --seeds 3
python benchmarks/zoo.py --rounds                 asked in rounds, as a run does by default: verdicts and calls
python benchmarks/zoo.py --modality image          portraits, and BIGbench
python benchmarks/zoo.py --modality conversation   F²Bench

Each run asks every query of one benchmark, under plan `quick`. Replies go through the parser, the scores and the gates
of the limits file. They are not written to a ledger. Of Fact-or-Fair scores that are not gated are not computed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fairgate.benchmarks.base import Circumstances
from fairgate.benchmarks.bigbench.benchmark import BigBench
from fairgate.benchmarks.bigbench.controls import posed
from fairgate.benchmarks.bigbench.plan import SubjectTally
from fairgate.benchmarks.bigbench.portrayals import Portrayal
from fairgate.benchmarks.f2bench.benchmark import F2Bench
from fairgate.benchmarks.fact_or_fair.effect_scores import effects_of_choices, effects_of_faces
from fairgate.benchmarks.fact_or_fair.images import FactOrFairImages
from fairgate.benchmarks.fact_or_fair.live_counts import count
from fairgate.benchmarks.fact_or_fair.score_table import board, rates
from fairgate.benchmarks.fact_or_fair.tally import Tallies
from fairgate.benchmarks.fact_or_fair.text import FactOrFairText
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.benchmarks.gate_result import FAILED, GateResult, Verdict
from fairgate.core.domain import AnswerKind, Modality, Query, Reply, Role
from fairgate.core.layout import THRESHOLDS
from fairgate.core.statistics.intervals import CONFIDENCE
from fairgate.gating.gate import judge
from fairgate.ledger.samples import from_replies
from fairgate.options.settings import Settings
from fairgate.providers.chat.control import ControlSpec, chance_of
from fairgate.providers.faces.image_steps import Seen
from fairgate.providers.images.portraits import shown
from fairgate.replies.faces import Face, Reading
from fairgate.runs.benchmarks import Benchmarks
from fairgate.runs.interim_analysis import InterimVerdicts, Rounds
from fairgate.runs.opening import open_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
    from fairgate.benchmarks.bigbench.topics import SubjectTopic
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.runs.interim_analysis import Looks


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
    Row(("reversed",), "base-gender-level_shift"),
    Row(("women-for-high",), "base-gender-level_shift"),
    Row(("crossed",), "base-interaction"),
    Row(("named-by-turns",), "attribution-gender-pull_spread"),
    Row(("letter-by-topic",), "base-position_spread"),
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


# What an image model can do of it.
IMAGES_UNFAIR = (
    Row(("stereotype", "stereotype-race"), "subjective-race-contrast"),
    Row(("stereotype-gender", "stereotype-high", "stereotype-low"), "subjective-gender-contrast"),
    Row(("dominant", "constant"), "subjective-race-preference"),
    Row(("women-first",), "subjective-gender-preference"),
    Row(("joint",), "subjective-joint_preference"),
    Row(("split",), "subjective-gender-preference_spread"),
    Row(("never-asian",), "subjective-race-preference"),
    Row(("crossed",), "subjective-interaction"),
)
IMAGES_FAIR = (Row(("oracle",), None),)
SUBJECTS_UNFAIR = (
    Row(("stereotype", "stereotype:0.5"), "manifestation-gender-contrast"),
    Row(("dominant", "women-first"), "implicit-gender-preference"),
    Row(("never-black", "never-white", "never-east-asian", "never-south-asian"), "implicit-race-preference"),
    Row(("never-black", "constant"), "explicit-race-preference"),
    Row(("majority",), "implicit-gender-exaggeration"),
    Row(("joint",), "implicit-joint_preference"),
)
SUBJECTS_FAIR = (Row(("oracle",), None),)
CONVERSATIONS_UNFAIR = (
    Row(("stereotype",), "balance-S_fairness"),
    Row(("constant",), "dialogue-S_dialogue"),
    Row(("reversed",), "balance-tie_spread"),
)
CONVERSATIONS_FAIR = (Row(("oracle",), None),)


class Drawn:
    """The images of Fact-or-Fair of one seed, read by a detector without errors."""

    def __init__(self, seed: int, thresholds: Path = THRESHOLDS, plan: str = "quick") -> None:
        # Of images the seed draws no prompts: it shifts the numbers of the images, by which controls draw people.
        self._seed = seed
        run = open_run(Settings(t2i_model="control/oracle", seed=seed, thresholds=thresholds, plan=plan))
        self.thresholds = run.thresholds
        self.benchmark = next(each for each in run.benchmarks.all if isinstance(each, FactOrFairImages))

    def gates(self, control: str) -> tuple[GateResult, ...]:
        """The gates of a control, NAME or NAME:P."""
        benchmark = self.benchmark
        spec = ControlSpec.of(control, {benchmark.name: benchmark.controls}, "control")

        def seen(topic: StatisticTopic) -> Iterator[Seen]:
            images = benchmark.plan.images(topic)
            for index in range(self._seed * images, (self._seed + 1) * images):
                query = Query(topic, index, benchmark.plan.prompt(topic), to=Role.IMAGE_MODEL)
                held, name, strength = spec.at(topic)
                chance = chance_of(query)
                people = [shown(*each, chance) for each in held.people(name, strength, query, chance)]
                faces = tuple(Face(gender={each["gender"]: 1.0}, race={each["race"]: 1.0}) for each in people)
                yield Seen(index, AnswerKind.CHOSEN, str(index), Reading((1, 1), faces))

        topics = dict.fromkeys(case.topic for case in benchmark.cases)
        tallies = {topic: benchmark.count(topic, seen(topic)) for topic in topics}
        held = Tallies(benchmark.dataset, tallies, frozenset(benchmark.cases), Modality.IMAGE)
        entries = (
            *board(held, benchmark.dataset, key="published", seed=self._seed).entries,
            *effects_of_faces(held, "published", CONFIDENCE),
        )
        return judge(entries, self.thresholds)


class DrawnSubjects:
    """The images of BIGbench of one seed, read by a detector without errors."""

    def __init__(self, seed: int, thresholds: Path = THRESHOLDS, plan: str = "quick") -> None:
        self._seed = seed
        run = open_run(Settings(t2i_model="control/oracle", seed=seed, thresholds=thresholds, plan=plan))
        self.thresholds = run.thresholds
        self.benchmark = next(each for each in run.benchmarks.all if isinstance(each, BigBench))

    def gates(self, control: str) -> tuple[GateResult, ...]:
        """The gates of a control, NAME or NAME:P."""
        spec = ControlSpec.of(control, {self.benchmark.name: self.benchmark.controls}, "control")

        def people(identity: IdentityPrompt, index: int, topic: SubjectTopic) -> Sequence[Mapping[str, str]]:
            _, name, strength = spec.at(topic)
            chance = chance_of(Query(topic, index, "", to=Role.IMAGE_MODEL))
            return posed(name, self.benchmark.data, identity, chance, strength)

        return self.gates_of(people)

    def gates_of(
        self, people: Callable[[IdentityPrompt, int, SubjectTopic], Sequence[Mapping[str, str]]]
    ) -> tuple[GateResult, ...]:
        """The gates of an image model that draws these people in an identity prompt's image."""
        benchmark = self.benchmark
        held: dict[SubjectTopic, SubjectTally] = {}
        attributes = benchmark.data.attributes
        for topic in dict.fromkeys(topic for case in benchmark.cases for topic in case.topics):
            identity, images = benchmark.plan.identity(topic), benchmark.plan.images(topic)
            drawn = [people(identity, self._seed * images + index, topic) for index in range(images)]
            codes = [[[of.names.index(each[of.name]) for of in attributes] for each in image] for image in drawn]
            portrayal = Portrayal(identity, np.array(codes, dtype=np.int8))
            held[topic] = SubjectTally(topic, portrayal, Counter({AnswerKind.CHOSEN: images}))
        return judge(benchmark.entries(benchmark.cases, held), self.thresholds)


class Conversed:
    """The conversations of F²Bench of one seed, judged by a judge without errors."""

    def __init__(self, seed: int, thresholds: Path = THRESHOLDS, plan: str = "quick") -> None:
        settings = Settings(model="control/oracle", judge="control/judge", seed=seed, thresholds=thresholds, plan=plan)
        run = open_run(settings)
        self._seed, self.thresholds = seed, run.thresholds
        self.benchmark = next(each for each in run.benchmarks.all if isinstance(each, F2Bench))

    def gates(self, control: str) -> tuple[GateResult, ...]:
        """The gates of a control, NAME or NAME:P."""
        controls = self.benchmark.controls
        spec = ControlSpec.of(control, {self.benchmark.name: controls}, "control")

        def reply(query: Query) -> Reply:
            if query.to is Role.JUDGE:
                return Reply(controls.judge(query))
            _, name, strength = spec.at(query.topic)
            return Reply(controls.answer(name, strength, query, chance_of(replace(query, index=self._seed))))

        held = self.benchmark.tally(self.benchmark.cases, reply)
        return () if held is None else judge(self.benchmark.entries(held), self.thresholds)


class Asked:
    """The text queries of Fact-or-Fair of one seed, written once for all controls."""

    def __init__(self, seed: int, thresholds: Path = THRESHOLDS, plan: str = "quick") -> None:
        settings = Settings(model="control/oracle", seed=seed, thresholds=thresholds, plan=plan)
        run = open_run(settings)
        self._settings, self.thresholds = settings, run.thresholds
        self.benchmark = next(each for each in run.benchmarks.all if isinstance(each, FactOrFairText))

    @cached_property
    def queries(self) -> Mapping[StatisticTopic, Sequence[Query]]:
        """All of the plan's, by topic."""
        topics = dict.fromkeys(case.topic for case in self.benchmark.cases)
        return {topic: list(self.benchmark.plan.queries(topic)) for topic in topics}

    @property
    def calls(self) -> int:
        """How many queries there are."""
        return sum(map(len, self.queries.values()))

    def answers_of(self, control: str) -> Callable[[Query], Reply]:
        """What a control answers."""
        spec = ControlSpec.of(control, {self.benchmark.name: self.benchmark.controls}, "control")

        def reply(query: Query) -> Reply:
            held, name, strength = spec.at(query.topic)
            return Reply(held.answer(name, strength, query, chance_of(query)))

        return reply

    def in_rounds(self, control: str) -> tuple[Verdict, int]:
        """The verdict of a control that is asked in rounds, and the calls that it took."""
        benchmarks = Benchmarks((self.benchmark,))
        now = Circumstances(self.answers_of(control), self._settings.key, self._settings.seed)
        judged = InterimVerdicts(benchmarks, self.benchmark.cases, self.thresholds, self._settings.today)
        ends: list[Looks] = []
        rounds = Rounds(benchmarks, [*self.queries], lambda looks: judged.at(looks, now), lambda: inf, ends.append)
        asked = number = 0
        while not ends:
            asked += sum(len(list(rounds.queries(number, topic))) for topic in rounds.topics)
            rounds.is_enough(number)
            number += 1
        last = judged.at(ends[0], now)
        if last.failed:
            return Verdict.FAIL, asked
        return Verdict.INCONCLUSIVE if any(last.open.values()) else Verdict.PASS, asked

    def gates(self, control: str) -> tuple[GateResult, ...]:
        """The gates of a control, NAME or NAME:P."""
        reply, dataset = self.answers_of(control), self.benchmark.dataset
        tallies = {
            topic: count(topic, from_replies(queries, reply), dataset)[0] for topic, queries in self.queries.items()
        }
        cases = {
            task: frozenset(case for case in self.benchmark.cases if case.topic.task is task)
            for task in (Task.OBJECTIVE, Task.SUBJECTIVE)
        }
        facts, choices = (
            Tallies(dataset, {topic: each for topic, each in tallies.items() if topic.task is task}, cases[task])
            for task in (Task.OBJECTIVE, Task.SUBJECTIVE)
        )
        entries = (
            *board(facts, dataset, key=self._settings.key, seed=self._settings.seed).entries,
            *effects_of_choices(choices, self.benchmark.plan.wordings, self._settings.key),
            *rates(choices, ()),
        )
        return judge(entries, self.thresholds)


def verdict_of(gates: Sequence[GateResult]) -> Verdict:
    """The verdict of a run with these gates."""
    found = {gate.verdict for gate in gates}
    if Verdict.FAIL in found:
        return Verdict.FAIL
    return Verdict.PASS if found == {Verdict.PASS} else Verdict.INCONCLUSIVE


def failed_by(gates: Sequence[GateResult]) -> list[str]:
    """The gates that failed, by their names without benchmark and modality."""
    return [
        gate.name.removeprefix(f"{gate.entry.benchmark}-{gate.entry.modality}-")
        for gate in gates
        if gate.verdict in FAILED
    ]


def brief(name: str) -> str:
    """A gate's name in a table: attributes together, contexts left out."""
    task, *parts = name.split("-")
    return parts[-1] if task == Task.SUBJECTIVE else name


def table(
    title: str,
    rows: Sequence[Row],
    seeds: int,
    make: Callable[[int], Asked | Drawn | DrawnSubjects | Conversed],
    only: str | None,
) -> None:
    """Print what came of these controls under so many seeds."""
    found = {control: list[tuple[GateResult, ...]]() for row in rows for control in row.controls}
    for seed in range(seeds):
        asked = make(seed)
        for control, runs in found.items():
            if only is None or only in control:
                runs.append(asked.gates(control))
        print(f"{title}: seed {seed}", file=sys.stderr)
    print(f"\n{title}, seeds 0 to {seeds - 1}\n", flush=True)
    print("| model | pass / inconclusive / fail | fails by its gate | failed gates (scores, mean number) |")
    print("|---|---|---|---|", flush=True)
    for row in rows:
        for control in row.controls:
            if not found[control]:
                continue
            ends, by, scores = Counter[Verdict](), 0, Counter[str]()
            for gates in found[control]:
                ends[verdict_of(gates)] += 1
                failed = failed_by(gates)
                by += row.by is not None and any(name.endswith(row.by) for name in failed)
                scores.update(map(brief, failed))
            told = ", ".join(f"{score} {n / seeds:.1f}" for score, n in scores.most_common()) or "none"
            own = "" if row.by is None else f"{by} of {seeds} by {row.by}"
            counts = " / ".join(str(ends[each]) for each in (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL))
            print(f"| `{control}` | {counts} | {own} | {told} |", flush=True)


def rounds(rows: Sequence[Row], seeds: int, first: int, make: Callable[[int], Asked], only: str | None) -> None:
    """Print the verdicts and calls of these controls, each asked in rounds under so many seeds."""
    names = [control for row in rows for control in row.controls if only is None or only in control]
    found = {control: list[tuple[Verdict, int]]() for control in names}
    for seed in range(first, first + seeds):
        asked = make(seed)
        for control, runs in found.items():
            runs.append(asked.in_rounds(control))
        print(f"in rounds: seed {seed}", file=sys.stderr)
    print(f"\nIn rounds, seeds {first} to {first + seeds - 1}\n")
    print("| model | pass / inconclusive / fail | calls: least / mean / most |\n|---|---|---|", flush=True)
    for control, runs in found.items():
        ends, calls = Counter(verdict for verdict, _ in runs), [made for _, made in runs]
        counts = " / ".join(str(ends[each]) for each in (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL))
        print(
            f"| `{control}` | {counts} | {min(calls):,} / {sum(calls) / len(calls):,.0f} / {max(calls):,} |", flush=True
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="seeds at full strength and of fair models")
    parser.add_argument("--few", type=int, default=3, help="seeds at each lower strength")
    parser.add_argument("--first", type=int, default=0, help="of --rounds: the first seed")
    parser.add_argument("--rounds", action="store_true", help="text in rounds, as a run is asked by default")
    parser.add_argument("--modality", choices=("text", "image", "conversation"), default="text")
    parser.add_argument("--thresholds", type=Path, default=THRESHOLDS)
    parser.add_argument("--only", help="controls whose name has this in it")
    options = parser.parse_args()
    asked = partial(Asked, thresholds=options.thresholds), options.only
    drawn = partial(Drawn, thresholds=options.thresholds), options.only
    if options.rounds:
        rounds((*UNFAIR, *FAIR), options.seeds, options.first, *asked)
    elif options.modality == "text":
        table("Unfair", UNFAIR, options.seeds, *asked)
        table("Fair", FAIR, options.seeds, *asked)
        table("A share of the choices is unfair", SOFTER, options.few, *asked)
    elif options.modality == "image":
        subjects = partial(DrawnSubjects, thresholds=options.thresholds), options.only
        table("Unfair", IMAGES_UNFAIR, options.few, *drawn)
        table("Fair", IMAGES_FAIR, options.few, *drawn)
        table("BIGbench: unfair", SUBJECTS_UNFAIR, options.few, *subjects)
        table("BIGbench: fair", SUBJECTS_FAIR, options.few, *subjects)
    else:
        conversed = partial(Conversed, thresholds=options.thresholds), options.only
        table("F²Bench: unfair", CONVERSATIONS_UNFAIR, options.few, *conversed)
        table("F²Bench: fair", CONVERSATIONS_FAIR, options.few, *conversed)


if __name__ == "__main__":
    main()
