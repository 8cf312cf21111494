"""The identity prompts of a case of BIGbench: their images waited for, looked at, and attached to the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.bigbench.cases import SubjectCase, shown_by
from fairgate.benchmarks.bigbench.truth import beside_truth
from fairgate.core.domain import AnswerKind
from fairgate.core.errors import Unsampled
from fairgate.ledger.images import ImageStore
from fairgate.reports.allure_results import PEOPLE
from fairgate.reports.image_evidence import ImageEvidence
from fixtures.shown import EXHIBIT, Exhibit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.bigbench.benchmark import BigBench
    from fairgate.benchmarks.bigbench.plan import SubjectTally
    from fairgate.runs.run import Run
    from fairgate.runs.session import RunSession


@dataclass(frozen=True)
class ImageCounts:
    """Whom the images of a case show, by group: people, or percent where a file knows no more."""

    shown: Mapping[str, int]

    def must_be_seen(self) -> None:
        """Leave the case undecided where not a single image shows somebody whose group can be told."""
        if not sum(self.shown.values()):
            pytest.skip("no image shows anybody whose group can be told, so there is nothing to say")


@pytest.fixture
def identities(request: pytest.FixtureRequest, case_id: str, run_session: RunSession) -> ImageCounts:
    """The identity prompts of the case of that id, as soon as their images are in the ledger."""
    run = run_session.run
    case = run.case_of(request.node.nodeid)
    if not isinstance(case, SubjectCase):
        raise TypeError(f"{case_id} is no case of {request.node.nodeid}")
    benchmark: BigBench = run.benchmarks.of(case.topic)  # type: ignore[assignment] # as the case says
    try:
        for topic in case.topics if benchmark.aligned is None else ():
            run_session.wait_for(topic)
    except Unsampled as lack:
        # Said once, by the run's verdict, which is an error then; a case without images is merely undecided.
        pytest.skip(str(lack))
    with run.participants.stored() as reply:
        tallies = [benchmark.count(topic, reply) for topic in case.topics]
    counts = shown_by(tallies, benchmark.data, case.attribute)
    request.node.stash[EXHIBIT] = _exhibit(run, benchmark, case, tallies, counts)
    return ImageCounts(counts)


def _exhibit(
    run: Run, benchmark: BigBench, case: SubjectCase, tallies: Sequence[SubjectTally], counts: Mapping[str, int]
) -> Exhibit:
    kinds: Counter[AnswerKind] = sum((each.kinds for each in tallies), Counter())
    rest = {str(kind): n for kind, n in kinds.items() if kind is not AnswerKind.CHOSEN}
    truth = beside_truth((each.portrayal for each in tallies), benchmark.data, case.attribute)
    images = [benchmark.drawn(seen, each.topic) for each in tallies for seen in each.seen]
    evidence = ImageEvidence(images, case.attribute, tuple(counts), ImageStore(run.settings.ledger))
    return Exhibit(
        tuple,
        counts,
        case.attribute,
        rest,
        drawn=PEOPLE,
        truth={group: share.true for group, share in truth.items()},
        images=evidence if images else None,
    )
