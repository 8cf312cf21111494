"""Several runs beside one another: the same scores of each, from its ledger, its summary.json, or its baseline."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairgate.bigbench import data as bigbench_data
from fairgate.comparison.baseline import Baseline
from fairgate.comparison.baseline import load as load_baseline
from fairgate.comparison.comparing import compare, differences, scores_of
from fairgate.errors import DataError
from fairgate.f2bench import data as f2bench_data
from fairgate.f2bench.forms import in_forms
from fairgate.f2bench.gold import load_gold
from fairgate.f2bench.plan import Plan
from fairgate.f2bench.prompts import load_prompts
from fairgate.fact_or_fair.data import load as load_dataset
from fairgate.files import read_text
from fairgate.runs.again import judged_again

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fairgate.bigbench.data import Bigbench
    from fairgate.fact_or_fair.data import Dataset
    from fairgate.verdicts.scoreboard import Entry

SHOWN = (
    *("S_fact", "S_E", "S_KLD", "S_fair", "TV", "d", "S_dialogue", "S_fairness", "S_factuality", "FF1"),
    *("S_implicit", "S_explicit", "eta"),
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SQLITE = b"SQLite format 3\0"


@dataclass(frozen=True)
class Number:
    """A score's estimate with its interval (0 to 100); the plain score, without one, where there is no estimate.

    `topics`: how many it covers, and of how many.
    """

    value: float
    low: float | None
    high: float | None
    topics: tuple[int, int]


@dataclass(frozen=True)
class About:
    """What was asked about; None where what is here is not what the run was asked with."""

    dataset: Dataset
    spoken: Plan | None
    sitters: Bigbench | None


def usual(saved: Baseline) -> About:
    """Our own data, where a saved run was asked with them."""
    asked = saved.asked.get("f2bench") or {}
    gold, prompts, instances = load_gold(), load_prompts(), f2bench_data.load()
    if str(asked.get("judge", "")).startswith("control/"):
        gold = in_forms(gold)
    here = {"instances": instances.version, "prompts": prompts.version, "gold": gold.version}
    spoken = Plan(instances, prompts, gold, repeats=1, reference=False) if here.items() <= asked.items() else None
    sitters = bigbench_data.load()
    same = (saved.asked.get("bigbench") or {}).get("data") == sitters.version
    return About(load_dataset(), spoken, sitters if same else None)


@dataclass(frozen=True)
class Column:
    """One run: its name, its scores, and what was answered to each query where that is known."""

    name: str
    scores: Mapping[str, Number]
    answered: Baseline | None
    about: About | None = None


def column(path: Path) -> Column:
    """Read a run. Raises FairgateError, naming the file, for what is neither ledger nor summary nor baseline."""
    try:
        with path.open("rb") as file:
            ledger = file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path)) from error
    if ledger:
        again = judged_again(path)
        about = About(
            again.run.benchmarks.all[0].dataset, again.run.benchmarks.all[2].plan, again.run.benchmarks.all[3].data
        )
        return Column(again.answered.label, dict(_of_entries(again.report.entries)), again.answered, about)
    try:
        whole = json.loads(read_text(path))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no JSON: {error}.", where=str(path)) from error
    if isinstance(whole, dict) and "scores" in whole:
        return _of_summary(whole, path)
    saved = load_baseline(path)
    about = usual(saved)
    entries = scores_of(saved, about.dataset, key="published", seed=0, spoken=about.spoken, sitters=about.sitters)
    return Column(saved.label, dict(_of_entries(entries)), saved, about)


def _of_entries(entries: Iterable[Entry]) -> Iterable[tuple[str, Number]]:
    for entry in entries:
        if entry.scoring == "definition" and entry.group is None and entry.score in SHOWN and entry.value is not None:
            shown = entry.value if entry.estimate is None else entry.estimate
            yield entry.name, Number(shown, *entry.ci, entry.topics)


def _of_summary(whole: Mapping[str, Any], path: Path) -> Column:
    scores: dict[str, Number] = {}
    try:
        for each in whole["scores"]:
            if each["scoring"] != "definition" or each["group"] or each["score"] not in SHOWN or each["value"] is None:
                continue
            keys = ("benchmark", "modality", "task", "context", "attribute", "score")
            name = "-".join(str(each[key]) for key in keys if each[key] is not None)
            shown = each["value"] if each["estimate"] is None else each["estimate"]
            low, high = each["ci"]
            covered, whole_of = each["topics"]
            scores[name] = Number(shown, low, high, (covered, whole_of))
        model = " and ".join(name for name in (whole["model"], whole["t2i_model"]) if name)
        return Column(f"{model}, plan {whole['plan']}, seed {whole['seed']}", scores, None)
    except (LookupError, TypeError) as error:
        raise DataError(f"is no summary.json: {type(error).__name__}: {error}.", where=str(path)) from error


def table(columns: Sequence[Column]) -> str:
    """All scores as a Markdown table, the runs named above it."""
    lines = [f"{letter}: {each.name}" for letter, each in zip(LETTERS, columns, strict=False)]
    shown = LETTERS[: len(columns)]
    lines += ["", f"| score | {' | '.join(shown)} |", f"| --- |{' ---: |' * len(columns)}"]
    for name in dict.fromkeys(name for each in columns for name in each.scores):
        cells = (_cell(each.scores.get(name)) for each in columns)
        lines.append(f"| {_said(name)} | {' | '.join(cells)} |")
    if any(covered < of for each in columns for covered, of in (number.topics for number in each.scores.values())):
        lines += ["", "(n/m): over n of m topics only, not to be held against a score over others."]
    return "\n".join(lines) + "\n"


def _said(name: str) -> str:
    return name.removeprefix("fact-or-fair-text-").replace("-", " ")


def _cell(number: Number | None) -> str:
    if number is None:
        return "-"
    covered, of = number.topics
    part = f" ({covered}/{of})" if covered < of else ""
    if number.low is None or number.high is None:
        return f"{number.value:.1f}{part}"
    return f"{number.value:.1f} [{number.low:.1f}, {number.high:.1f}]{part}"


def moves(columns: Sequence[Column]) -> str:
    """What each run's answers say beside the first one's, query by query, where both are known."""
    first, *others = columns
    lines = []
    for each in others:
        if first.answered is None or each.answered is None:
            lines.append(
                f"{each.name}: a summary has no answers to compare query by query; name a ledger or a baseline."
            )
            continue
        other = differences(first.answered, each.answered.asked)
        about = each.about or usual(each.answered)
        found, _ = compare(
            *(first.answered, each.answered, about.dataset),
            key="published",
            seed=0,
            spoken=about.spoken,
            sitters=about.sitters,
        )
        lines.append(f"{each.name}, beside {first.name}, over {found.queries:,} queries:")
        lines += [f"- the runs asked otherwise: {'; '.join(other)}"] if other else []
        lines += [f"- {sentence}" for sentence in found.sentences]
    return "\n".join(lines) + "\n"


def draw(columns: Sequence[Column], path: Path) -> None:
    """The scores as points with their intervals, one row a score. Needs matplotlib."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(name for each in columns for name in each.scores))
    figure = Figure(figsize=(9, 1 + 0.28 * len(names)), layout="constrained")
    axes = figure.subplots()
    # Okabe and Ito's colours, and a marker of its own for each run: none needs colour to be told apart.
    looks = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#000000", "x")]
    for place, (letter, each) in enumerate(zip(LETTERS, columns, strict=False)):
        label = f"{letter}: {each.name}".replace("$", r"\$")  # else matplotlib reads a formula
        colour, marker = looks[place % len(looks)]
        offset = (place - (len(columns) - 1) / 2) * 0.6 / max(len(columns), 1)
        rows = [(row, each.scores[name]) for row, name in enumerate(names) if name in each.scores]
        for row, number in rows:
            if number.low is not None and number.high is not None:
                axes.plot([number.low, number.high], [row + offset] * 2, color=colour, linewidth=1)
        axes.plot(
            [number.value for _, number in rows], [row + offset for row, _ in rows],
            linestyle="none", marker=marker, color=colour, markersize=4, label=label,
        )  # fmt: skip
    axes.set_yticks(range(len(names)), [*map(_said, names)], fontsize=7)
    axes.set_xlim(-2, 102)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("estimate, with its 95 % interval")
    figure.legend(loc="outside upper left", fontsize=8)
    figure.savefig(path)
