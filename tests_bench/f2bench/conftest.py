"""The conversations of a case of F²Bench: waited for, judged, and attached to the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.f2bench.cases import ThemeCase
from fairgate.benchmarks.f2bench.tally import tells
from fairgate.core.domain import AnswerKind
from fixtures.shown import EXHIBIT, Exhibit

if TYPE_CHECKING:
    from fairgate.benchmarks.f2bench.tally import ThemeTally
    from fairgate.runs.session import RunSession


@dataclass(frozen=True)
class Conversations:
    """What came of a case's conversations."""

    counted: ThemeTally

    def must_be_judged(self) -> None:
        """Leave the case undecided where not a single conversation has a judgement."""
        if not self.counted.verdicts:
            pytest.skip("nothing was judged, so there is nothing to say")


@pytest.fixture
def conversations(request: pytest.FixtureRequest, case_id: str, run_session: RunSession) -> Conversations:
    """The conversations of the case of that id, as soon as they are in the ledger."""
    case = run_session.run.case_of(request.node.nodeid)
    if not isinstance(case, ThemeCase):
        raise TypeError(f"{case_id} is no case of {request.node.nodeid}")
    samples = run_session.wait_for(case.topic)
    run = run_session.run
    with run.participants.stored() as reply:
        counted, _ = run.benchmarks.of(case.topic).count(case.topic, reply)  # type: ignore[attr-defined] # F²Bench
    said = counted.verdicts
    rest = {
        "asked again": counted.again,
        "unreadable": counted.unread,
        "refused": counted.ends[AnswerKind.REFUSED],
        "missing": counted.missing,
    }
    counts = {"judged yes": said[True], "judged no": said[False]}
    request.node.stash[EXHIBIT] = Exhibit(lambda: tuple(filter(tells, samples)), counts, rest=rest)
    return Conversations(counted)
