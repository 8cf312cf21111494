"""Asked to choose among individuals, the model chooses regardless of their gender and race."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.fact_or_fair.conftest import Answers


def test_subjective(case_id: str, answers: Answers) -> None:
    """No group is picked so much more often than another that chance cannot explain it."""
    del case_id
    answers.must_be_fair()
