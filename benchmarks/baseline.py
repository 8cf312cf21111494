"""Comparisons with a baseline: how often intervals of differences hold the truth, and what limits on drops find.

    python -m benchmarks.baseline coverage --runs 40
    python -m benchmarks.baseline planted --runs 30
    python -m benchmarks.baseline others --runs 20 --plan quick

Models answer the same queries twice; `alike` is the chance that the second answer is drawn to agree with the first as
often as the two distributions allow, else it is drawn by itself. `coverage` compares the chosen interval with those
that lost; `planted` answers a plan's own queries, unchanged or with an effect of twice its limit, and holds the limits
of thresholds.toml against the choices of whole runs. `others` adds F²Bench, portraits and BIGbench to such runs, plants
a drop in one of them, and holds all limits of all benchmarks as one family.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.coverage import key_of, plug_in, truths
from benchmarks.verdicts import model_at
from benchmarks.zoo import verdict_of
from fairgate.benchmarks.bigbench import data as bigbench_data
from fairgate.benchmarks.bigbench.baseline import SUBJECTS
from fairgate.benchmarks.bigbench.change import changes
from fairgate.benchmarks.bigbench.plan import SubjectPlan
from fairgate.benchmarks.bigbench.portrayals import Portrayal
from fairgate.benchmarks.bigbench.prompts import Prompts, load_wording
from fairgate.benchmarks.bigbench.topics import Task as BigTask
from fairgate.benchmarks.f2bench.baseline import CONVERSATIONS
from fairgate.benchmarks.f2bench.case_summary import CategoryCell
from fairgate.benchmarks.f2bench.change import moved as themes_moved
from fairgate.benchmarks.f2bench.topics import Task as F2Task
from fairgate.benchmarks.fact_or_fair.baseline import CHOICES, PairedChoices, changed_of, right_groups
from fairgate.benchmarks.fact_or_fair.cases import text_topic
from fairgate.benchmarks.fact_or_fair.change import FIELDS, moved, moved_effects_of_images, moved_images
from fairgate.benchmarks.fact_or_fair.data import load as load_dataset
from fairgate.benchmarks.fact_or_fair.image_baseline import PORTRAITS
from fairgate.benchmarks.fact_or_fair.options import Ages, Profiles
from fairgate.benchmarks.fact_or_fair.paired_effects import OfferedPeople, moved_effects
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, Task
from fairgate.benchmarks.gate_result import Verdict
from fairgate.benchmarks.paired import LETTERS, Baseline, Changed
from fairgate.benchmarks.registry import registry
from fairgate.comparison.paired_comparison import ScorePair, gates, scored_of
from fairgate.core.domain import Modality
from fairgate.core.statistics.distributions import shares
from fairgate.core.statistics.estimates import estimate_scores
from fairgate.core.statistics.misclassification import JudgeConfusion
from fairgate.core.statistics.paired import Units, resampled
from fairgate.gating.thresholds import load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fairgate.benchmarks.paired import Part
    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.core.statistics.paired import Moved

CHECKOUT = Path(__file__).resolve().parents[1]
GROUPS = {"gender": 2, "race": 4}
OBJECTIVE = 3  # answers a topic
PLANS = ("paper", "quick")
MOVES = (
    ("uniform", "uniform"),
    ("mild, differing", "mild, differing"),
    ("strong, differing", "strong, differing"),
    ("uniform", "mild, differing"),
    ("uniform", "a quarter strong"),
    ("strong, differing", "mild, differing"),
)
Interval = tuple[float, float, float]


def coupled(before: FloatArray, after: FloatArray, alike: float) -> FloatArray:
    """Chances [S, 2, k, k] of pairs of answers whose shares are `before` and `after` [S, 2, k]."""
    apart = before[..., :, np.newaxis] * after[..., np.newaxis, :]
    common = np.minimum(before, after)
    left, right = before - common, after - common
    rest = left.sum(axis=-1)[..., np.newaxis, np.newaxis]
    moves = left[..., :, np.newaxis] * right[..., np.newaxis, :]
    moves = np.divide(moves, rest, out=np.zeros_like(moves), where=rest > 1e-12)
    agreeing = moves + np.eye(before.shape[-1]) * common[..., np.newaxis, :]
    both: FloatArray = alike * agreeing + (1.0 - alike) * apart
    return both


def pairs(chances: FloatArray, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    statistics, _, k, _ = chances.shape
    drawn = rng.multinomial(np.full((statistics, 2), n), chances.reshape(statistics, 2, -1))
    return np.asarray(drawn.reshape(statistics, 2, k, k), dtype=np.int64)


def scores_of(counts: FloatArray, k: int) -> dict[str, FloatArray]:
    return {name: np.asarray(value) for name, value in plug_in(shares(counts), k).items() if name in FIELDS}


def candidates(
    tables: NDArray[np.int64], n: int, rng: np.random.Generator
) -> Iterator[tuple[str, dict[str, Interval]]]:
    k = tables.shape[-1]
    key, size = key_of(k), np.full(tables.shape[:2], n)
    found = moved(tables, key, size, rng)
    yield "chosen", {name: (each.shift.low, each.shift.value, each.shift.high) for name, each in found.items()}
    runs = [scores_of(each, k) for each in resampled(tables.astype(np.float64), size, rng, 400)]
    seen = [scores_of(tables.sum(axis=axis), k) for axis in (-1, -2)]
    percentile, basic, unpaired = {}, {}, {}
    alone = [estimate_scores(tables.sum(axis=axis), key, rng=rng, replicates=1000) for axis in (-1, -2)]
    for name in FIELDS:
        value = float(seen[1][name] - seen[0][name])
        low, high = np.quantile(runs[1][name] - runs[0][name], [0.025, 0.975])
        percentile[name] = (float(low), value, float(high))
        basic[name] = (float(2 * value - high), value, float(2 * value - low))
        one, other = (getattr(each, FIELDS[name]) for each in alone)
        reach = float(np.hypot(one.high - one.low, other.high - other.low)) / 2
        unpaired[name] = (other.value - one.value - reach, other.value - one.value, other.value - one.value + reach)
    yield "percentile bootstrap of pairs", percentile
    yield "basic bootstrap of pairs", basic
    yield "estimates, not paired", unpaired


def coverage(runs: int, seed: int) -> None:
    print("| k | n | from → to | alike | interval | " + " | ".join(f"Δ{name}" for name in FIELDS) + " |")
    print("|---|---|---|---|---|" + "---|" * len(FIELDS))
    for k in (2, 4):
        for n in (30, 300):
            for start, end in MOVES:
                for alike in (0.0, 0.8):
                    before, after = truths(k)[start], truths(k)[end]
                    truth = {name: float(plug_in(after, k)[name] - plug_in(before, k)[name]) for name in FIELDS}
                    rng = np.random.default_rng([seed, k, n])
                    listed: dict[str, list[dict[str, Interval]]] = {}
                    for _ in range(runs):
                        for name, found in candidates(pairs(coupled(before, after, alike), n, rng), n, rng):
                            listed.setdefault(name, []).append(found)
                    for name, found_in in listed.items():
                        cells = []
                        for score in FIELDS:
                            low, value, high = np.array([each[score] for each in found_in]).T
                            held = (low <= truth[score] + 1e-9) & (truth[score] <= high + 1e-9)
                            off = float(value.mean()) - truth[score]
                            width = float((high - low).mean())
                            cells.append(f"{100 * held.mean():.0f} / {100 * width:.1f} / {100 * off:+.1f}")
                        print(f"| {k} | {n} | {start} → {end} | {alike:g} | {name} | {' | '.join(cells)} |", flush=True)


class Choosers:
    """Models that answer a plan's own subjective queries, twice: who is preferred, and how often."""

    def __init__(self, plan: str) -> None:
        size = load(CHECKOUT / "thresholds.toml", registry()).plan(plan).size("fact-or-fair")
        self.dataset, profiles = load_dataset(), Profiles(size.profiles)
        self.plan = QueryPlan(self.dataset, 0, profiles, OBJECTIVE, size.subjective, wordings=size.wordings)
        self.offers = OfferedPeople(self.plan)
        self.paired = PairedChoices(self.dataset)
        self.known = self.paired.groups()
        joint = self.known[" ".join(self.paired.attributes)]
        each = [attribute.codes for attribute in self.dataset.attributes]
        self.letter = np.full([len(codes) for codes in each], "?")
        for place, groups in enumerate(joint):
            self.letter[tuple(codes[group] for codes, group in zip(each, groups, strict=True))] = LETTERS[place]
        self.keys = {name: right_groups(self.dataset, name, "published") for name in self.paired.attributes}
        self.asked = {
            "data": self.dataset.version, "seed": 0, "profiles": str(profiles), "ages": str(Ages.RANGE),
            "explained": None, "wordings": size.wordings, "plan": plan, "objective": OBJECTIVE,
            "subjective": size.subjective,
        }  # fmt: skip

    def moves(self, first: Leaning, then: Leaning, alike: float, rng: np.random.Generator) -> Iterator[ScorePair]:
        """What moved from a model that leans so to one that leans otherwise."""
        letters: tuple[dict[str, str], dict[str, str]] = {}, {}
        for s, statistic in enumerate(self.dataset.statistics):
            for level in Level:
                for context in Context:
                    topic = text_topic(Task.SUBJECTIVE, statistic.slug, level, context, "")
                    groups, named = self.offers.offered(topic)
                    luck = rng.random(len(groups))
                    again = np.where(rng.random(len(luck)) < alike, luck, rng.random(len(luck)))
                    place = s, list(Level).index(level), context
                    for said, leaning, drawn in zip(letters, (first, then), (luck, again), strict=True):
                        chances = self._chances(leaning, place, groups, named).cumsum(axis=1)
                        chosen = np.minimum((drawn[:, np.newaxis] >= chances).sum(axis=1), 3)
                        picked = np.take_along_axis(groups, chosen[:, np.newaxis, np.newaxis], axis=2)[..., 0]
                        said[topic.id] = "".join(self.letter[tuple(picked.T)])
        runs = [
            Baseline("", self.asked, self.known, said, {each: len(said[each]) for each in said}) for said in letters
        ]
        for each in moved_effects((runs[0], runs[1]), (self.offers,), self.dataset, self.keys, None):
            yield scored_of(CHOICES, each)
        yield from facts(alike, rng)

    def _chances(
        self, leaning: Leaning, place: tuple[int, int, Context], groups: NDArray[np.int64], named: NDArray[np.int64]
    ) -> FloatArray:
        """Of each of four people [n, 4]: a share of the choices is among those who are preferred."""
        s, level, context = place
        n = len(groups)
        preferred = np.zeros((n, 4))
        if leaning.to == "contrast":
            preferred[:] = self.keys["gender"][s, level][groups[:, 0]]
        elif leaning.to == "preference":
            preferred[:] = groups[:, 0] == 1
        elif leaning.to == "joint_preference":
            preferred[:] = (groups[:, 0] == 0) & (groups[:, 1] == 1)
        elif leaning.to == "pull" and context is Context.ATTRIBUTION:
            preferred[:] = groups[:, 0] == named[:, :1]
        elif leaning.to == "in_group_bias" and context is Context.INGROUP:
            good = self.dataset.statistics[s].favourable is list(Level)[level]
            preferred[:] = (groups[:, 0] == named[:, :1]) == good
        there = preferred.sum(axis=1, keepdims=True)
        chosen = np.divide(preferred, there, out=np.full((n, 4), 0.25), where=there > 0)
        chances: FloatArray = (1.0 - leaning.share) / 4 + leaning.share * chosen
        return chances


@dataclass(frozen=True)
class Leaning:
    """The effect that a model has, and the share of its choices that go by it."""

    to: str = ""
    share: float = 0.0


def facts(alike: float, rng: np.random.Generator) -> Iterator[ScorePair]:
    """The moves of S_fact: about a topic a model is right in 95 % or in 10 % of its answers."""
    for attribute, k in GROUPS.items():
        key = key_of(k)
        right = np.where(rng.random(key.shape[:2]) < (0.9 if k == 2 else 0.5), 0.95, 0.1)[..., np.newaxis]
        p = np.where(key, right, (1.0 - right) / (k - 1))
        tables = pairs(coupled(p, p, alike), OBJECTIVE, rng)
        moves = moved(tables, key, np.full(tables.shape[:2], OBJECTIVE), rng)
        for each in changed_of(moves, Task.OBJECTIVE, None, attribute, int(tables.sum()), (len(key), len(key))):
            yield scored_of(CHOICES, each)


FAIR = Leaning()
# The share of choices at which a model of balanced profiles has an effect of so many points; random ones have less.
POINTS = {
    "quick": {"contrast": 100.0, "preference": 50.0, "joint_preference": 37.5, "pull": 50.0, "in_group_bias": 50.0},
    "paper": {"contrast": 87.5, "preference": 44.0, "joint_preference": 28.0, "pull": 44.0, "in_group_bias": 44.0},
}


def planted(runs: int, seed: int, plans: list[str]) -> None:
    limits = load(CHECKOUT / "thresholds.toml", registry()).baseline
    assert limits is not None  # noqa: S101 - the project's own file
    print("| plan | model | alike | pass | inconclusive | fail | by its own limit |")
    print("|---|---|---|---|---|---|---|")
    for plan in plans:
        model = Choosers(plan)
        drops = {
            drop.score: most
            for drop, most in limits.under(plan)
            if (drop.modality, drop.task) == (Modality.TEXT, Task.SUBJECTIVE)
        }
        settings = [("unchanged, fair", "", FAIR, FAIR, alike) for alike in (0.0, 0.8)]
        third = Leaning("contrast", 0.3)
        settings += [("unchanged, stereotype by gender .3", "", third, third, alike) for alike in (0.0, 0.8)]
        settings += [
            (f"{score}, {2 * drops[score]:g} worse", score, FAIR, Leaning(score, 2 * drops[score] / points), 0.0)
            for score, points in POINTS[plan].items()
        ]
        for name, score, first, then, alike in settings:
            rng = np.random.default_rng([seed, *map(ord, name), int(10 * alike)])
            found, own = Counter[Verdict](), 0
            for _ in range(runs):
                held = gates(tuple(model.moves(first, then, alike, rng)), limits, plan)
                found[verdict_of(held)] += 1
                own += any(each.verdict is Verdict.FAIL and score and f"{score}@" in each.entry.score for each in held)
            ends = " | ".join(
                f"{100 * found[each] / runs:.0f} %" for each in (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)
            )
            print(
                f"| {plan} | {name} | {alike:g} | {ends} | {f'{100 * own / runs:.0f} %' if score else ''} |", flush=True
            )


# What F²Bench's plans have of each of ten categories; a judge that is right in 19 of 20 of its 104 gold texts a task.
CATEGORIES, INSTANCES, REPEATS = 10, 4, {"quick": 1, "paper": 4}
RIGHT, GOLD = 0.95, JudgeConfusion(49, 3, 3, 49)
IMAGES = {"quick": (6, 20), "paper": (20, 20)}
IDENTITIES = {"quick": (5, 4, 1, 1), "paper": (5, 20, 1, 20)}


@dataclass(frozen=True)
class Drops:
    """By how much the second run is worse, 0 to 1: ties in dialogues and descriptions, marks, faces, people."""

    ties: float = 0.0
    leaning: float = 0.0
    marks: float = 0.0
    portraits: float = 0.0
    people: float = 0.0
    asked: float = 0.0


PLANTED = {
    "nothing": Drops(),
    "S_dialogue 40": Drops(ties=0.4),
    "S_fairness 40": Drops(leaning=0.4),
    "S_factuality 30": Drops(marks=0.3),
    "portraits' contrast 56, race": Drops(portraits=56.0),
    "S_implicit, a third of one group, race": Drops(people=0.35),
    "S_explicit 25, race": Drops(asked=0.25),
}


def others(runs: int, seed: int, plans: list[str], alike: float) -> None:
    limits = load(CHECKOUT / "thresholds.toml", registry()).baseline
    print("| plan | alike | planted | runs with a failed gate: any | of it | elsewhere | gates | passed |")
    print("|---|---|---|---|---|---|---|---|")
    for plan in plans:
        model = Choosers(plan)
        first = [np.random.default_rng([seed, run, int(10 * alike)]) for run in range(runs)]
        # The choices move in none of them: they are drawn once.
        choices = [[*model.moves(FAIR, FAIR, alike, rng)] for rng in first]
        for name, drops in PLANTED.items():
            aimed, elsewhere, any_of, judged, passed = 0, 0, 0, 0, list[float]()
            for run, chosen in enumerate(choices):
                rng = np.random.default_rng([seed, run, 1])
                held = gates([*chosen, *more(drops, alike, plan, rng)], limits, plan)
                judged = len(held)
                failed = [each.entry for each in held if each.verdict is Verdict.FAIL]
                hits = [_aimed(drops, each.task, each.modality) for each in failed]
                any_of, aimed, elsewhere = any_of + bool(failed), aimed + any(hits), elsewhere + (not all(hits))
                passed.append(sum(each.verdict is Verdict.PASS for each in held) / len(held))
            rates = " | ".join(f"{100 * each / runs:.0f} %" for each in (any_of, aimed, elsewhere))
            shown = f"{judged} | {100 * np.mean(passed):.0f} %"
            print(f"| {plan} | {alike:g} | {name} | {rates} | {shown} |", flush=True)


def _aimed(drops: Drops, task: str, modality: Modality) -> bool:
    of: dict[str, float] = {
        F2Task.DIALOGUE: drops.ties,
        F2Task.BALANCE: drops.leaning + drops.marks,
        BigTask.IMPLICIT: drops.people,
        BigTask.EXPLICIT: drops.asked,
    }
    own = drops.portraits if modality is Modality.IMAGE else 0.0
    return of.get(task, own) > 0


def more(drops: Drops, alike: float, plan: str, rng: np.random.Generator) -> Iterator[ScorePair]:
    """The moves of F²Bench, portraits and BIGbench."""
    yield from _scored(conversations(drops, alike, REPEATS[plan], rng), CONVERSATIONS, F2Task.DIALOGUE, None)
    yield from _scored(descriptions(drops, alike, REPEATS[plan], rng), CONVERSATIONS, F2Task.BALANCE, None)
    objective, subjective = IMAGES[plan]
    for attribute, k in GROUPS.items():
        rise = drops.portraits if attribute == "race" else 0.0
        for task, score, level, end, n in (
            (Task.OBJECTIVE, "S_fact", 55.0 if k == 2 else 30.0, None, objective),
            (Task.SUBJECTIVE, "TV", 15.0, 15.0 + rise, subjective),
        ):
            start = model_at(score, attribute, level)
            stop = start if end is None else model_at(score, attribute, end)
            assert start is not None  # noqa: S101 - a benchmark's own numbers
            assert stop is not None  # noqa: S101
            chances = coupled(start, stop, alike)
            topics = [[_faces(chances[s, level], n, rng) for level in range(2)] for s in range(len(chances))]
            images = [(high, low) for high, low in topics]
            moves = moved_images(images, key_of(k), rng)
            moves |= moved_effects_of_images(images, key_of(k)) if task is Task.SUBJECTIVE else {}
            yield from _scored(moves, PORTRAITS, task, attribute)
    yield from people(drops, alike, plan, rng)


def _scored(moves: dict[str, Moved], part: Part, task: str, attribute: str | None) -> Iterator[ScorePair]:
    for score, move in moves.items():
        yield scored_of(part, Changed(task, None, attribute, score, move, 1, (1, 1)))


def _faces(chances: FloatArray, n: int, rng: np.random.Generator) -> Units:
    k = len(chances)
    drawn = rng.choice(k * k, n, p=chances.reshape(-1) / chances.sum())
    return Units(np.eye(k)[drawn // k], np.eye(k)[drawn % k])


def _twice(p: FloatArray, q: FloatArray, alike: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Two draws of yes with chances p and q; the second is drawn with the first one's luck with chance `alike`."""
    luck = rng.random(p.shape)
    again = np.where(rng.random(p.shape) < alike, luck, rng.random(p.shape))
    return (luck < p).astype(np.float64), (again < q).astype(np.float64)


def _heard(said: FloatArray, rng: np.random.Generator) -> FloatArray:
    """What the judge makes of it."""
    heard: FloatArray = np.where(rng.random(said.shape) < RIGHT, said, 1.0 - said)
    return heard


def conversations(drops: Drops, alike: float, repeats: int, rng: np.random.Generator) -> dict[str, Moved]:
    sides: tuple[list[CategoryCell], list[CategoryCell]] = [], []
    for _ in range(CATEGORIES):
        p = np.broadcast_to(rng.beta(1.2, 2.8, INSTANCES), (repeats, INSTANCES))
        q = p + drops.ties * (1.0 - p) / (1.0 - 0.3)
        for side, ends in zip(sides, _twice(p, np.clip(q, 0.0, 1.0), alike, rng), strict=True):
            nothing = np.full((repeats, INSTANCES, 2), np.nan)
            side.append(CategoryCell((None,) * INSTANCES, _heard(ends, rng), nothing, nothing, nothing))
    return themes_moved(F2Task.DIALOGUE, *sides, GOLD, rng)


def descriptions(drops: Drops, alike: float, repeats: int, rng: np.random.Generator) -> dict[str, Moved]:
    sides: tuple[list[CategoryCell], list[CategoryCell]] = [], []
    shape = (repeats, INSTANCES, 2)
    for _ in range(CATEGORIES):
        leaning = np.full(shape, 0.1)
        tied = _twice(leaning, leaning + drops.leaning, alike, rng)
        opposed = _twice(leaning, leaning, alike, rng)
        good = np.broadcast_to(rng.uniform(5.0, 9.0, (1, INSTANCES, 1)), shape)
        marks = [
            np.clip(np.rint(good - fall + rng.normal(0.0, 1.0, shape)), 0.0, 10.0) for fall in (0, 10 * drops.marks)
        ]
        for side, one, other, points in zip(sides, tied, opposed, marks, strict=True):
            nothing = np.full(shape[:2], np.nan)
            side.append(CategoryCell((None,) * INSTANCES, nothing, _heard(one, rng), _heard(other, rng), points))
    return themes_moved(F2Task.BALANCE, *sides, GOLD, rng)


def people(drops: Drops, alike: float, plan: str, rng: np.random.Generator) -> Iterator[ScorePair]:
    """People drawn by the truth, a fifth of them of the first group instead; later more of them."""
    data = bigbench_data.load()
    subjects, implicit, asked, explicit = IDENTITIES[plan]
    identities = SubjectPlan(data, Prompts(data, load_wording()), subjects, implicit, asked, explicit)
    sides: tuple[dict[str, Portrayal], dict[str, Portrayal]] = {}, {}
    for topic in identities.every:
        identity = identities.identity(topic)
        images, many = identities.images(topic), len(identity.subject.people)
        codes = [np.zeros((images, many, len(data.attributes)), np.int8) for _ in sides]
        for place, attribute in enumerate(data.attributes):
            for person in range(many):
                truth = np.array(identity.subject.truth[person][attribute.name])
                wanted = attribute.names.index(identity.groups[person]) if identity.asked == attribute.name else None
                moves = attribute.name == "race"
                p, q = (_shares(truth, wanted, drops, moves=moves and late) for late in (False, True))
                chances = coupled(p[np.newaxis], q[np.newaxis], alike)[0]
                drawn = rng.choice(chances.size, images, p=chances.reshape(-1) / chances.sum())
                codes[0][:, person, place], codes[1][:, person, place] = drawn // len(p), drawn % len(p)
        for side, held in zip(sides, codes, strict=True):
            side[identity.id] = Portrayal(identity, held)
    for attribute in data.attributes:
        every = (BigTask.IMPLICIT, BigTask.EXPLICIT, BigTask.MANIFESTATION)
        for each in changes(*sides, data, attribute, rng, every):
            yield from _scored({each.score: each.move}, SUBJECTS, each.task, attribute.name)


def _shares(truth: FloatArray, wanted: int | None, drops: Drops, *, moves: bool) -> FloatArray:
    groups: FloatArray = np.eye(len(truth))
    if wanted is not None:
        missed = 0.08 + (drops.asked if moves else 0.0)
        asked_for: FloatArray = (1.0 - missed) * groups[wanted] + missed / len(truth)
        return asked_for
    part = 0.2 + (drops.people if moves else 0.0)
    shown: FloatArray = (1.0 - part) * truth / truth.sum() + part * groups[0]
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["coverage", "planted", "others"])
    parser.add_argument("--runs", type=int, default=30, help="simulated runs of each setting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plan", action="append", choices=PLANS, help="of `planted`; default: both")
    parser.add_argument("--alike", type=float, default=0.0, help="of `others`: chance that the second answer agrees")
    options = parser.parse_args()
    if options.what == "coverage":
        coverage(options.runs, options.seed)
    elif options.what == "others":
        others(options.runs, options.seed, options.plan or ["quick"], options.alike)
    else:
        planted(options.runs, options.seed, options.plan or ["quick", "paper"])


if __name__ == "__main__":
    main()
