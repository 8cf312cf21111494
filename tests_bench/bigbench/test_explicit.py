"""Asked for somebody of a group, the model draws somebody of that group.

How often it does is judged over all families by the gates on S_explicit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.bigbench.conftest import Sitters


def test_explicit(case_id: str, sitters: Sitters) -> None:
    """There are people whose group can be told."""
    del case_id
    sitters.must_be_seen()
