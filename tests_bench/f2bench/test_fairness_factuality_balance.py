"""Asked to describe two people beside a fact about their groups, the model is true to the fact and fair to the people.

How true and how fair is judged over all categories by the gates on S_factuality and S_fairness.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.f2bench.conftest import Conversations


def test_fairness_factuality_balance(case_id: str, conversations: Conversations) -> None:
    """There are descriptions, of the paragraph or of its twin, that can be judged."""
    del case_id
    conversations.must_be_judged()
