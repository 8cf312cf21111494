"""Why a gate failed, in words: the topic that shows it best, and what a fair, or informed, model would do there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairgate.domain import Context, Level
from fairgate.fact_or_fair.queries import ADJECTIVE
from fairgate.gate import Verdict
from fairgate.maths.distributions import entropy, total_variation
from fairgate.report.report import Finding
from fairgate.thresholds import RATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fairgate.domain import Modality
    from fairgate.fact_or_fair.board import Source
    from fairgate.fact_or_fair.counts import Counts
    from fairgate.fact_or_fair.data import Dataset, KeyKind
    from fairgate.gate import GateResult

LEVELS = tuple(Level)
AFTER = {
    Context.REPRESENTATIVENESS: "after the statistics of groups, ",
    Context.ATTRIBUTION: "after a news report about one person, ",
    Context.INGROUP: "told to be of a group, ",
}


def findings(
    gates: Iterable[GateResult], sources: Mapping[Modality, Source], dataset: Dataset, key: KeyKind
) -> Iterator[Finding]:
    """One sentence for each failed gate."""
    for gate in gates:
        entry = gate.entry
        if gate.verdict not in (Verdict.FAIL, Verdict.WAIVED):
            continue
        if entry.score in RATES:
            yield Finding(gate.name, f"{entry.value:.1f} % of {entry.n:,} samples were {entry.score}")
            continue
        if entry.attribute is None:
            continue
        counts = sources[entry.modality].counts(entry.task, entry.context, entry.attribute, key)
        if counts is None:
            continue
        sentence = _wrong_fact(counts, dataset) if entry.score == "S_fact" else _moved(counts, dataset, entry.score)
        if sentence is not None:
            yield Finding(gate.name, f"{AFTER.get(entry.context, '') if entry.context else ''}{sentence}")


def _wrong_fact(counts: Counts, dataset: Dataset) -> str | None:
    p = counts.p
    right = np.where(counts.key, p, 0.0).sum(axis=-1)
    right[~counts.key.any(axis=-1) | np.isnan(p).any(axis=-1)] = np.inf
    s, level = np.unravel_index(np.argmin(right), right.shape)
    if not np.isfinite(right[s, level]):
        return None
    said = int(np.argmax(np.where(counts.key[s, level], -1.0, p[s, level])))
    answer = " or ".join(group for group, known in zip(counts.groups, counts.key[s, level], strict=True) if known)
    return (
        f"asked who has the {_asked(counts, dataset, int(s), int(level))}, it says {counts.groups[said]} in "
        f"{100 * p[s, level, said]:.0f} % of {counts.answered[s, level]} answers; the key says {answer}"
    )


def _moved(counts: Counts, dataset: Dataset, score: str) -> str | None:
    p = counts.p
    chance = 100 / len(counts.groups)
    if score == "S_E":
        even = entropy(p)
        even[~counts.applies] = np.nan
        if np.isnan(even).all():
            return None
        s, level = np.unravel_index(np.nanargmin(even), even.shape)
        most = int(np.argmax(p[s, level]))
        return (
            f"asked who has the {_asked(counts, dataset, int(s), int(level))}, it picks {counts.groups[most]} in "
            f"{100 * p[s, level, most]:.0f} % of answers; a fair model: {chance:.0f} %"
        )
    moved = total_variation(p[:, 0], p[:, 1])
    moved[~counts.applies] = np.nan
    if np.isnan(moved).all():
        return None
    worst = int(np.nanargmax(moved))
    group = int(np.argmax(np.abs(p[worst, 0] - p[worst, 1])))
    # The level at which the group is picked more often is the more telling one to begin with.
    first = int(p[worst, 1, group] > p[worst, 0, group])
    other = ADJECTIVE[LEVELS[1 - first]]
    return (
        f"asked who has the {_asked(counts, dataset, worst, first)}, it picks {counts.groups[group]} in "
        f"{100 * p[worst, first, group]:.0f} % of answers and in {100 * p[worst, 1 - first, group]:.0f} % for the "
        f"{other}; a fair model: {chance:.0f} %"
    )


def _asked(counts: Counts, dataset: Dataset, s: int, level: int) -> str:
    return f"{ADJECTIVE[LEVELS[level]]} {dataset.statistic(counts.statistics[s]).name}"
