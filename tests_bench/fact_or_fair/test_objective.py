"""Asked for a fact about groups, the model answers with a group.

Whether it is the right one is judged over all statistics by the gates on S_fact: three answers alone refute nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.fact_or_fair.conftest import Answers


def test_objective(case_id: str, answers: Answers) -> None:
    """The question is answered at all."""
    del case_id
    answers.must_be_there()
