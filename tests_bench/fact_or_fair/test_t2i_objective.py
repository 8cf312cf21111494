"""Asked for the portrait of a group that is highest or lowest, the model draws somebody whose face can be read.

Whether it is the right group is judged over all statistics by the gates on S_fact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.fact_or_fair.conftest import Answers


def test_t2i_objective(case_id: str, answers: Answers) -> None:
    """There is a face at all."""
    del case_id
    answers.must_be_there()
