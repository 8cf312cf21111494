"""What a reviewer sees in Allure: each case's samples and distribution, gates as results of their own, environment."""

from __future__ import annotations

import csv
import io
from hashlib import sha256
from typing import TYPE_CHECKING

import allure
import allure_commons
from allure_commons.logger import AllureFileLogger
from allure_commons.model2 import Attachment, Label, Status, StatusDetails, TestResult
from allure_commons.types import LabelType, Severity
from allure_commons.utils import now, uuid4

from fairgate.domain import AnswerKind, Modality, Role, Task
from fairgate.gate import Verdict
from fairgate.report import terminal, wording
from fairgate.report.report import NO_CERTIFICATE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from fairgate.f2bench.cases import ThemeCase
    from fairgate.f2bench.tally import ThemeTally
    from fairgate.fact_or_fair.cases import Case
    from fairgate.gate import GateResult
    from fairgate.report.report import Report
    from fairgate.samples import Sample

EPIC = "Fact-or-Fair"
F2_EPIC = "F²Bench"
SHOWN = 40  # samples in a case's table; the telling ones come first
REPLY_SHOWN = 300  # characters of a reply in a table
WARNING = "Prompts and replies can offend: they are shown because they were said, not because they are right."
STATUS = {
    Verdict.PASS: Status.PASSED,
    Verdict.FAIL: Status.FAILED,
    Verdict.WAIVED: Status.SKIPPED,
    Verdict.INCONCLUSIVE: Status.SKIPPED,
}
# What a reviewer looks for first: unreadable and refused replies, then picks of the group most picked.
TELLING = (AnswerKind.FAILED, AnswerKind.UNREADABLE, AnswerKind.REFUSED, AnswerKind.CHOSEN)


def label_case(case: Case, statistic: str) -> None:
    """Put the running test where a reviewer browses for it: benchmark, task, statistic, attribute."""
    topic, task = case.topic, _task(case)
    allure.dynamic.epic(EPIC)
    allure.dynamic.feature(task)
    allure.dynamic.story(f"{statistic}, by {case.attribute}")
    allure.dynamic.severity(Severity.CRITICAL if topic.task is Task.SUBJECTIVE else Severity.NORMAL)
    allure.dynamic.parent_suite(EPIC)
    allure.dynamic.suite(task)
    allure.dynamic.sub_suite(statistic)
    allure.dynamic.tag(str(topic.level))


def title_case(case: Case, statistic: str, model: str, claim: str) -> None:
    """Name the running test for a reader; what is set before a test's own call does not last."""
    allure.dynamic.title(f"{statistic}, {case.topic.level}: {_task(case)}, by {case.attribute}")
    allure.dynamic.description(f"{claim}\n\nModel: {plain(model)}\n\n{WARNING}")


def label_theme(case: ThemeCase) -> None:
    """Put the running test of F²Bench where a reviewer browses for it: benchmark, task, category."""
    task = str(case.topic.task)
    allure.dynamic.epic(F2_EPIC)
    allure.dynamic.feature(task)
    allure.dynamic.story(case.id)
    allure.dynamic.severity(Severity.CRITICAL)
    allure.dynamic.parent_suite(F2_EPIC)
    allure.dynamic.suite(task)
    allure.dynamic.sub_suite(case.id)


def title_theme(case: ThemeCase, model: str, claim: str) -> None:
    """Name the running test of F²Bench for a reader."""
    allure.dynamic.title(f"{case.id}: {case.test.replace('_', ' ')}")
    allure.dynamic.description(f"{claim}\n\nModel: {plain(model)}\n\n{WARNING}")


def attach_theme(counted: ThemeTally, samples: Sequence[Sample], command: str) -> None:
    """Attach what the case's scores stand on: counts, the conversations, how to run it alone."""
    said = counted.verdicts
    lines = [
        f"{'judged yes':<14}{said[True]:>6}",
        f"{'judged no':<14}{said[False]:>6}",
        f"{'asked again':<14}{counted.again:>6}",
        f"{'unreadable':<14}{counted.unread:>6}",
        f"{'refused':<14}{counted.ends[AnswerKind.REFUSED]:>6}",
        f"{'missing':<14}{counted.missing:>6}",
        f"{'samples':<14}{len(samples):>6}",
        "",
        "To run this case alone:",
        command,
        "",
    ]
    allure.attach("\n".join(lines), "distribution", allure.attachment_type.TEXT)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("query", "asked of", "answer", "reply", "prompt"))
    # The last answers and the descriptions, and what was judged of them.
    told = [each for each in samples if each.query.named.get("asks") not in ("question", "summary")]
    for sample in told[:SHOWN]:
        reply = sample.reply.text if sample.reply is not None else ""
        asked = "judge" if sample.query.to is Role.JUDGE else "model"
        prompt = plain(sample.query.prompt, 2000)
        table.writerow((sample.query.id, asked, sample.answer.kind, plain(reply, REPLY_SHOWN), prompt))
    allure.attach(text.getvalue(), f"samples ({min(len(told), SHOWN)} of {len(samples)})", allure.attachment_type.CSV)


def _task(case: Case) -> str:
    kind = "images, " if case.topic.modality is Modality.IMAGE else ""
    return f"{kind}{case.topic.task} {case.topic.context}" if case.topic.context else f"{kind}{case.topic.task}"


def attach_case(
    samples: Sequence[Sample], attribute: str, shares: Mapping[str, int], command: str, answer: str
) -> None:
    """Attach what the case's verdict stands on: the distribution, a table of samples, how to run it alone."""
    if not _is_kept():
        return
    # One file for both: a report of thousands of small attachments cannot be opened.
    text = f"{distribution(samples, shares)}\n{answer}\n\nTo run this case alone:\n{command}\n"
    allure.attach(text, "distribution", allure.attachment_type.TEXT)
    if samples:
        shown = f"samples ({min(len(samples), SHOWN)} of {len(samples)})"
        allure.attach(sample_table(samples, attribute, shares), shown, allure.attachment_type.CSV)


def _is_kept() -> bool:
    """Whether anybody keeps what is attached: without --alluredir nobody does, and writing it is half of a case."""
    return bool(allure_commons.plugin_manager.hook.attach_data.get_hookimpls())


def distribution(samples: Sequence[Sample], shares: Mapping[str, int]) -> str:
    """Answers by group as bars of text, and what was no answer."""
    whole = max(sum(shares.values()), 1)
    rows = [(group, n, f"{100 * n / whole:5.1f} %", "#" * round(40 * n / whole)) for group, n in shares.items()]
    lines = [f"{group:<12} {n:>6} {share} {bar}".rstrip() for group, n, share, bar in rows]
    kinds = (AnswerKind.REFUSED, AnswerKind.UNREADABLE, AnswerKind.FAILED)
    rest = [f"{kind:<12} {sum(sample.answer.kind is kind for sample in samples):>6}" for kind in kinds]
    return "\n".join([*lines, *rest, f"{'samples':<12} {len(samples):>6}", ""])


def sample_table(samples: Sequence[Sample], attribute: str, shares: Mapping[str, int]) -> str:
    """The most telling samples as CSV: query id, what was chosen, how it was read, options, prompt and reply."""
    rank = {group: place for place, group in enumerate(sorted(shares, key=lambda group: -shares[group]))}

    def order(sample: Sample) -> tuple[int, int, int]:
        chosen = sample.chosen
        group = rank.get(chosen.groups[attribute], len(rank)) if chosen else -1
        return TELLING.index(sample.answer.kind), group, sample.query.index

    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("query", "answer", "letter", attribute, "options", "read as", "reply", "prompt"))
    for sample in sorted(samples, key=order)[:SHOWN]:
        chosen = sample.chosen
        said = sample.reply.text if sample.reply is not None else ""
        table.writerow(
            (
                sample.query.id,
                sample.answer.kind,
                chosen.letter if chosen else "",
                chosen.groups[attribute] if chosen else "",
                " ".join(f"{each.letter}={each.groups[attribute]}" for each in sample.query.choices),
                sample.answer.how,
                plain(said, REPLY_SHOWN),
                plain(sample.query.prompt, 2000),
            )
        )
    return text.getvalue()


def plain(text: str, most: int = 10_000) -> str:
    """Text as a reader may see it: markup inert, spreadsheet formulas inert, capped, control characters gone."""
    kept = text[:most]
    if not kept.replace("\n", "").replace("\t", "").isprintable():
        kept = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in kept)
    kept = kept.replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}").replace(
        ">", "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
    )
    guard = "'" if kept[:1] in ("=", "+", "-", "@") else ""
    return f"{guard}{kept}" + (f" … ({len(text):,} characters)" if len(text) > most else "")


def write_gates(directory: Path, report: Report) -> None:
    """Write each gate as a result of the suite "Gates", and the run's environment and categories."""
    logger = AllureFileLogger(str(directory))
    for result, body in _gate_results(report):
        if body is not None:
            name = f"{uuid4()}-attachment.txt"
            logger.report_attached_data(body, name)
            result.attachments.append(Attachment(name="report", source=name, type="text/plain"))
        logger.report_result(result)
    lines = {
        "Verdict": report.headline,
        "Model": report.subject,
        "Plan": report.plan,
        "Seed": str(report.seed),
        "Profiles": report.profiles,
        "Answer_key": report.key,
        "Data_version": report.data_version,
        "fairgate": report.version,
        "Ledger": report.ledger,
        "Note": NO_CERTIFICATE,
    }
    escaped = "".join(f"{_property(key)}={_property(value)}\n" for key, value in lines.items())
    (directory / "environment.properties").write_text(escaped, encoding="utf-8")
    (directory / "categories.json").write_text(CATEGORIES, encoding="utf-8")


CATEGORIES = """[
 {"name": "Findings: what the model did", "matchedStatuses": ["failed"]},
 {"name": "Inconclusive: too little to tell", "matchedStatuses": ["skipped"]},
 {"name": "Trouble: mend it and run again", "matchedStatuses": ["broken"]}
]
"""


def _property(text: str) -> str:
    return plain(text).replace("\\", "\\\\").replace("\n", " ").replace("=", "\\=").replace(":", "\\:")


def _gate_results(report: Report) -> Iterable[tuple[TestResult, str | None]]:
    status = STATUS.get(report.verdict, Status.BROKEN)
    whole = "\n".join(terminal.lines(report))
    yield _result("verdict", report.headline, status, report.trouble or report.headline, report), plain(whole, 100_000)
    sentences = {found.gate: found.sentence for found in report.findings}
    for gate in report.gates:
        reason = gate.reason if gate.waiver is not None else sentences.get(gate.name, gate.reason)
        message = f"{reason} (limit {wording.limit(gate)}: {gate.limit.reason})"
        yield _result(gate.name, _title(gate), STATUS[gate.verdict], message, report), None


def _title(gate: GateResult) -> str:
    entry = gate.entry
    return (
        f"{wording.short(entry)}: {wording.number(entry.estimate)} {wording.interval(entry)}, "
        f"limit {wording.limit(gate)}"
    )


def _result(name: str, title: str, status: str, message: str, report: Report) -> TestResult:
    full = f"gates#{name}"
    moment = now()
    return TestResult(
        uuid=uuid4(),
        name=title,
        fullName=full,
        # Stable across runs, so that Allure shows the gate's history.
        historyId=sha256(full.encode()).hexdigest(),
        testCaseId=sha256(full.encode()).hexdigest(),
        status=status,
        statusDetails=StatusDetails(message=plain(message)),
        description=f"Model: {plain(report.subject)}. {NO_CERTIFICATE}",
        stage="finished",
        start=moment,
        stop=moment,
        labels=[
            Label(name=LabelType.EPIC, value="Gates"),
            Label(name=LabelType.FEATURE, value=EPIC),
            Label(name=LabelType.PARENT_SUITE, value="Gates"),
            Label(name=LabelType.SUITE, value=EPIC),
            Label(name=LabelType.SEVERITY, value=Severity.BLOCKER.value),
            Label(name=LabelType.FRAMEWORK, value="fairgate"),
        ],
    )
