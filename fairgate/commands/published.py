"""`python -m fairgate published`: the audit of the published tables, and where a model stands among their models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.errors import DataError
from fairgate.fact_or_fair.topics import Context
from fairgate.files import read_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from fairgate.published.standing import ScoreKey

SQLITE = b"SQLite format 3\0"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    published = commands.add_parser(
        "published",
        help="where a model stands among the published ones, and the audit of the published tables",
        description="Prints the audit of the published tables: each derived cell beside what its own row gives. With "
        "a ledger or a summary.json, prints first where its model stands among Fact-or-Fair's ten, "
        "F²Bench's nine and BIGbench's eleven.",
    )
    published.add_argument(
        "path", nargs="?", type=Path, metavar="LEDGER|SUMMARY", help="a ledger (its last run) or a summary.json"
    )
    published.set_defaults(command=_published)


def _published(options: argparse.Namespace) -> str:
    from fairgate.published.text import render_audit

    standing = "" if options.path is None else f"{_standing(options.path)}\n"
    return standing + render_audit()


def _standing(path: Path) -> str:
    from fairgate.bigbench.data import BENCHMARK as BIGBENCH
    from fairgate.f2bench.cases import BENCHMARK as F2BENCH
    from fairgate.fact_or_fair.cases import BENCHMARK as FACT_OR_FAIR
    from fairgate.published.standing import bigbench_standing, f2bench_standing, standing
    from fairgate.published.text import render_standing

    models, entries = _of_ledger(path) if _is_ledger(path) else _of_summary(path)
    scored = [entry for entry in entries if entry["scoring"] == "reference"]
    whole = [entry for entry in scored if entry["topics"][0] == entry["topics"][1]]
    parts = []
    for modality, model in models.items():
        mine = [entry for entry in whole if entry["modality"] == modality and entry["benchmark"] == FACT_OR_FAIR]
        if mine or not any(entry["benchmark"] == BIGBENCH for entry in entries):
            parts.append(render_standing(model, standing(_by_column(mine))))
        there = [entry for entry in scored if entry["modality"] == modality and entry["benchmark"] == FACT_OR_FAIR]
        if len(there) > len(mine):
            left = len(there) - len(mine)
            parts.append(f"{left} of its scores cover a part of the topics only, and are not compared.\n")
    if any(entry["benchmark"] == F2BENCH for entry in entries):
        told = [entry for entry in whole if entry["benchmark"] == F2BENCH and entry["value"] is not None]
        places = f2bench_standing({(str(each["task"]), each["group"], each["score"]): each["value"] for each in told})
        parts.append(render_standing(models["text"], places, "the nine of F²Bench"))
        if not told:
            parts.append("Run with `--scoring reference`: the released program asks questions of its own.\n")
    drawn = [entry for entry in entries if entry["benchmark"] == BIGBENCH and entry["value"] is not None]
    if drawn:
        # The released program's explicit score is not imitated.
        told = [
            each for each in drawn if each["scoring"] == ("definition" if each["task"] == "explicit" else "reference")
        ]
        covered = {
            (str(each["task"]), each["attribute"], each["group"], each["score"]): each["value"]
            for each in told
            if each["topics"][0] == each["topics"][1]
        }
        parts.append(render_standing(models["image"], bigbench_standing(covered), "the eleven of BIGbench"))
        if len(told) > len(covered):
            parts.append(
                f"{len(told) - len(covered)} of its scores cover a part of the subjects, and are not compared.\n"
            )
    return "\n".join(parts)


def _is_ledger(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}.", where=str(path)) from error


def _of_ledger(path: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    from fairgate.runs.again import judged_again

    past = judged_again(path, key="published").report
    fields = ("benchmark", "modality", "task", "context", "attribute", "group", "score", "scoring", "topics", "value")
    named = {"text": past.model, "image": past.t2i_model}
    return {modality: model for modality, model in named.items() if model is not None}, [
        {name: getattr(each, name) for name in fields} for each in past.entries
    ]


def _of_summary(path: Path) -> tuple[dict[str, str], list[dict[str, Any]]]:
    try:
        summary = json.loads(read_text(path))
        entries: list[dict[str, Any]] = summary["scores"]
        for entry in entries:
            (entry["benchmark"], entry["modality"], entry["group"], entry["task"], entry["context"])
            (entry["attribute"], entry["scoring"], entry["topics"][1], entry["value"])
        named = {"text": summary["model"], "image": summary["t2i_model"]}
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        raise DataError(
            f"is neither a ledger nor a summary.json: {type(error).__name__}: {error}.",
            where=str(path),
            mend="Name the file that --ledger or --report-dir wrote.",
        ) from error
    return {modality: model for modality, model in named.items() if model is not None}, entries


def _by_column(entries: Iterable[Mapping[str, Any]]) -> dict[ScoreKey, float]:
    """The scores by published column. The tables' d is from (S_fact, S_E), whatever the programs print."""
    from fairgate.fact_or_fair.data import load
    from fairgate.maths.distributions import distance

    k = {attribute.name: attribute.k for attribute in load().attributes}
    scores: dict[ScoreKey, float] = {
        (
            str(entry["task"]),
            entry["context"] and Context(entry["context"]),
            entry["attribute"],
            entry["score"],
        ): entry["value"]
        for entry in entries
        if entry["value"] is not None and entry["score"] != "d"
    }
    for task, context, attribute, score in list(scores):
        even = scores.get((task, context, attribute, "S_E"))
        if score == "S_fact" and even is not None:
            fact = scores[task, context, attribute, score]
            scores[task, context, attribute, "d"] = 100 * float(distance(fact / 100, even / 100, k[attribute]))
    return scores
