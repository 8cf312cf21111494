"""The answers of a case: waited for, counted, and attached to the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.case_summary import answer_told
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK, StatisticCase
from fairgate.benchmarks.fact_or_fair.effect_scores import choices_of_topic
from fairgate.benchmarks.fact_or_fair.verdict import claims, claims_of_faces, evenness, finding, refuted
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.errors import ClaimRefuted, Unsampled
from fairgate.ledger.images import ImageStore
from fairgate.reports.allure_results import FACES
from fairgate.reports.image_evidence import ImageEvidence
from fixtures.shown import EXHIBIT, Exhibit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fairgate.benchmarks.fact_or_fair.images import FactOrFairImages
    from fairgate.benchmarks.fact_or_fair.specs import CaseMargins
    from fairgate.benchmarks.fact_or_fair.text import FactOrFairText
    from fairgate.runs.run import Run
    from fairgate.runs.session import RunSession

    # What a case's answers refute at a level of its test, in words; None where chance alone explains them.
    Refuted = Callable[[float], str | None]


@dataclass(frozen=True)
class Answers:
    """A case's answers by group, and what they may be held against.

    `alpha` is this case's part of the level that all cases of the whole plan share, whatever part of them was selected.
    `refuted` says what the choices of both levels, or the images, refute; None of stored shares.
    """

    shares: Mapping[str, int]
    limits: CaseMargins
    alpha: float
    refuted: Refuted | None = None

    def must_be_there(self) -> None:
        """Leave the case undecided where not a single answer names a group."""
        if not any(self.shares.values()):
            pytest.skip("nothing was answered, so there is nothing to judge")

    def must_be_fair(self) -> None:
        """Raise Finding where chance does not explain the choices, or faces.

        Of stored shares, even the most even distribution that the answers allow must be beyond the limits.
        """
        self.must_be_there()
        if self.refuted is not None:
            said = self.refuted(self.alpha)
            if said is not None:
                raise ClaimRefuted(said)
            return
        found = finding(evenness(self.shares, self.alpha), self.limits)
        if found is not None:
            raise ClaimRefuted(found)


@pytest.fixture
def answers(request: pytest.FixtureRequest, case_id: str, run_session: RunSession) -> Answers:
    """The answers of the case of that id, as soon as they are in the ledger."""
    case = run_session.run.case_of(request.node.nodeid)
    if not isinstance(case, StatisticCase):
        raise TypeError(f"{case_id} is no case of {request.node.nodeid}")
    try:
        if run_session.run.benchmarks.of(case.topic).read_from is None:
            in_text = case.topic.modality is Modality.TEXT
            wait = run_session.wait_until_answered if in_text else run_session.wait_for
            for topic in case.topics:
                wait(topic)
    except Unsampled as lack:
        # Said once, by the run's verdict, which is trouble then; a case without samples is merely undecided.
        pytest.skip(str(lack))
    run = run_session.run
    found, refutes = _in_text(run_session, case) if case.topic.modality is Modality.TEXT else _in_images(run, case)
    request.node.stash[EXHIBIT] = found
    return Answers(found.counts, run.thresholds.cases.of(BENCHMARK), run.case_alpha(case), refutes)


def _refuted(session: RunSession, case: StatisticCase) -> Refuted | None:
    """What the choices of both levels refute; None of stored shares."""
    benchmark: FactOrFairText = session.run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    if benchmark.read_from is not None or case.topic.context is None:
        return None
    context, limits = case.topic.context, session.run.thresholds.cases.of(BENCHMARK)
    tallies = {topic: benchmark.count(topic, partial(session.wait_for, topic))[0] for topic in case.topics}

    def refutes(alpha: float) -> str | None:
        slug, dataset = case.topic.statistic, benchmark.dataset
        choices = choices_of_topic(tallies, dataset, context, benchmark.plan.wordings, slug)
        return refuted(claims(case, choices, dataset, limits), case, dataset, limits, alpha)

    return refutes


def _in_text(session: RunSession, case: StatisticCase) -> tuple[Exhibit, Refuted | None]:
    benchmark: FactOrFairText = session.run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    answer = answer_told(case, benchmark.dataset)
    if benchmark.read_from is not None:
        return Exhibit(tuple, benchmark.shares(case, tuple), case.attribute, answer=answer), None
    read = partial(session.wait_for, case.topic)
    kinds = benchmark.count(case.topic, read)[0].kinds
    rest = {str(kind): kinds[kind] for kind in AnswerKind if kind is not AnswerKind.CHOSEN}
    return Exhibit(read, benchmark.shares(case, read), case.attribute, rest, answer), _refuted(session, case)


def _in_images(run: Run, case: StatisticCase) -> tuple[Exhibit, Refuted | None]:
    benchmark: FactOrFairImages = run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    answer = answer_told(case, benchmark.dataset)
    held = benchmark.shares(case)
    if held is not None:
        return Exhibit(tuple, held, case.attribute, answer=answer), None
    with run.participants.stored() as reply:
        portraits = [portrait for portrait, _ in benchmark.seen(case.topic, reply)]
    faces = benchmark.count(case.topic, portraits)
    picked = faces.by(case.attribute)
    shares = {group: picked[group] for group in benchmark.dataset.attribute(case.attribute).names}
    rest = Counter(str(each.kind) for each in portraits if each.kind is not AnswerKind.CHOSEN)
    images = [benchmark.drawn(each) for each in portraits]
    evidence = ImageEvidence(images, case.attribute, tuple(shares), ImageStore(run.settings.ledger))
    found = Exhibit(tuple, shares, case.attribute, rest, answer)

    def refutes(alpha: float) -> str | None:
        limits = run.thresholds.cases.of(BENCHMARK)
        return refuted(claims_of_faces(case, faces, benchmark.dataset, limits), case, benchmark.dataset, limits, alpha)

    return replace(found, drawn=FACES, images=evidence) if images else found, refutes
