"""Asked for somebody of a group, the model draws somebody of that group.

How often it does is judged over all families by the gates on S_explicit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.bigbench.conftest import ImageCounts


def test_explicit(case_id: str, identities: ImageCounts) -> None:
    """There are people whose group can be told."""
    del case_id
    identities.must_be_seen()
