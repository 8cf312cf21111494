"""(report, provenance) -> the chapters of a dossier: sentences and tables, which every renderer lays out by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairgate.benchmarks.gate_result import FAILED
from fairgate.benchmarks.sections import Row, Section
from fairgate.reports import numbers, wording
from fairgate.reports.dossier.frameworks import CARD, FRAMEWORKS, NOT_SHOWN, RATIOS
from fairgate.reports.report import NO_CERTIFICATE, WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fairgate.benchmarks.selection_rates import SelectionRates
    from fairgate.reports.report import Report

WHAT = (
    "fairgate wrote this dossier from a ledger, in which each request and reply of one run is kept. It holds no reply "
    "of the model."
)
NONE = "none"
ORDER = [verdict for verdict, _ in WORDS]


@dataclass(frozen=True)
class Party:
    """A model of the run and its role: the model under test, the judge, the detector."""

    role: str
    provider: str
    name: str
    address: str | None
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class Provenance:
    """Where the figures come from.

    `hashes`: SHA-256 of the ledger's files by name; `sampled`: when the run began, in UTC; `versions`: of the data that
    decide the prompts; `environment`: Python, system and packages of the process that judged.
    """

    ledger: str
    hashes: Mapping[str, str]
    run: str
    members: tuple[str, ...]
    sampled: str
    parties: tuple[Party, ...]
    versions: Mapping[str, object]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Chapter:
    """A part of the dossier: sentences, then tables."""

    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Section, ...] = ()


def chapters(report: Report, origin: Provenance) -> Iterator[Chapter]:
    """All parts, in the order in which a reviewer reads them."""
    yield Chapter("Verdict", _verdict(report), (_gates(report),) if report.gates else ())
    yield Chapter("What was tested", (WHAT,), (_parties(origin), _run(report, origin)))
    yield Chapter("Limits and waivers", *_limits(report))
    yield Chapter(
        "Answers",
        ("Refused, unreadable, truncated and failed answers are counted and never scored.",),
        (_answers(report),),
    )
    yield Chapter("Errors of judge and detector", *_instruments(report))
    yield Chapter("Scores", (wording.IDEAL,), (_scores(report),))
    yield Chapter("Selection rates and impact ratios", *_ratios(report))
    yield Chapter("What this does not show", (NO_CERTIFICATE, *NOT_SHOWN, *report.notes))
    yield Chapter("Use in other documents", (CARD,), tuple(FRAMEWORKS))
    yield Chapter("Environment and hashes", *_environment(report, origin))


def _verdict(report: Report) -> tuple[str, ...]:
    error = () if report.error is None else (f"Error: {report.error}",)
    found = (
        f"{wording.together(gates)}: {finding.sentence}."
        for gates, finding in wording.merged(report.gates, report.findings)
    )
    return (report.headline, *error, *wording.invalid(report.gates, report.findings), *found)


def _gates(report: Report) -> Section:
    rows = (
        Row(
            gate.name,
            (
                str(gate.verdict),
                numbers.estimate(gate.entry, *gate.bounds),
                numbers.interval(gate.entry, *gate.bounds),
                wording.limit(gate),
                str(gate.entry.n),
                gate.reason,
            ),
        )
        for gate in sorted(report.gates, key=lambda each: ORDER.index(each.verdict))
    )
    return Section("gate", ("verdict", "estimate", "interval", "limit", "answers", "reason"), tuple(rows))


def _parties(origin: Provenance) -> Section:
    rows = (
        Row(each.role, (f"{each.provider}/{each.name}", each.address or "", _json(each.parameters)))
        for each in origin.parties
    )
    return Section("role", ("model", "address", "parameters"), tuple(rows))


def _run(report: Report, origin: Provenance) -> Section:
    calls, tokens = report.calls, report.tokens
    said = {
        "run": origin.run,
        "merged from": ", ".join(each for each in origin.members if each != origin.run),
        "began (UTC)": origin.sampled,
        "plan": report.plan,
        "cases": f"{report.cases.total:,} selected of {report.cases.planned:,} that these models can be asked",
        "seed": str(report.seed),
        "people in prompts": report.profiles,
        "answer key": report.key,
        "scoring": report.scoring,
        **{name: str(version) for name, version in origin.versions.items()},
        "samples planned": f"{calls.planned:,}",
        "samples missing or failed": f"{calls.missing + calls.failed:,}",
        "tokens": f"{tokens.prompt:,} in, {tokens.completion:,} out",
        "cost, USD": "not known" if report.cost is None else f"{report.cost:.2f}",
    }
    return Section("run", ("value",), tuple(Row(name, (value,)) for name, value in said.items() if value))


def _limits(report: Report) -> tuple[tuple[str, ...], tuple[Section, ...]]:
    """The file, each limit's reason once, and who answers for a gate that failed."""
    behind = "with the files that it extends behind it"
    sentences = (f"Limits: {report.limits}, SHA-256 {report.limits_hash} ({behind}), compared on {report.date}.",)
    # Limits of one reason on one score stand in one row.
    reasons = dict.fromkeys((gate.entry.score, wording.limit(gate), gate.limit.reason) for gate in report.gates)
    limits = Section("score", ("limit", "reason"), tuple(Row(name, (held, why)) for name, held, why in reasons))
    waived = [gate for gate in report.gates if gate.waiver is not None]
    if not waived:
        return (*sentences, "No gate is waived."), (limits,)
    rows = (
        Row(gate.name, (str(gate.verdict), each.owner, each.reason, each.expires.isoformat()))
        for gate in waived
        if (each := gate.waiver) is not None
    )
    return sentences, (limits, Section("waived gate", ("verdict", "owner", "reason", "expires"), tuple(rows)))


def _answers(report: Report) -> Section:
    kinds = tuple(dict.fromkeys(kind for counts in report.outcomes.values() for kind in counts))
    rows = (
        Row(report.benchmarks.title(name), tuple(f"{counts.get(kind, 0):,}" for kind in kinds))
        for name, counts in report.outcomes.items()
    )
    return Section("benchmark", tuple(kind.replace("_", " ") for kind in kinds), tuple(rows))


def _instruments(report: Report) -> tuple[tuple[str, ...], tuple[Section, ...]]:
    if not report.instruments:
        return ("Neither a judge nor a face detector read an answer of this run.",), ()
    said = (
        (
            "A judge's record is on fairgate's own gold set, a detector's on the faces of its calibration. Neither "
            "need carry over to the replies and images of this run."
        ),
    )
    return said, report.instruments


def _scores(report: Report) -> Section:
    rows = (
        Row(
            entry.name,
            (
                numbers.number(entry.value),
                numbers.estimate(entry),
                numbers.interval(entry),
                numbers.ceiling(entry),
                f"{entry.n:,}",
                f"{entry.topics[0]} of {entry.topics[1]}",
            ),
        )
        for entry in report.entries
        if entry.scoring == report.scoring
    )
    return Section("score", ("value", "estimate", "interval", "ideal", "answers", "topics"), tuple(rows))


def _ratios(report: Report) -> tuple[tuple[str, ...], tuple[Section, ...]]:
    found = tuple(report.selection_rates())
    if not found:
        return ("No choice among people on offer was made in this run, so there is no selection rate.",), ()
    by = dict.fromkeys(each.by for each in found)
    return RATIOS, tuple(_rates([each for each in found if each.by == names], names) for names in by)


def _rates(found: list[SelectionRates], by: tuple[str, ...]) -> Section:
    rows = (
        Row(
            f"{rates.choices}: {each.group}",
            (
                f"{each.offered:,}",
                f"{each.chosen:,}",
                "-" if each.rate is None else f"{100 * each.rate:.1f}",
                "-" if (ratio := rates.impact_ratio(each)) is None else f"{ratio:.2f}",
            ),
        )
        for rates in found
        for each in rates.groups
    )
    return Section(f"by {' and '.join(by)}", ("on offer", "chosen", "selection rate, %", "impact ratio"), tuple(rows))


def _environment(report: Report, origin: Provenance) -> tuple[tuple[str, ...], tuple[Section, ...]]:
    said = (
        (
            "The environment is that of the process which wrote this dossier, not of the run. Replies were read and "
            "scored again in it."
        ),
    )
    files = tuple(Row(name, (digest,)) for name, digest in origin.hashes.items())
    files += (Row(report.limits, (report.limits_hash,)),)
    packages = tuple(Row(name, (version,)) for name, version in origin.environment.items())
    return said, (Section("file", ("SHA-256",), files), Section("software", ("version",), packages))


def failed(report: Report) -> list[str]:
    """The names of the gates that failed, waived or not."""
    return [gate.name for gate in report.gates if gate.verdict in FAILED]


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(dict(value), ensure_ascii=False, sort_keys=True, default=str) if value else NONE
