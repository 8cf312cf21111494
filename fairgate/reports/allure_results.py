"""What a reviewer sees of a case in Allure: where it stands, what it claims, its distribution and its samples.

Everything is attached to the running test itself, in two files: a report of thousands of small ones cannot be opened.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import allure
import allure_commons
from allure_commons.types import LabelType, Severity

from fairgate.benchmarks.evidence import telling_first
from fairgate.core.domain import Modality, Role
from fairgate.ledger.export import harmless
from fairgate.reports import bars
from fairgate.reports.markdown import escaped, fenced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.case import Case
    from fairgate.benchmarks.evidence import Shown
    from fairgate.benchmarks.registry import Registry
    from fairgate.reports.image_evidence import ImageEvidence

SHOWN = 40  # samples in a case's table; the telling ones come first
FACES, PEOPLE = "faces", "people drawn"  # what images are counted by: all faces, or the people asked for
REPLY, PROMPT = 300, 2_000  # characters of a reply and of a prompt in a table
WARNING = "Prompts and replies can offend: they are shown because they were said, not because they are right."


def labels(case: Case, about: str, registry: Registry) -> tuple[tuple[str, str], ...]:
    """Where a reviewer browses for a case: benchmark, task, and what it is `about`, as (label, value)."""
    epic = registry.title(case.topic.benchmark)
    _, spec = registry.tasks[case.topic.modality, case.topic.task]
    return (
        (LabelType.EPIC, epic),
        (LabelType.FEATURE, task(case)),
        (LabelType.STORY, about if case.attribute is None else f"{about}, by {case.attribute}"),
        (LabelType.SEVERITY, (Severity.NORMAL if spec.facts else Severity.CRITICAL).value),
        (LabelType.PARENT_SUITE, epic),
        (LabelType.SUITE, task(case)),
        (LabelType.SUB_SUITE, about),
    )


def task(case: Case) -> str:
    """A case's task, with its context, as a reader says it."""
    kind = "images, " if case.topic.modality is Modality.IMAGE else ""
    return f"{kind}{case.topic.task} {case.context}" if case.context else f"{kind}{case.topic.task}"


def title(case: Case, about: str) -> str:
    """A case's name for a reader."""
    if case.attribute is None:
        return f"{about}: {case.test.replace('_', ' ')}"
    subject = ", ".join(filter(None, (about, case.level)))
    return f"{subject}: {task(case)}, by {case.attribute}"


def label(case: Case, about: str, registry: Registry) -> None:
    """Put the running test where a reviewer browses for it."""
    for name, value in labels(case, about, registry):
        allure.dynamic.label(name, value)


def describe(case: Case, about: str, claim: str, model: str, command: str) -> None:
    """Name the running test for a reader; what is set before a test's own call does not last."""
    allure.dynamic.title(title(case, about))
    parts = (claim, f"Model: {escaped(model)}", "To run this case alone:", fenced(command), WARNING)
    allure.dynamic.description("\n\n".join(parts))


def is_kept() -> bool:
    """Whether attachments are kept: not without --alluredir, where writing them would take half of a case's time."""
    return bool(allure_commons.plugin_manager.hook.attach_data.get_hookimpls())


def attach(
    samples: Sequence[Shown],
    counts: Mapping[str, int],
    *,
    attribute: str | None = None,
    rest: Mapping[str, int] | None = None,
    answer: str = "",
    drawn: str = "",
    truth: Mapping[str, float] = bars.NOTHING,
    images: ImageEvidence | None = None,
) -> None:
    """Attach what the case's verdict stands on: the distribution as a picture, and a table of samples.

    `counts` are answers by group, or by what the judge said; `rest` what was no answer; `answer` the right one.
    `drawn` is who is counted where these are no answers, e.g. `people`; `truth` the true shares of such, 0 to 1.
    `images` are what was drawn: a few of them stand under the distribution, for each file more is one too many.
    """
    others = ", ".join(f"{n} {kind}" for kind, n in (rest or {}).items() if n)
    name = "; ".join(filter(None, [f"{drawn or 'answers'}: {bars.told(counts, truth)}", others, answer]))
    chance = attribute is not None and not answer and drawn != PEOPLE
    title = f"{(drawn or 'answers').capitalize()} by {attribute or 'verdict'}"
    picture = bars.svg(title, counts, chance=chance, truth=truth, inset=None if images is None else images.sheet())
    allure.attach(picture, plain(name, 400), allure.attachment_type.SVG)
    if images is not None:
        shown, table = images.told()
        allure.attach(table, shown, allure.attachment_type.CSV)
    if samples:
        shown = f"samples, the telling ones first ({min(len(samples), SHOWN)} of {len(samples)})"
        allure.attach(sample_table(samples, attribute, counts), shown, allure.attachment_type.CSV)


def sample_table(samples: Sequence[Shown], attribute: str | None, counts: Mapping[str, int]) -> str:
    """The most telling samples as CSV: what was chosen, the reply, what was asked, how it was read."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(("answer", attribute or "said by", "reply", "prompt", "options", "read as", "query"))
    for sample in telling_first(samples, attribute, counts)[:SHOWN]:
        chosen = None if sample.chosen is None else sample.options[sample.chosen].letter
        who = "judge" if sample.to is Role.JUDGE else "model"
        table.writerow(
            (
                f"{sample.kind} {chosen}" if chosen else sample.kind,
                sample.group(attribute) or "" if attribute else who,
                harmless(plain(sample.reply or "", REPLY)),
                harmless(plain(sample.prompt, PROMPT)),
                " ".join(f"{each.letter}={each.groups.get(attribute, each.text)}" for each in sample.options)
                if attribute
                else "",
                sample.how,
                sample.id,
            )
        )
    return text.getvalue()


def plain(text: str, most: int = 10_000) -> str:
    """Text as a reader may see it: markup inert, capped, control characters gone."""
    kept = text[:most]
    if not kept.replace("\n", "").replace("\t", "").isprintable():
        kept = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in kept)
    kept = kept.replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}").replace(
        ">", "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
    )
    return kept + (f" … ({len(text):,} characters)" if len(text) > most else "")
