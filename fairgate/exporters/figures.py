"""The figures of a report's folder, as an experiment tracker takes them: numbers, words and files."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from fairgate.comparison.saved_summary import Name, SavedScore, SavedSummary, read_as
from fairgate.reports.folder import FILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
LONGEST = 500  # characters of a tag's value


class SavedGate(SavedScore, frozen=True, kw_only=True):
    """A gate's verdict."""

    verdict: Name


class SavedLimits(msgspec.Struct, frozen=True):
    """The file of limits."""

    file: str
    sha256: str


class SavedReport(SavedSummary, frozen=True, kw_only=True):
    """What a tracker is told of a run."""

    fairgate: Name
    data: str
    date: str
    verdict: Name
    exit: int
    headline: str
    gates: tuple[SavedGate, ...]
    limits: SavedLimits
    judge: str | None = None
    detector: str | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Figures:
    """A run in numbers and words. What is not known has no number: a missing score is never 0.

    `metrics`: each score's `NAME.value`, and where there are an estimate and its interval `NAME.estimate`, `NAME.low`
    and `NAME.high`; the gates by verdict. `files`: those of the report, which hold prompts and replies.
    """

    report: SavedReport
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    files: tuple[Path, ...]


def read_figures(folder: Path) -> Figures:
    """The figures of a folder that --report-dir wrote. Raises DataError where it is none."""
    report = read_as(folder / "summary.json", SavedReport)
    verdicts = Counter(gate.verdict for gate in report.gates)
    metrics = {name: value for score in report.scores for name, value in _numbers(score) if value is not None}
    metrics |= {f"gates.{verdict}": float(n) for verdict, n in verdicts.items()}
    metrics |= {} if report.cost is None else {"cost_usd": report.cost}
    words = {
        "verdict": report.verdict,
        "headline": report.headline,
        "model": report.model,
        "t2i_model": report.t2i_model,
        "judge": report.judge,
        "detector": report.detector,
        "plan": report.plan,
        "date": report.date,
        "limits": report.limits.file,
        "limits_sha256": report.limits.sha256,
        "data": report.data,
        "version": report.fairgate,
    }
    tags = {f"fairgate.{name}": word[:LONGEST] for name, word in words.items() if word}
    files = (folder / name for name in FILES)
    # A link may lead to what nobody meant to send.
    return Figures(report, metrics, tags, tuple(each for each in files if each.is_file() and not each.is_symlink()))


def name_of(score: SavedScore) -> str:
    """The score's name, e.g. `BENCHMARK-text-TASK-crime-gender-SCORE`, of characters that every tracker takes."""
    parts = (score.benchmark, score.modality, score.task, score.context, score.attribute, score.group, score.score)
    name = "-".join(part for part in parts if part is not None)
    return NOT_IN_A_NAME.sub("_", name if score.scoring == "definition" else f"{score.scoring}-{name}")


def _numbers(score: SavedScore) -> Iterator[tuple[str, float | None]]:
    name = name_of(score)
    yield f"{name}.value", score.value
    yield f"{name}.estimate", score.estimate
    yield from zip((f"{name}.low", f"{name}.high"), score.ci, strict=True)
