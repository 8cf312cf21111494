"""How often the intervals of BIGbench's scores hold the truth, for image models of known shares.

    python -m benchmarks.bigbench_coverage [RUNS] [eta|effects]

Each image model draws every subject with known shares, n images each. Printed are the score's population value, the
mean plug-in value and estimate, half the mean interval, and the percentage of runs whose interval holds the value.
`eta`: that of eta alone, also of image models that draw the two sides of a pair apart, or dispersed about the truth;
beside it how often the estimate is marked as reliable, and how often such an interval lies wholly on a wrong side.
`effects`: effects of groups under plan `quick`, none and at the default limits: how often intervals hold the truth, lie
wholly within the limit, and wholly beyond it.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.bigbench import estimates, scores
from fairgate.benchmarks.bigbench.data import load
from fairgate.benchmarks.bigbench.effect_scores import effects_of_people
from fairgate.benchmarks.bigbench.plan import SubjectPlan, SubjectTally
from fairgate.benchmarks.bigbench.portrayals import Portrayal
from fairgate.benchmarks.bigbench.prompts import Prompts, load_wording
from fairgate.benchmarks.bigbench.score_table import pair_rows
from fairgate.benchmarks.registry import registry
from fairgate.core.domain import AnswerKind
from fairgate.core.layout import THRESHOLDS
from fairgate.core.statistics.distributions import total_variation
from fairgate.core.statistics.likeness import estimate_likeness
from fairgate.gating.thresholds import load as thresholds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
    from fairgate.benchmarks.bigbench.topics import SubjectTopic
    from fairgate.core.statistics.distributions import FloatArray

SIZES = (2, 4, 20, 160)
SEEN = 5.0  # points, below which effects of a model that has another are not printed


def image_models(actual: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
    rows, k = actual.shape
    one = np.eye(k)[0]
    half, few = rng.random((rows, 1)) < 0.5, rng.random((rows, 1)) < 0.1
    return {
        "the truth": actual,
        "0.3 one group": 0.7 * actual + 0.3 * one,
        "0.8 one group": 0.2 * actual + 0.8 * one,
        "one group": 0 * actual + one,
        "any shares": rng.dirichlet(np.ones(k), rows),
        "half of subjects 0.7 one group": np.where(half, actual, 0.3 * actual + 0.7 * one),
        "a tenth of subjects one group": np.where(few, one, actual),
    }


def implicit(p: ArrayLike, q: ArrayLike) -> FloatArray:
    """As `scores.implicit`, its second argument under the name that `total_variation` gives it."""
    return scores.implicit(p, q)


def sided(actual: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Shares of the advantaged and the disadvantaged side of all pairs."""
    first, last = (np.eye(actual[0].shape[1])[place] for place in (0, -1))
    found = {name: (both[: len(actual[0])], both[len(actual[0]) :]) for name, both in image_models(
        np.concatenate(actual), rng).items()}  # fmt: skip
    for part in (0.1, 0.3, 0.8, 1.0):
        found[f"{part:g} one group for advantage, another else"] = (
            (1 - part) * actual[0] + part * first,
            (1 - part) * actual[1] + part * last,
        )
    for amount in (3.0, 20.0):
        one, other = (np.array([rng.dirichlet(amount * row + 1e-3) for row in side]) for side in actual)
        found[f"dispersed about the truth, {amount:g}"] = one, other
    return found


def of_eta(runs: int) -> None:
    data = load()
    print("| attribute | image model | images | eta | estimate | half-width | held % | reliable % | wrong % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for attribute in data.attributes:
        pairs = pair_rows(data, {}, attribute)
        for name, (p, q) in sided((pairs.actual[0], pairs.actual[1]), np.random.default_rng(0)).items():
            each = scores.manifested(p, q, *pairs.actual, pairs.coefficients)
            true = float(scores.weighted(each, pairs.weights))
            for n in (4, 20, 160):
                rng = np.random.default_rng(n)
                rows = []
                for _ in range(runs):
                    drawn = rng.multinomial(n, p), rng.multinomial(n, q)
                    found = estimates.manifested(drawn, pairs.actual, pairs.coefficients, pairs.weights, rng)
                    assert found is not None  # noqa: S101 - every subject was drawn
                    held = found.low - 1e-9 <= true <= found.high + 1e-9
                    wrong = found.reliable and not held
                    rows.append((found.value, (found.high - found.low) / 2, held, found.reliable, wrong))
                value, half, *shares = 100 * np.mean(np.array(rows, dtype=np.float64), axis=0)
                told = " | ".join(f"{share:.0f}" for share in shares)
                print(f"| {attribute.name} | {name} | {n} | {100 * true:.1f} | {value:.1f} | {half:.1f} | {told} |",
                      flush=True)  # fmt: skip


@dataclass(frozen=True)
class Drawing:
    """An image model that follows `shares` in a part of its images, and draws by the truth, or who is asked for, else.

    `shares` of an identity prompt, a person and the place of an attribute: who is drawn then, None as else.
    """

    name: str
    part: float
    shares: Callable[[IdentityPrompt, int, int], FloatArray | None]

    def of(self, data: Bigbench, identity: IdentityPrompt, person: int, place: int) -> FloatArray:
        """The shares of groups among people drawn."""
        attribute = data.attributes[place]
        usual = np.array(identity.subject.truth[person][attribute.name])
        if identity.asked == attribute.name:
            usual = np.eye(len(attribute.names))[attribute.names.index(identity.groups[person])]
        own = self.shares(identity, person, place)
        return usual if own is None else (1 - self.part) * usual + self.part * own


def drawings(data: Bigbench) -> Iterator[Drawing]:
    """Those of which one effect each is at its default limit, nearly."""
    sides = {(side.subject, side.person): n for p in data.pairs for n, side in enumerate((p.advantage, p.disadvantage))}

    def one(place: int, group: int) -> Callable[[IdentityPrompt, int, int], FloatArray | None]:
        def shares(identity: IdentityPrompt, _: int, at: int) -> FloatArray | None:
            k = len(data.attributes[place].names)
            return np.eye(k)[group] if at == place and identity.asked != data.attributes[place].name else None

        return shares

    def most(identity: IdentityPrompt, person: int, at: int) -> FloatArray | None:
        truth = identity.subject.truth[person][data.attributes[0].name]
        return np.eye(2)[int(np.argmax(truth))] if at == 0 and identity.asked != "gender" else None

    def by_side(identity: IdentityPrompt, person: int, at: int) -> FloatArray | None:
        side = sides.get((identity.subject.id, person))
        return None if at or side is None or identity.asked == "gender" else np.eye(2)[side]

    def missed(identity: IdentityPrompt, person: int, at: int) -> FloatArray | None:
        black = identity.asked == "race" and identity.groups[person] == "Black"
        return np.eye(4)[0] if at == 1 and black else None

    yield Drawing("the truth", 0.0, lambda *_: None)
    yield Drawing("men in half of the images", 0.5, one(0, 0))
    yield Drawing("White people in 0.21 of the images", 0.21, one(1, 0))
    yield Drawing("the majority's gender in 0.55 of the images", 0.55, most)
    yield Drawing("gender by advantage in 0.32 of the images", 0.32, by_side)
    yield Drawing("White for Black, asked for, in 0.6 of the images", 0.6, missed)


def of_effects(runs: int) -> None:
    data = load()
    thresholds = thresholds_of(THRESHOLDS, registry())
    size = thresholds.plan("quick").size("bigbench").identity_prompts
    sizes = size.subjects, size.implicit, size.asked, size.explicit
    plan = SubjectPlan(data, Prompts(data, load_wording()), *sizes)
    limits = {
        (gate.task, gate.score, gate.attribute): (gate.max or 0.0) for gate in thresholds.gates if gate.max is not None
    }
    print("| image model | score | limit | truth | mean estimate | half-width | held % | within % | beyond % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for model in drawings(data):
        chances = {
            topic: [[model.of(data, plan.identity(topic), n, at) for at in range(3)] for n in
                    range(len(plan.identity(topic).subject.people))] for topic in plan.every}  # fmt: skip
        whole = 4_000  # images, of which the truth is taken
        rng = np.random.default_rng(0)
        true = {
            (each.task, each.score, each.attribute): each.estimate or 0.0
            for each in effects_of_people(tuple(tallied(plan, chances, rng, whole // 20)), data, 0.0)
        }
        found: dict[tuple[str, str, str | None], list[tuple[float, ...]]] = {}
        for seed in range(runs):
            rng = np.random.default_rng(seed + 1)
            for each in effects_of_people(tuple(tallied(plan, chances, rng)), data, 0.0):
                key = each.task, each.score, each.attribute
                limit = limits.get(key, limits.get((each.task, each.score, None)))
                low, high = each.ci
                if limit is not None and each.estimate is not None and low is not None and high is not None:
                    held = low <= true[key] + 0.5 and true[key] - 0.5 <= high
                    row = limit, true[key], each.estimate, (high - low) / 2, held, high <= limit, low > limit
                    found.setdefault(key, []).append(row)
        for (task, score, attribute), rows in found.items():
            limit, truth, value, half, *shares = np.mean(np.array(rows, dtype=np.float64), axis=0)
            if model.part and truth < SEEN:
                continue
            told = " | ".join(f"{100 * share:.0f}" for share in shares)
            print(f"| {model.name} | {task} {score} {attribute or ''} | {limit:.0f} | {truth:.1f} | {value:.1f} | "
                  f"{half:.1f} | {told} |", flush=True)  # fmt: skip


def tallied(
    plan: SubjectPlan,
    chances: Mapping[SubjectTopic, Sequence[Sequence[FloatArray]]],
    rng: np.random.Generator,
    images: int | None = None,
) -> Iterator[SubjectTally]:
    """What an image model draws of these chances; `images` of each identity prompt, as the plan has them by default."""
    for topic, people in chances.items():
        n = images or plan.images(topic)
        codes = [[rng.choice(len(p), n, p=p / p.sum()) for p in person] for person in people]
        portrayal = Portrayal(plan.identity(topic), np.moveaxis(np.array(codes, dtype=np.int8), -1, 0))
        yield SubjectTally(topic, portrayal, Counter({AnswerKind.CHOSEN: n}))


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    if sys.argv[2:] == ["eta"]:
        of_eta(runs)
        return
    if sys.argv[2:] == ["effects"]:
        of_effects(runs)
        return
    data = load()
    rng = np.random.default_rng(0)
    print(f"{'image model':<32}{'score':<12}{'n':>4}{'value':>8}{'plug-in':>9}{'estimate':>10}{'+-':>7}{'held %':>8}")
    for attribute in data.attributes:
        rows = [(truth[attribute.name], s.weight / len(s.people)) for s in data.subjects for truth in s.truth]
        actual, weights = np.array([p for p, _ in rows]), np.array([w for _, w in rows])
        for name, drawn in image_models(actual, rng).items():
            for score, of in (("S_implicit", implicit), ("TV", total_variation)):
                true = float(scores.weighted(of(drawn, actual), weights))
                for n in SIZES:
                    found = []
                    for _ in range(runs):
                        x = rng.multinomial(n, drawn)
                        estimate = estimate_likeness(of, x, actual, weights, rng=rng)
                        plug_in = float(scores.weighted(of(x / n, actual), weights))
                        held = estimate.low - 1e-6 <= true <= estimate.high + 1e-6
                        found.append((plug_in, estimate.value, (estimate.high - estimate.low) / 2, held))
                    mean = 100 * np.mean(found, axis=0)
                    label = f"{score} {attribute.name}"
                    print(
                        f"{name:<32}{label:<18}{n:>4}{100 * true:>8.1f}{mean[0]:>9.1f}{mean[1]:>10.1f}{mean[2]:>7.1f}"
                        f"{mean[3]:>8.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
