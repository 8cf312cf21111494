"""The answers of a case: waited for, counted, and attached to the report."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.case_summary import answer_told
from fairgate.benchmarks.fact_or_fair.case_test import claims, claims_of_faces, evenness, finding, refuted
from fairgate.benchmarks.fact_or_fair.cases import BENCHMARK, StatisticCase
from fairgate.benchmarks.fact_or_fair.effect_scores import choices_of_topic
from fairgate.core.domain import AnswerKind, Modality
from fairgate.core.errors import ClaimRefuted, Unsampled
from fairgate.ledger.images import ImageStore
from fairgate.reports.allure_results import FACES
from fairgate.reports.image_evidence import ImageEvidence
from fixtures.shown import EXHIBIT, Exhibit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairgate.benchmarks.fact_or_fair.faces_tally import FacesTally
    from fairgate.benchmarks.fact_or_fair.images import FactOrFairImages
    from fairgate.benchmarks.fact_or_fair.specs import CaseMargins
    from fairgate.benchmarks.fact_or_fair.text import FactOrFairText
    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.core.statistics.exact_tests import Claim
    from fairgate.providers.faces.image_steps import Seen
    from fairgate.runs.run import Run
    from fairgate.runs.session import RunSession

    # What a case's answers refute at a level of its test, in words; None where chance alone explains them.
    Refuted = Callable[[float], str | None]


@dataclass(frozen=True)
class Answers:
    """A case's answers by group, and what they may be held against.

    `alpha` is this case's part of the level that all cases of the whole plan share, whatever part of them was selected:
    the larger, the more of them fail.
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
        """Raise ClaimRefuted where chance does not explain the choices, or faces.

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
        _wait(run_session, case)
    except Unsampled as lack:
        # Said once, by the run's verdict, which is an error then; a case without samples is merely undecided.
        pytest.skip(str(lack))
    run = run_session.run
    found = _in_text(run_session, case) if case.topic.modality is Modality.TEXT else _in_images(run, case)
    request.node.stash[EXHIBIT] = found
    limits = run.thresholds.cases.of(BENCHMARK)
    if not _has_claims(run, case):
        return Answers(found.counts, limits, run.case_alpha(case))
    claimed: Mapping[StatisticCase, Sequence[Claim]] = request.getfixturevalue("claimed")
    chances = [(each, min((claim.p for claim in tested), default=1.0)) for each, tested in claimed.items()]
    dataset = run.benchmarks.of(case.topic).dataset  # type: ignore[attr-defined] # as the case says
    refutes = partial(refuted, claimed.get(case) or _claims(run_session, case, {}), case, dataset, limits)
    return Answers(found.counts, limits, run_session.run.case_alpha(case, chances), refutes)


@pytest.fixture(scope="session")
def claimed(request: pytest.FixtureRequest, run_session: RunSession) -> Mapping[StatisticCase, Sequence[Claim]]:
    """What all selected cases that can fail test, as soon as the samples of all of them are in the ledger.

    How many p-values are small says at which level each is judged. A case whose samples are missing tests nothing.
    """
    found: dict[StatisticCase, Sequence[Claim]] = {}
    faces: dict[StatisticTopic, FacesTally] = {}
    for case in map(run_session.run.case_of, (item.nodeid for item in request.session.items)):
        if isinstance(case, StatisticCase) and _has_claims(run_session.run, case):
            with suppress(Unsampled):
                _wait(run_session, case)
                found[case] = _claims(run_session, case, faces)
    return found


def _has_claims(run: Run, case: StatisticCase) -> bool:
    benchmark = run.benchmarks.of(case.topic)
    return benchmark.decides(case) and benchmark.read_from is None


def _wait(session: RunSession, case: StatisticCase) -> None:
    """Wait for the samples of a case. Raises Unsampled where too many are missing."""
    if session.run.benchmarks.of(case.topic).read_from is None:
        wait = session.wait_until_answered if case.topic.modality is Modality.TEXT else session.wait_for
        for topic in case.topics:
            wait(topic)


def _claims(session: RunSession, case: StatisticCase, faces: dict[StatisticTopic, FacesTally]) -> tuple[Claim, ...]:
    """What a case tests of the choices of both levels, or of its images; `faces` are kept for a topic's other cases."""
    run = session.run
    limits = run.thresholds.cases.of(BENCHMARK)
    if case.topic.modality is Modality.IMAGE:
        images: FactOrFairImages = run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
        if case.topic not in faces:
            faces[case.topic] = images.count(case.topic, _portraits(run, case))
        return claims_of_faces(case, faces[case.topic], images.dataset, limits)
    benchmark: FactOrFairText = run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    context, dataset = case.topic.context, benchmark.dataset
    if context is None:
        return ()
    tallies = {topic: benchmark.count(topic, partial(session.wait_for, topic))[0] for topic in case.topics}
    choices = choices_of_topic(tallies, dataset, context, benchmark.plan.wordings, case.topic.statistic)
    return claims(case, choices, dataset, limits)


def _portraits(run: Run, case: StatisticCase) -> list[Seen]:
    benchmark: FactOrFairImages = run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    with run.participants.stored() as reply:
        return [portrait for portrait, _ in benchmark.seen(case.topic, reply)]


def _in_text(session: RunSession, case: StatisticCase) -> Exhibit:
    benchmark: FactOrFairText = session.run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    answer = answer_told(case, benchmark.dataset)
    if benchmark.read_from is not None:
        return Exhibit(tuple, benchmark.shares(case, tuple), case.attribute, answer=answer)
    read = partial(session.wait_for, case.topic)
    kinds = benchmark.count(case.topic, read)[0].kinds
    rest = {str(kind): kinds[kind] for kind in AnswerKind if kind is not AnswerKind.CHOSEN}
    return Exhibit(read, benchmark.shares(case, read), case.attribute, rest, answer)


def _in_images(run: Run, case: StatisticCase) -> Exhibit:
    benchmark: FactOrFairImages = run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    answer = answer_told(case, benchmark.dataset)
    held = benchmark.shares(case)
    if held is not None:
        return Exhibit(tuple, held, case.attribute, answer=answer)
    portraits = _portraits(run, case)
    faces = benchmark.count(case.topic, portraits)
    picked = faces.by(case.attribute)
    shares = {group: picked[group] for group in benchmark.dataset.attribute(case.attribute).names}
    rest = Counter(str(each.kind) for each in portraits if each.kind is not AnswerKind.CHOSEN)
    images = [benchmark.drawn(each) for each in portraits]
    evidence = ImageEvidence(images, case.attribute, tuple(shares), ImageStore(run.settings.ledger))
    found = Exhibit(tuple, shares, case.attribute, rest, answer)
    return replace(found, drawn=FACES, images=evidence) if images else found
