"""What a reader of Fact-or-Fair's scores must know, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fairgate.benchmarks.base import MISSING_SHOWN
from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS
from fairgate.benchmarks.fact_or_fair.score_table import TASKS
from fairgate.benchmarks.fact_or_fair.topics import Task
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.statistics.special import chdtrc

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fairgate.benchmarks.fact_or_fair.cases import StatisticCase
    from fairgate.benchmarks.fact_or_fair.data import Dataset
    from fairgate.benchmarks.fact_or_fair.explain import ReasonTally
    from fairgate.benchmarks.fact_or_fair.faces_tally import FacesTally
    from fairgate.benchmarks.fact_or_fair.live_counts import Served
    from fairgate.benchmarks.fact_or_fair.results import ResultFolder
    from fairgate.benchmarks.fact_or_fair.tally import Tallies, TopicTally
    from fairgate.core.domain import Identity

# Of a model that picks letters by chance, one run in a thousand is said to follow position.
POSITION_ALPHA = 0.001


def of_folder(folder: ResultFolder) -> Iterator[str]:
    """What a result folder does not say."""
    yield from folder.notes
    yield (
        f"results/{folder.model} does not record what was unreadable or failed, and refusals of objective text queries"
        " alone: the other rates are unknown, and have no gates. Its answers, or faces, are taken as independent."
    )
    if folder.missing:
        first = "; ".join(folder.missing[:MISSING_SHOWN])
        more = f"; and {len(folder.missing) - MISSING_SHOWN} more" if len(folder.missing) > MISSING_SHOWN else ""
        yield f"results/{folder.model} lacks {first}{more}."


def of_answers(source: Tallies[TopicTally], served: Served) -> Iterator[str]:
    """Whether letters are followed, and whether the server changed."""
    for task in OWN_TASKS:
        note = _position(task, source.of(task))
        if note is not None:
            yield note
    if len(served) > 1:
        yield f"The server changed in mid-run: {_first(_server(*each) for each in sorted(served, key=str))}."


def _first(names: Iterable[str]) -> str:
    """The first of these names, and how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - MISSING_SHOWN:,} more" if len(listed) > MISSING_SHOWN else ""
    return ", ".join(listed[:MISSING_SHOWN]) + more


def _server(model: str | None, fingerprint: str | None) -> str:
    return f"{model or 'unnamed'} ({fingerprint or 'no fingerprint'})"


def _position(task: Task, tallies: Iterable[TopicTally]) -> str | None:
    """Whether letters are picked by position: groups and profiles are shuffled, so every letter is equally likely."""
    letters: Counter[str] = Counter()
    expected: dict[str, float] = {}
    for counted in tallies:
        letters += counted.letters
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: counted.options]:
            expected[letter] = expected.get(letter, 0.0) + counted.answered / counted.options
    whole = letters.total()
    if not whole:
        return None
    chi_squared = sum((letters[letter] - even) ** 2 / even for letter, even in expected.items() if even > 0)
    p = float(chdtrc(max(len(expected) - 1, 1), chi_squared))
    if p >= POSITION_ALPHA:
        return None
    shares = ", ".join(f"{letter} {100 * letters[letter] / whole:.0f} %" for letter in sorted(expected))
    fair = ", ".join(f"{letter} {100 * expected[letter] / whole:.0f} %" for letter in sorted(expected))
    return (
        f"On {task} queries the model follows position: it picks {shares} (by chance: {fair}; chi-squared test, "
        f"p {'< 0.0001' if p < 0.0001 else f'= {p:.4f}'}). Its scores say less about groups than about letters."
    )


def of_faces(
    source: Tallies[FacesTally], detector: Identity, corrected: Collection[str], errors: Mapping[str, float]
) -> Iterator[str]:
    """What was read of how many faces, and how far that is to be trusted.

    `corrected`: the attributes whose estimates are corrected for the detector's errors; `errors`: by attribute its
    published error rate, 0 to 1.
    """
    kinds: Counter[AnswerKind] = sum((source.kinds(*cell) for cell in TASKS[Modality.IMAGE]), Counter())
    faces = sum(counted.picked.total() for counted in source.tallies.values())
    served = sorted({name for counted in source.tallies.values() for name in counted.served})
    on = f" ({_first(served)})" if served else ""
    yield (
        f"{faces:,} faces in {kinds[AnswerKind.CHOSEN]:,} of {kinds.total():,} images, read by {detector.label}{on}."
    )
    yield from _of_errors(source.dataset, corrected, errors)
    if detector.provider == "control":
        yield "The detector is a control: graphs that find the controls' own drawings, and say nothing of photographs."
    for attribute in source.dataset.attributes:
        known = sum(counted.by(attribute.name).total() for counted in source.tallies.values())
        if known < faces:
            yield f"Of {faces - known:,} faces the {attribute.name} is not known: they are left out of its scores."


def _of_errors(dataset: Dataset, correctable: Collection[str], errors: Mapping[str, float]) -> Iterator[str]:
    """Whether estimates are corrected for the detector's errors, by attribute."""
    names = [each.name for each in dataset.attributes]
    corrected = [name for name in names if name in correctable]
    raw = [name for name in names if name not in correctable]
    if corrected:
        yield (
            f"Estimates by {' and '.join(corrected)} are corrected for the detector's errors, as the calibration "
            "measured them on other faces; plug-in values are not."
        )
    if raw:
        rates = " and ".join(f"{100 * rate:.1f} % of {name}s" for name, rate in errors.items() if name in raw)
        known = (
            f" It is wrong on up to {rates}, as published: scores @error-low and @error-high say how far that could"
            " move them at most."
            if rates
            else " No error rate of this detector is published."
        )
        yield f"Detectors err: scores by {' and '.join(raw)} are uncorrected (--calibration).{known}"


def of_reasons(reasons: Iterable[ReasonTally]) -> Iterator[str]:
    """What the kinds of reasons are worth."""
    yield (
        "The kinds of reasons are the judge's sorting, and no judge is measured on reasons; their intervals take each "
        "reason as independent. Choices that were asked for with a reason are not comparable with those without."
    )
    again = sum(each.again for each in reasons)
    if again:
        yield f"{again:,} sortings of reasons could not be read and were asked for once more, beyond the plan."


def disputes(dataset: Dataset, selected: Iterable[StatisticCase]) -> Iterator[str]:
    """Of which objective cases the two keys disagree."""
    disputed, tied, lacking = [], [], []
    cases = [case for case in selected if case.topic.task is Task.OBJECTIVE]
    objective = {(case.topic.statistic, case.topic.level, case.attribute) for case in cases}
    for statistic in dataset.statistics:
        for (attribute, level), entry in statistic.key("measured").items():
            if (statistic.slug, level, attribute) in objective:
                name = f"{statistic.name} {level} by {attribute}"
                if entry.disputed:
                    disputed.append(name)
                elif entry.tied:
                    tied.append(name)
                elif entry.basis == "fallback":
                    lacking.append(name)
    if disputed:
        yield f"The measured values dispute the published answer of: {'; '.join(disputed)}."
    if lacking:
        yield f"No measured value may replace the published answer of: {'; '.join(lacking)}."
    if tied:
        yield f"The measured values cannot tell the answer from another group of: {'; '.join(tied)}."
