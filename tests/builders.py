"""Small values of the domain, with all that a test does not care about filled in."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from fairgate.benchmarks.bigbench import against_truth
from fairgate.benchmarks.fact_or_fair import plots
from fairgate.benchmarks.fact_or_fair import sections as fact_or_fair
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.benchmarks.findings import Example, Finding
from fairgate.benchmarks.gate_result import GateResult, Verdict
from fairgate.benchmarks.limits import GateLimit
from fairgate.benchmarks.score_result import ScoreResult
from fairgate.core.domain import Answer, AnswerKind, Choice, Identity, Modality, Query, Reply, Topic
from fairgate.gating.thresholds import Allowed, CaseLimits, PlanSize, Thresholds
from fairgate.ledger.samples import FAILED, Sample
from fairgate.reports.report import Calls, CaseCount, Report, Tokens
from tests.plugins import REGISTRY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.evidence import Shown

MODEL = Identity("openai", "tiny", "http://127.0.0.1:1/v1", {"temperature": 0})
PEOPLE = (
    {"gender": "male", "race": "Black"},
    {"gender": "female", "race": "Black"},
    {"gender": "male", "race": "Asian"},
    {"gender": "female", "race": "White"},
)
BOARD = {"mean": {"gender": 90.0, "race": None, "average": None}}
WHY = "because a test says so"


def objective(statistic: str = "crime-rate", level: Level = Level.HIGH, attribute: str = "race") -> StatisticTopic:
    return StatisticTopic("fact-or-fair", Modality.TEXT, Task.OBJECTIVE, statistic, level, None, attribute)


def subjective(
    statistic: str = "crime-rate", level: Level = Level.HIGH, context: Context = Context.BASE
) -> StatisticTopic:
    return StatisticTopic("fact-or-fair", Modality.TEXT, Task.SUBJECTIVE, statistic, level, context)


def people(groups: Sequence[Mapping[str, str]] = PEOPLE) -> tuple[Choice, ...]:
    return tuple(
        Choice(letter, f"{name}, an individual.", each)
        for letter, name, each in zip("ABCDEFGH", ("Ash", "Blair", "Casey", "Drew", "Ellis"), groups, strict=False)
    )


def query(
    index: int = 0,
    topic: Topic | None = None,
    prompt: str = "Who is it?",
    choices: tuple[Choice, ...] | None = None,
    named: Mapping[str, str] | None = None,
) -> Query:
    return Query(topic or subjective(), index, prompt, people() if choices is None else choices, named or {})


def chosen(asked: Query, option: int) -> Sample:
    letter = asked.choices[option].letter
    return Sample(asked, Reply(letter), Answer(AnswerKind.CHOSEN, option, "letter"))


def no_answer(asked: Query, kind: AnswerKind) -> Sample:
    if kind is AnswerKind.FAILED:
        return Sample(asked, None, FAILED)
    return Sample(asked, Reply("no"), Answer(kind, None, "test"))


def entry(score: str = "TV", **given: object) -> ScoreResult:
    usual: dict[str, object] = {
        "benchmark": "fact-or-fair",
        "modality": Modality.TEXT,
        "task": Task.SUBJECTIVE,
        "context": Context.BASE,
        "attribute": "race",
        "value": 50.0,
        "estimate": 50.0,
        "ci": (40.0, 60.0),
        "n": 100,
        "topics": (36, 36),
    }
    return ScoreResult(score=score, **(usual | given))  # type: ignore[arg-type] # filled in by name


def limit(score: str = "TV", **given: object) -> GateLimit:
    usual: dict[str, object] = {"task": Task.SUBJECTIVE, "reason": WHY, "max": 70.0}
    return GateLimit(score=score, **(usual | given))  # type: ignore[arg-type] # filled in by name


def thresholds(*gates: GateLimit, failed: float = 2.0) -> Thresholds:
    return Thresholds(
        schema=1,
        plans={"quick": PlanSize(reason=WHY, sizes={})},
        cases=CaseLimits(alpha=0.025, reason=WHY, limits={}),
        allowed=Allowed(failed=failed, reason=WHY),
        gates=gates,
    )


def gate(verdict: Verdict = Verdict.PASS, score: str = "TV", reason: str = "it is so", **given: object) -> GateResult:
    return GateResult(limit(score), entry(score, **given), verdict, reason)


def report(**given: object) -> Report:
    usual = Report(
        version="0.0",
        data_version="0123456789abcdef",
        model="openai/tiny",
        t2i_model=None,
        given=True,
        control=False,
        plan="quick",
        seed=0,
        profiles="random",
        key="published",
        scoring="definition",
        ledger=".fairgate/ledger.sqlite",
        entries=(entry(), entry("S_fact", ceiling=(99.0, 98.0, 100.0))),
        gates=(gate(),),
        findings=(),
        cases=CaseCount(passed=3, failed=0, inconclusive=0, broken=0, planned=3),
        calls=Calls(planned=120, asked=100, reused=20, missing=0, failed=0, retried=4),
        tokens=Tokens(prompt=1000, completion=100, uncounted=0),
        benchmarks=REGISTRY,
        tables={"leaderboard": BOARD, "shares": {"subjective base": {"female Asian": 12.5}}},
        notes=(),
        error=None,
        outcomes={"fact-or-fair": {"samples": 120, "refused": 0, "unreadable": 0, "failed": 0}},
    )
    found = replace(usual, **given)  # type: ignore[arg-type] # filled in by name
    sections = fact_or_fair.sections(found.entries, found.tables, found.scoring)
    cells = found.evidence.cells
    sketches = chain(plots.sketches(found.entries, cells), against_truth.sketch(cells))
    return replace(found, **{"sections": tuple(sections), "sketches": lambda: sketches} | given)  # type: ignore[arg-type]


def finding(*sentences: str, reply: Shown | None = None, cell: str | None = None) -> Finding:
    return Finding(gate().name, tuple(Example(each, cell, reply) for each in sentences))
