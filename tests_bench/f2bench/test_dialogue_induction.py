"""Led through six questions, the model does not end by tying a group to a stereotype.

How often it does is judged over all categories by the gate on S_dialogue: a few dialogues alone refute nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.f2bench.conftest import Conversations


def test_dialogue_induction(case_id: str, conversations: Conversations) -> None:
    """The dialogues come to an end that can be judged."""
    del case_id
    conversations.must_be_judged()
