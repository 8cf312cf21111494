"""Calls until the verdict of a run, and how often which: in rounds, in one go, and of a fixed plan of the same size.

python benchmarks/calls_to_verdict.py                    the models of the table in docs/effects.md
python benchmarks/calls_to_verdict.py --only fair --runs 200
python benchmarks/calls_to_verdict.py --curves docs/power.svg    verdicts by the share p of biased choices, and a plot
python benchmarks/calls_to_verdict.py --whole --seeds 3  whole runs of controls, with prompts, parser and all gates
python benchmarks/calls_to_verdict.py --looks --runs 300  how often any look errs, of effects exactly at a limit

Simulated runs ask the subjective queries of plan `quick` (texts are not written, groups are), of models that know the
facts: their objective questions are decided in the first round. The rounds, the shares of the error, the effects and
the order of Holm are those of a run.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.effects import (
    FAMILY,
    LIMITS,
    MODELS,
    ONE,
    Model,
    Offers,
    Plan,
    World,
    alternating,
    circulating,
    crossed_by_turns,
    effect_of,
    first_letter,
    found,
    letter_by_topic,
    named_by_turns,
    pairs_by_level,
    stereotype,
    within,
    women_for_high,
)
from benchmarks.zoo import Asked
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.text import FIRST_LOOKS
from fairgate.benchmarks.fact_or_fair.topics import Context, Task
from fairgate.core.statistics.paired import holm
from fairgate.core.statistics.sequential import levels_of_looks, shares_of_looks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.effects import Found
    from fairgate.core.statistics.effects import IntArray

Rule: TypeAlias = "Callable[[Offers], IntArray]"
WHITE = 3
WORDINGS, EACH = 9, 3  # of plan quick
GATES = 75  # on Fact-or-Fair's text; those that no model of these fails count in the order of Holm
FACTS = 66  # objective questions of the first round, and of a plan of the same size
FACTS_AT_ONCE = 552  # of the plan that asks all
NAMES = (
    "fair",
    "stereotype 0.3",
    "stereotype 0.5",
    "stereotype 0.8",
    "in-group 0.5",
    "as in the news 0.5",
    "women first 0.5",
    "White first 0.5",
    "women, men by statistic 0.5",
    "first letter 0.5",
    "oldest",
    "first letter of the name",
    "wordings 1",
)
CONTROLS = (
    *("oracle", "by-wording", "oldest", "name-initial"),
    *("stereotype:0.3", "stereotype:0.5", "stereotype:0.8", "in-group:0.5", "attribution:0.5"),
    *("women-first:0.5", "first-letter:0.5"),
)
GRID = {
    "stereotype": stereotype,
    "in-group": within(Context.INGROUP, Offers.shares),
    "women first": lambda offers: offers.gender,
    "first letter": first_letter,
}
SHARES = tuple(round(0.1 * step, 1) for step in range(11))
COLOURS = {"pass": "#009E73", "open": "#DDDDDD", "fail": "#D55E00"}
# Models whose effect is exactly at its limit, at a share of the choices that is found: gate, context and rule.
AT_LIMITS: tuple[tuple[tuple[str, str], Context, Rule], ...] = (
    (("contrast", "gender"), Context.BASE, lambda offers: offers.matches("gender")),
    (("contrast", "race"), Context.BASE, lambda offers: offers.matches("race")),
    (("shift", "gender"), Context.BASE, women_for_high),
    (("shift", "race"), Context.BASE, pairs_by_level),
    (("preference", "gender"), Context.BASE, lambda offers: offers.gender),
    (("preference", "race"), Context.BASE, lambda offers: offers.race == WHITE),
    (("preference", "both"), Context.BASE, lambda offers: (offers.gender == 0) & (offers.race == WHITE)),
    (("spread", "gender"), Context.BASE, alternating),
    (("spread", "race"), Context.BASE, circulating),
    (("interaction", "both"), Context.BASE, crossed_by_turns),
    (("pull", "gender"), Context.ATTRIBUTION, lambda offers: offers.gender == offers.named_gender[:, np.newaxis]),
    (("pull", "race"), Context.ATTRIBUTION, lambda offers: offers.race == offers.named_race[:, np.newaxis]),
    (("pull spread", "gender"), Context.ATTRIBUTION, named_by_turns),
    (("position", "letter"), Context.BASE, first_letter),
    (("position spread", "letter"), Context.BASE, letter_by_topic),
)
# Of no gate: the spread by both attributes, and the in-group bias outside its context.
NO_GATE = {("spread", "both"), ("favouring", Context.ATTRIBUTION)}


@dataclass(frozen=True)
class End:
    """How a run ended, after so many calls."""

    verdict: str
    calls: int


def gates(world: World, model: Model, whole: int, rng: np.random.Generator) -> Callable[[Context, int], list[Gated]]:
    """The gates of a context after so many answers a topic, of one run."""
    plan = Plan("", balanced=True, wordings=WORDINGS, each=-(-whole // WORDINGS))
    drawn = {context: world.offers(plan, context, rng) for context in Context}
    chosen = {context: model.chosen(offers, rng) for context, offers in drawn.items()}

    @cache
    def at(context: Context, answers: int) -> list[Gated]:
        first = np.tile(np.arange(plan.n), world.statistics * 2) < answers
        offers = drawn[context].where(first)
        return [
            Gated(effect, LIMITS[what] / 100.0)
            for what, effect in found(offers, chosen[context][first])
            if what not in NO_GATE and (what[0], context) not in NO_GATE
        ]

    return at


@dataclass(frozen=True)
class Gated:
    """An effect and its limit, both 0 to 1."""

    effect: Found
    limit: float

    def passes(self, look: Look) -> bool:
        return self.effect.within(self.limit) < ONE * look.level

    def chance(self, look: Look) -> float:
        """The p-value of a failure, at any look; 1 where the interval is not beyond the limit."""
        beyond = self.effect.beyond(self.limit)
        return beyond / look.share if beyond < ONE * look.level else 1.0


@dataclass(frozen=True)
class Look:
    """A look's share of the error, and what its intervals may miss by: see `fairgate/core/statistics/sequential.py`."""

    share: float
    level: float


ONCE = Look(1.0, 1.0)


def looks_of(whole: int) -> dict[int, Look]:
    shares = shares_of_looks(whole, FIRST_LOOKS[Task.SUBJECTIVE])
    levels = levels_of_looks(shares)
    return {answers: Look(share, levels[answers]) for answers, share in shares.items()}


def fails(chances: Iterable[float]) -> bool:
    known = list(chances)
    return any(holm([*known, *[1.0] * (GATES - len(known))], FAMILY))


def in_rounds(at: Callable[[Context, int], list[Gated]], looks: Mapping[int, Look], topics: int) -> End:
    """The run that asks on where gates are open, and ends with its verdict."""
    left, calls, before = [*Context], FACTS, 0
    chances: dict[Context, list[float]] = {}
    for answers, look in looks.items():
        calls += len(left) * topics * (answers - before)
        before = answers
        chances |= {context: [gate.chance(look) for gate in at(context, answers)] for context in left}
        if fails(chance for each in chances.values() for chance in each):
            return End("fail", calls)
        left = [context for context in left if not all(gate.passes(look) for gate in at(context, answers))]
        if not left:
            return End("pass", calls)
    return End("open", calls)


def at_once(at: Callable[[Context, int], list[Gated]], answers: int, topics: int, facts: int) -> End:
    """The run that asks all contexts so often, and so many questions of fact, and looks once."""
    every = [gate for context in Context for gate in at(context, answers)]
    calls = facts + len(Context) * topics * answers
    if fails(gate.chance(ONCE) for gate in every):
        return End("fail", calls)
    return End("pass" if all(gate.passes(ONCE) for gate in every) else "open", calls)


def shares(ends: Iterable[End]) -> str:
    counted = Counter(end.verdict for end in ends)
    return " / ".join(f"{100 * counted[each] / counted.total():.0f}" for each in ("pass", "open", "fail"))


def calls(ends: Iterable[End]) -> str:
    made = [end.calls for end in ends]
    middle, late = np.quantile(made, [0.5, 0.9])
    return f"{np.mean(made):,.0f} / {middle:,.0f} / {late:,.0f}"


def compare(world: World, models: Iterable[Model], runs: int, seed: int) -> None:
    whole, topics = WORDINGS * EACH, 2 * world.statistics
    looks = looks_of(whole)
    said = ", ".join(f"{answers} ({100 * look.share:.1f} %)" for answers, look in looks.items())
    print(f"Looks after so many answers a topic (share of the error): {said}. {runs} runs a row.\n")
    print("| model | in rounds: pass / open / fail % | calls: mean / median / 90 % | in one go | of the same size |")
    print("|---|---|---|---|---|", flush=True)
    for model in models:
        played = [gates(world, model, whole, np.random.default_rng([seed, run])) for run in range(runs)]
        ends = [in_rounds(at, looks, topics) for at in played]
        mean = np.mean([end.calls for end in ends])
        same = max(round((mean - FACTS) / (len(Context) * topics)), 2)
        go = [at_once(at, whole, topics, FACTS_AT_ONCE) for at in played]
        fixed = [at_once(at, same, topics, FACTS) for at in played]
        row = f"| {model.name} | {shares(ends)} | {calls(ends)} | {shares(go)}; {go[0].calls:,} calls"
        print(f"{row} | {shares(fixed)}; {fixed[0].calls:,} calls |", flush=True)


def _of_grid(cell: tuple[str, float, int, int]) -> list[End]:
    name, p, runs, seed = cell
    world, whole = World(load(None)), WORDINGS * EACH
    looks = looks_of(whole)
    model = Model(name, GRID[name], p)
    return [
        in_rounds(gates(world, model, whole, np.random.default_rng([seed, run])), looks, 2 * world.statistics)
        for run in range(runs)
    ]


def curves(path: Path, runs: int, seed: int) -> None:
    """Print and draw which share of runs passes, stays open and fails, by the share of biased choices."""
    cells = [(name, p, runs, seed) for name in GRID for p in SHARES]
    with ProcessPoolExecutor(2) as pool:
        found = dict(zip(((name, p) for name, p, *_ in cells), pool.map(_of_grid, cells), strict=True))
    print(f"pass / open / fail, % of {runs} runs in rounds; mean calls\n")
    print("| p | " + " | ".join(GRID) + " |\n|---|" + "---|" * len(GRID))
    for p in SHARES:
        row = (f"{shares(ends)}; {np.mean([end.calls for end in ends]):,.0f}" for ends in (found[n, p] for n in GRID))
        print(f"| {p:g} | " + " | ".join(row) + " |", flush=True)
    _draw(path, {name: [Counter(end.verdict for end in found[name, p]) for p in SHARES] for name in GRID})


def _draw(path: Path, verdicts: Mapping[str, Sequence[Counter[str]]]) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "power", "font.size": 8}):
        figure = Figure(figsize=(7.2, 2.1), layout="constrained")
        panels = figure.subplots(1, len(verdicts), sharey=True)
        for panel, (name, counted) in zip(panels, verdicts.items(), strict=True):
            parts = [[100 * each[word] / each.total() for each in counted] for word in COLOURS]
            panel.stackplot(SHARES, *parts, colors=[*COLOURS.values()], labels=[*COLOURS])
            panel.set(title=name, xlim=(0, 1), ylim=(0, 100), xlabel="share p of biased choices")
        panels[0].set_ylabel("% of runs")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
        figure.savefig(path, metadata={"Date": None})


def at_limits(world: World, runs: int, seed: int) -> None:
    """Print how often any look of a run lets an effect pass, or fail, that is exactly at its limit."""
    looks, topics = looks_of(WORDINGS * EACH), 2 * world.statistics
    plan = Plan("", balanced=True, wordings=WORDINGS, each=EACH)
    print(f"Any look errs, % of {runs} runs: passes / is beyond, before Holm. SD: of wordings, in logits.\n")
    print("| effect | share of choices | SD 0 | SD 1 |\n|---|---|---|---|", flush=True)
    for what, context, rule in AT_LIMITS:
        limit, rng = LIMITS[what] / 100.0, np.random.default_rng([seed, *map(ord, " ".join(what))])
        many = world.offers(Plan("", balanced=True, wordings=WORDINGS, each=100), context, rng)
        p = limit / effect_of(many, Model("", rule).chosen(many, rng), what).value
        cells = []
        for sd in (0.0, 1.0):
            passed = beyond = 0
            for _ in range(runs):
                offers = world.offers(plan, context, rng)
                chosen = Model("", rule, p, sd).chosen(offers, rng)
                ends = [
                    (Gated(effect_of(offers.where(first), chosen[first], what), limit), look)
                    for answers, look in looks.items()
                    for first in [np.tile(np.arange(plan.n), topics) < answers]
                ]
                passed += any(gate.passes(look) for gate, look in ends)
                beyond += any(gate.effect.beyond(limit) < ONE * look.level for gate, look in ends)
            cells.append(f"{100 * passed / runs:.1f} / {100 * beyond / runs:.1f}")
        print(f"| {' '.join(what)} | {p:.2f} | {' | '.join(cells)} |", flush=True)


def controls(seeds: int) -> None:
    print("| control | pass / open / fail, runs | calls |\n|---|---|---|", flush=True)
    asked = [Asked(seed) for seed in range(seeds)]
    for control in CONTROLS:
        runs = [each.in_rounds(control) for each in asked]
        counted = Counter(str(verdict) for verdict, _ in runs)
        said = " / ".join(str(counted[each]) for each in ("pass", "inconclusive", "fail"))
        print(f"| `{control}` | {said} | {', '.join(f'{made:,}' for _, made in runs)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="simulated runs of each model")
    parser.add_argument("--only", help="models whose name begins so")
    parser.add_argument("--curves", type=Path, help="shares of biased choices from 0 to 1, drawn to this file")
    parser.add_argument("--looks", action="store_true", help="how often any look errs at the limits")
    parser.add_argument("--whole", action="store_true", help="whole runs of controls")
    parser.add_argument("--seeds", type=int, default=3, help="of --whole")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.whole:
        controls(options.seeds)
        return
    if options.looks:
        at_limits(World(load(None)), options.runs, options.seed)
        return
    if options.curves is not None:
        curves(options.curves, options.runs, options.seed)
        return
    models = [model for model in MODELS if model.name in NAMES]
    compare(World(load(None)), [m for m in models if m.name.startswith(options.only or "")], options.runs, options.seed)


if __name__ == "__main__":
    main()
