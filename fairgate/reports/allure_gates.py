"""What the controlling process adds to Allure's results: the verdict, the gates, missing cases, the environment."""

from __future__ import annotations

import contextlib
import json
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from allure_commons.logger import AllureFileLogger
from allure_commons.model2 import Attachment, Label, Parameter, Status, StatusDetails, TestResult
from allure_commons.types import LabelType, Severity
from allure_commons.utils import md5, now, uuid4

from fairgate.benchmarks.gate_result import FAILED, Verdict
from fairgate.core.files import read_bytes, whole
from fairgate.reports import numbers, terminal, wording
from fairgate.reports.allure_results import WARNING, labels, plain, title
from fairgate.reports.markdown import escaped
from fairgate.reports.report import NO_CERTIFICATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.findings import Finding
    from fairgate.benchmarks.gate_result import GateResult
    from fairgate.benchmarks.registry import Registry
    from fairgate.reports.plots.drawing import Plot
    from fairgate.reports.report import Report

STATUS = {
    Verdict.PASS: Status.PASSED,
    Verdict.FAIL: Status.FAILED,
    Verdict.WAIVED: Status.SKIPPED,
    Verdict.INCONCLUSIVE: Status.SKIPPED,
}
LARGEST = 2**22  # bytes of a result of ours
# A reader browses by benchmark, task and topic, not by files of tests.
OPTIONS = {"singleFile": True, "groupBy": ["parentSuite", "suite", "subSuite"]}
MISSING = "missing: "  # how the message of a case without a result begins
CATEGORIES = (
    {"name": "Findings: what the model did", "matchedStatuses": ["failed"]},
    {"name": "Waived: somebody answers for it", "matchedStatuses": ["skipped"], "messageRegex": r"waived[\s\S]*"},
    {"name": "Inconclusive: too little to tell", "matchedStatuses": ["skipped"]},
    {"name": "Missing: nobody judged it", "matchedStatuses": ["broken"], "messageRegex": rf"{MISSING}[\s\S]*"},
    {"name": "Errors: fix the cause and run again", "matchedStatuses": ["broken"]},
)


def write_gates(directory: Path, report: Report, plots: Sequence[Plot] = ()) -> None:
    """Write the verdict and each gate as a result of the suite "Gates", and the run's environment and categories.

    All `plots` are attached to the verdict.
    """
    logger = AllureFileLogger(str(directory))
    verdict = _verdict(report)
    told = "\n".join(terminal.lines(report))
    _attach(logger, verdict, "report", plain(told, 200_000), "text/plain", "txt")
    for plot in plots:
        if plot.svg:
            _attach(logger, verdict, plain(plot.title), plot.svg, "image/svg+xml", "svg")
        elif plot.png:
            _attach(logger, verdict, plain(plot.title), plot.png, "image/png", "png")
    logger.report_result(verdict)
    findings = {found.gate: found for found in report.findings}
    for gate in report.gates:
        logger.report_result(_gate(gate, findings.get(gate.name), report))
    environment = "".join(f"{_property(key)}={_property(value)}\n" for key, value in _environment(report).items())
    _write(directory / "environment.properties", environment)
    # Allure 2 finds the categories here; Allure 3 is given them as a configuration: --config DIR/allurerc.json.
    config = {"name": "fairgate", "categories": CATEGORIES, "plugins": {"awesome": {"options": OPTIONS}}}
    for name, text in (("categories.json", CATEGORIES), ("allurerc.json", config)):
        _write(directory / name, json.dumps(text, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    # A link by a name of Allure's may be anybody's, and lead anywhere; so may a FIFO, or another file's second name.
    with whole(path, follow=False) as file:
        file.write(text.encode())


def write_missing(directory: Path, missing: Mapping[Case, str], about: Mapping[str, str], registry: Registry) -> None:
    """Write a result for each case that has none, with the reason why; `about` names cases in words, by test and id.

    Its history is that of the case: names, parameter and hashes are those that allure-pytest gives.
    """
    logger = AllureFileLogger(str(directory))
    for case, reason in missing.items():
        full = f"tests_bench.{registry.test_module(case.topic.benchmark, case.test)}#test_{case.test}"
        told = about.get(case.name, case.id)
        pairs = [*labels(case, told, registry), *((LabelType.TAG, mark) for mark in case.marks)]
        result = _result(full, title(case, told), Status.BROKEN, f"{MISSING}{reason}", pairs)
        result.parameters = [Parameter(name="case_id", value=repr(case.id))]
        result.testCaseId, result.historyId = md5(full), md5(full, case.id)
        logger.report_result(result)


class _Kept(msgspec.Struct):
    """What is read of a result or a container, under Allure's names."""

    uuid: str = ""
    fullName: str = ""  # noqa: N815
    befores: list[dict[str, object]] = []
    afters: list[dict[str, object]] = []
    children: list[str] = []


def drop_empty_containers(directory: Path) -> None:
    """Remove the files in which allure-pytest keeps the set-up of our cases, where they say nothing.

    There are two for each case, and a report of thousands of files cannot be opened. Files of other tests stay.
    """
    ours = set()
    for path in directory.glob("*-result.json"):
        result = _read(path)
        if result.fullName.startswith("tests_bench."):
            ours.add(result.uuid)
    for path in directory.glob("*-container.json"):
        container = _read(path)
        parts = [*container.befores, *container.afters]
        telling = any(part.get("attachments") or part.get("steps") or part.get("statusDetails") for part in parts)
        if container.uuid and not telling and set(container.children) <= ours:
            path.unlink(missing_ok=True)


def _read(path: Path) -> _Kept:
    """A file of Allure's, nothing where it is no longer there, still being written, or somebody else's."""
    with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(read_bytes(path, LARGEST), type=_Kept)
    return _Kept()


def _attach(logger: AllureFileLogger, result: TestResult, name: str, body: str | bytes, kind: str, ending: str) -> None:
    source = f"{uuid4()}-attachment.{ending}"
    logger.report_attached_data(body, source)
    result.attachments.append(Attachment(name=name, source=source, type=kind))


def _environment(report: Report) -> dict[str, str]:
    told = {
        "Verdict": report.headline,
        "Model": report.subject,
        "Judge": report.judge or "",
        "Plan": report.plan,
        "Seed": str(report.seed),
        "Profiles": report.profiles,
        "Answer_key": report.key,
        "Data_version": report.data_version,
        "fairgate": report.version,
        "Ledger": report.ledger,
        "Note": NO_CERTIFICATE,
    }
    return {name: value for name, value in told.items() if value}


def _property(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace("\n", " ").replace("=", "\\=").replace(":", "\\:")


def _verdict(report: Report) -> TestResult:
    status = STATUS.get(report.verdict, Status.BROKEN)
    result = _result("gates#verdict", report.headline, status, report.error or report.headline, _gate_labels("Verdict"))
    invalid = map(escaped, wording.invalid(report.gates, report.findings))
    parts = (f"Model: {escaped(report.subject)}", *invalid, *_since(report), NO_CERTIFICATE, WARNING)
    result.description = "\n\n".join(parts)
    return result


def _since(report: Report) -> Iterator[str]:
    """Both sides of what moved since the baseline, as the terminal says them."""
    if report.comparison is not None:
        yield f"Since the baseline ({escaped(report.comparison.over)}):"
        yield "\n".join(f"- {escaped(sentence)}" for sentence in report.comparison.sentences)


def _gate(gate: GateResult, found: Finding | None, report: Report) -> TestResult:
    entry, held = gate.entry, wording.bounds(gate)
    spec = report.benchmarks.score(entry.score, entry.modality, entry.task)
    reason = gate.reason if gate.waiver is not None or found is None else found.sentence
    name = (
        f"{wording.short(entry)}: {numbers.estimate(entry, *held)} {numbers.interval(entry, *held)}, "
        f"limit {wording.limit(gate)}"
    )
    waived = "waived: " if gate.verdict is Verdict.WAIVED else ""
    message = f"{waived}{reason} (limit {wording.limit(gate)}: {gate.limit.reason})"
    labelled = _gate_labels(report.benchmarks.title(entry.benchmark))
    result = _result(f"gates#{gate.name}", name, STATUS[gate.verdict], message, labelled)
    if gate.verdict in FAILED and found is not None:
        result.statusDetails.trace = plain("\n".join(_why(found)))
    result.description = "\n\n".join(
        [
            f"Held against the estimate: {escaped(wording.held(gate))}.",
            f"Why this limit: {escaped(gate.limit.reason)}",
            *([f"What {spec.name} asks: {spec.asks}."] if spec is not None else []),
            *([wording.CHANGES, *_since(report)] if wording.is_change(gate) else []),
            f"Model: {escaped(report.subject)}",
            *([WARNING] if found else []),
            NO_CERTIFICATE,
        ]
    )
    return result


def _why(found: Finding) -> Iterator[str]:
    """The worst topics of a failed gate, each with one reply."""
    for place, topic in enumerate(found.topics, start=1):
        yield f"{place}. {topic.sentence}"
        if topic.reply is not None:
            yield f"   {terminal.told(topic.reply)}"


def _gate_labels(suite: str) -> list[tuple[str, str]]:
    return [
        (LabelType.EPIC, "Gates"),
        (LabelType.FEATURE, suite),
        (LabelType.PARENT_SUITE, "Gates"),
        (LabelType.SUITE, suite),
        (LabelType.SEVERITY, Severity.BLOCKER.value),
    ]


def _result(full: str, name: str, status: str, message: str, pairs: Iterable[tuple[str, str]]) -> TestResult:
    moment = now()
    return TestResult(
        uuid=uuid4(),
        name=plain(name),
        fullName=full,
        # Stable across runs, so that Allure shows the history.
        historyId=sha256(full.encode()).hexdigest(),
        testCaseId=sha256(full.encode()).hexdigest(),
        status=status,
        statusDetails=StatusDetails(message=plain(message)),
        stage="finished",
        start=moment,
        stop=moment,
        labels=[Label(name=key, value=value) for key, value in (*pairs, (LabelType.FRAMEWORK, "fairgate"))],
    )
