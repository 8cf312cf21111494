"""Several runs beside one another: the same scores of each, from its ledger, its summary.json, or its baseline."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from fairgate.benchmarks.limits import RATES
from fairgate.benchmarks.paired import Basis
from fairgate.benchmarks.registry import registry
from fairgate.benchmarks.score_result import ScoreResult
from fairgate.comparison.baseline import load as load_baseline
from fairgate.comparison.paired_comparison import compare, differences, scores_of
from fairgate.comparison.saved_summary import LARGEST, read_summary
from fairgate.core.domain import Modality
from fairgate.core.errors import DataError
from fairgate.core.files import read_text
from fairgate.core.layout import THRESHOLDS
from fairgate.core.typed import plain
from fairgate.gating.gate import invalid
from fairgate.gating.thresholds import load
from fairgate.reports.plots.drawing import canvas

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.paired import Baseline, Part
    from fairgate.benchmarks.score_result import Where
    from fairgate.comparison.paired_comparison import Side
    from fairgate.gating.thresholds import Thresholds

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Runs stand beside one another by the published key, and with the same random numbers.
NOW = Basis(key="published", seed=0)


@dataclass(frozen=True)
class Number:
    """A score's estimate with its interval (0 to 100); the plain score, without one, where there is no estimate.

    `topics`: how many it covers, and of how many. `valid`: whether it says anything of groups.
    """

    value: float
    low: float | None
    high: float | None
    topics: tuple[int, int]
    valid: bool = True


@dataclass(frozen=True)
class Column:
    """One run: its name, its scores, and what was answered to each query where that is known.

    `sides`: the parts of all benchmarks, with the data that the run was asked with.
    """

    name: str
    scores: Mapping[str, Number]
    answered: Baseline | None = None
    sides: Sequence[Side] = ()


def of_run(answered: Baseline, entries: Iterable[ScoreResult], sides: Sequence[Side]) -> Column:
    """A run that was scored again."""
    return Column(answered.label, dict(_of_entries(entries)), answered, sides)


def of_file(path: Path, parts: Sequence[Part]) -> Column:
    """A summary.json or a baseline. Raises DataError, naming the file, for what is neither."""
    try:
        whole = json.loads(read_text(path, LARGEST))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"is no JSON: {error}.", where=str(path)) from error
    if isinstance(whole, dict) and "scores" in whole:
        return _of_summary(path)
    saved = load_baseline(path, parts)
    sides = [(part, part.bundled(saved.asked)) for part in parts]
    return of_run(saved, scores_of(saved, sides, NOW), sides)


@cache
def _limits() -> Thresholds:
    """Those that say where scores say nothing of groups: the default ones, whatever each run was held against."""
    return load(THRESHOLDS, registry())


def _is_valid(entry: ScoreResult, decided: Mapping[Where, GateResult]) -> bool:
    return entry.validity or entry.score in RATES or entry.where not in decided


def _of_entries(entries: Iterable[ScoreResult]) -> Iterable[tuple[str, Number]]:
    every = list(entries)
    decided = invalid(every, _limits())
    for entry in every:
        if (
            entry.scoring == "definition"
            and entry.group is None
            and entry.score in registry().scores
            and entry.value is not None
        ):
            shown = entry.value if entry.estimate is None else entry.estimate
            yield entry.name, Number(shown, *entry.ci, entry.topics, _is_valid(entry, decided))


def _of_summary(path: Path) -> Column:
    found = read_summary(path)
    entries = (
        ScoreResult(
            benchmark=each.benchmark,
            modality=Modality(each.modality),
            task=each.task,
            context=each.context,
            attribute=each.attribute,
            score=each.score,
            scoring=each.scoring,
            group=each.group or None,
            value=each.value,
            estimate=each.estimate,
            ci=each.ci,
            n=each.n,
            topics=each.topics,
            validity=each.validity,
        )
        for each in found.scores
        if each.modality in [*Modality]
    )
    model = " and ".join(name for name in (found.model, found.t2i_model) if name)
    seed = "unknown" if found.seed is None else found.seed
    return Column(f"{plain(model)}, plan {plain(found.plan)}, seed {seed}", dict(_of_entries(entries)))


def table(columns: Sequence[Column], parts: Sequence[Part], *, markdown: bool = False) -> str:
    """All scores, a row each, in aligned columns or as a Markdown table; the runs are named above it."""
    shown = LETTERS[: len(columns)]
    names = dict.fromkeys(name for each in columns for name in each.scores)
    rows = [
        ["score", *shown],
        *([_said(name, parts), *(_cell(each.scores.get(name)) for each in columns)] for name in names),
    ]
    lines = [f"{letter}: {each.name}" for letter, each in zip(shown, columns, strict=True)]
    lines += ["", *(_as_markdown(rows) if markdown else _aligned(rows))]
    if any(covered < of for each in columns for covered, of in (number.topics for number in each.scores.values())):
        lines += ["", "(n/m): over n of m topics only, not to be compared with a score over others."]
    if not all(number.valid for each in columns for number in each.scores.values()):
        lines += ["", "*: something else than groups decides these answers: the score says nothing of groups."]
    return "\n".join(lines) + "\n"


def _as_markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return [head, f"| --- |{' ---: |' * (len(rows[0]) - 1)}", *body]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = (zip(row, widths, strict=True) for row in rows)
    lines = (
        "  ".join(f"{text:<{width}}" if at == 0 else f"{text:>{width}}" for at, (text, width) in enumerate(each))
        for each in cells
    )
    head, *body = (line.rstrip() for line in lines)
    return [head, "-" * len(head), *body]


def _said(name: str, parts: Sequence[Part]) -> str:
    """A score's name in a table. The part without a key, which was there first, is not named."""
    for part in parts:
        if part.key is None:
            name = name.removeprefix(f"{part.benchmark}-{part.modality}-")
    return name.replace("-", " ")


def _cell(number: Number | None) -> str:
    if number is None:
        return "-"
    covered, of = number.topics
    part = "" if number.valid else " *"
    part += f" ({covered}/{of})" if covered < of else ""
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
        parts = [part for part, _ in each.sides]
        other = differences(first.answered.asked, each.answered.asked, parts)
        found, _ = compare(first.answered, each.answered, each.sides, NOW, _limits())
        lines.append(f"{each.name}, beside {first.name}, over {found.queries:,} queries:")
        lines += [f"- the runs asked otherwise: {'; '.join(other)}"] if other else []
        lines += [f"- {sentence}" for sentence in found.sentences]
    return "\n".join(lines) + "\n"


def draw(columns: Sequence[Column], path: Path, parts: Sequence[Part]) -> None:
    """The scores as points with their intervals, one row a score. Needs matplotlib."""
    names = list(dict.fromkeys(name for each in columns for name in each.scores))
    with canvas((9, 1 + 0.28 * len(names))) as figure:
        _draw_on(figure, columns, names, parts)
        figure.savefig(path)


def _draw_on(figure: Any, columns: Sequence[Column], names: Sequence[str], parts: Sequence[Part]) -> None:
    axes = figure.subplots()
    # Okabe and Ito's colours, and a marker of its own for each run: none needs colour to be told apart.
    looks = [("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#000000", "x")]
    for place, (letter, each) in enumerate(zip(LETTERS, columns, strict=False)):
        label = f"{letter}: {each.name}"
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
    axes.set_yticks(range(len(names)), [_said(name, parts) for name in names], fontsize=7)
    axes.set_xlim(-2, 102)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("estimate, with its 95 % interval")
    figure.legend(loc="outside upper left", fontsize=8)
