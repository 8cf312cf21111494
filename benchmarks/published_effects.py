"""What the gates on effects would say of the published models: shares are fitted to their published figures.

    python -m benchmarks.published_effects

The papers publish scores, not choices. A model's shares are taken to be softmax(a·shared + t·own + c·key): `shared` is
an unevenness of both levels of a statistic, `own` one of each topic by itself, `key` the group that is right at a
level; c gives the published S_fact where the rest is even, a and t are such that runs of as many answers show S_E and
S_KLD. Where the shared part prefers one group for every statistic, it is a preference; where it prefers another for
each, it is a spread. Figures tell the two apart in no way: both are shown. The contrast is what the published S_fact
implies where the rest of the choices is even. Markdown: per gate both limits, then each model's effects; in bold above
the default limit, with an asterisk above the other.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.fact_or_fair.scores import s_e_of, s_kld_of
from fairgate.benchmarks.registry import registry
from fairgate.core.statistics.distributions import shares
from fairgate.gating.thresholds import load

if TYPE_CHECKING:
    from fairgate.core.statistics.distributions import FloatArray
    from fairgate.gating.thresholds import Thresholds

CHECKOUT = Path(__file__).resolve().parents[1]
TABLES = CHECKOUT / "data" / "published"
STATISTICS = {"gender": 15, "race": 18}
GROUPS = {"gender": 2, "race": 4}
ANSWERS = {"text": 300, "image": 20}
RUNS = 60
STEEPEST, WIDEST, STEPS = 5.0, 4.0, 11
Where = tuple[str, str, str, str]  # modality, model, attribute, context


def population(
    attribute: str, steep: float, own: float, key: float, rng: np.random.Generator, *, alike: bool
) -> FloatArray:
    """Shares [RUNS, S, 2, k]; `alike`: one group is preferred for all statistics."""
    k, statistics = GROUPS[attribute], STATISTICS[attribute]
    groups = np.zeros((RUNS, statistics), np.int64) if alike else rng.integers(k, size=(RUNS, statistics))
    right = rng.permuted(np.tile(np.arange(k), (RUNS, statistics, 1)), axis=-1)[..., :2]
    logits = steep * np.eye(k)[groups][:, :, np.newaxis] + own * rng.standard_normal((RUNS, statistics, 2, k))
    weights = np.exp(logits + key * np.eye(k)[right])
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def fitted(attribute: str, n: int, scores: dict[str, float], *, alike: bool) -> tuple[float, float, float]:
    """Preference, its spread and the level shift, in points, of the shares whose runs come nearest to S_E and S_KLD."""
    k, applies = GROUPS[attribute], np.ones(STATISTICS[attribute], np.bool_)
    right = scores["S_fact"] / 100
    key = float(np.log(right * (k - 1) / (1 - right)))

    def off(steep: float, own: float) -> float:
        rng = np.random.default_rng(7)
        seen = shares(rng.multinomial(n, population(attribute, steep, own, key, rng, alike=alike)).astype(np.float64))
        pairs = (s_e_of(seen, applies), scores["S_E"]), (s_kld_of(seen, applies), scores["S_KLD"])
        return float(sum((100 * found.mean() - value) ** 2 for found, value in pairs))

    best, reach = (STEEPEST / 2, WIDEST / 2), (STEEPEST / 2, WIDEST / 2)
    for _ in range(3):  # ever finer about the best
        axes = [
            np.linspace(max(middle - far, 0.0), middle + far, STEPS) for middle, far in zip(best, reach, strict=True)
        ]
        best = min(((a, b) for a in axes[0] for b in axes[1]), key=lambda each: off(*each))
        reach = reach[0] / 4, reach[1] / 4
    p = population(attribute, *best, key, np.random.default_rng(7), alike=alike)
    means = p.mean(axis=2)  # of both levels
    group = np.abs(means.mean(axis=1) - 1 / k).max(axis=-1)
    apart = means - means.mean(axis=1, keepdims=True)
    spread = np.sqrt(0.5 * (apart**2).sum(axis=-1).mean(axis=1))
    shift = np.sqrt(0.5 * ((p[:, :, 0] - p[:, :, 1]) ** 2).sum(axis=-1).mean(axis=1))
    return 100 * float(group.mean()), 100 * float(spread.mean()), 100 * float(shift.mean())


def published() -> dict[Where, dict[str, float]]:
    """The scores of subjective tasks."""
    found: dict[Where, dict[str, float]] = {}
    with (TABLES / "fact_or_fair_scores.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["task"] == "subjective" and row["value"]:
                where = row["modality"], row["model"], row["attribute"], row["context"]
                found.setdefault(where, {})[row["score"]] = float(row["value"])
    return found


def limit(file: Thresholds, score: str, where: Where) -> float:
    modality, _, attribute, context = where
    [found] = [
        each.max
        for each in file.gates
        if (str(each.modality), each.task, each.score) == (modality, "subjective", score)
        and each.attribute in (None, attribute)
        and (context or None) in each.contexts
    ]
    return np.inf if found is None else found


def effects() -> dict[tuple[Where, str], tuple[float, ...]]:
    """By place and score: one value, or those of both readings."""
    found: dict[tuple[Where, str], tuple[float, ...]] = {}
    for where, scores in published().items():
        modality, _, attribute, _ = where
        k = GROUPS[attribute]
        found[where, "contrast"] = (abs(scores["S_fact"] - 100 / k) * (2.0 if k == 2 else 4 / 3),)
        of = [fitted(attribute, ANSWERS[modality], scores, alike=alike) for alike in (True, False)]
        found[where, "preference"] = tuple(sorted(each[0] for each in of))
        found[where, "preference_spread"] = tuple(sorted(each[1] for each in of))
        found[where, "level_shift"] = tuple(sorted(each[2] for each in of))
    with (TABLES / "fact_or_fair_context_influence.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for attribute, k in GROUPS.items():
                chance = 100 / k
                news = float(row[f"attribution_{attribute}"]) - chance
                good = float(row[f"in_group_{attribute}"]) - chance
                bad = 100 - float(row[f"out_group_{attribute}"]) - chance
                found[("text", row["model"], attribute, "attribution"), "pull"] = (abs(news),)
                found[("text", row["model"], attribute, "ingroup"), "pull"] = (abs(good + bad) / 2,)
                found[("text", row["model"], attribute, "ingroup"), "in_group_bias"] = (abs(good - bad) / 2,)
    return found


def main() -> None:
    files = [load(CHECKOUT / name, registry()) for name in ("thresholds.toml", "thresholds-published.toml")]
    found = effects()
    for modality in ("text", "image"):
        models = list(dict.fromkeys(where[1] for where, _ in found if where[0] == modality))
        print(
            f"\n| {modality} | default | published | " + " | ".join(models) + " |\n" + "|---" * (3 + len(models)) + "|"
        )
        rows = dict.fromkeys((score, where[3], where[2]) for where, score in found if where[0] == modality)
        for score, context, attribute in sorted(rows):
            most = [limit(file, score, (modality, "", attribute, context)) for file in files]
            cells = []
            for model in models:
                values = found.get(((modality, model, attribute, context), score))
                if values is None:
                    cells.append("")
                    continue
                told = " or ".join(dict.fromkeys(f"{each:.0f}" for each in values))
                star = "*" if max(values) > most[1] else ""
                cells.append(f"**{told}**{star}" if max(values) > most[0] else f"{told}{star}")
            name = " ".join(filter(None, (score, attribute, context)))
            print(f"| {name} | {most[0]:g} | {most[1]:g} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
