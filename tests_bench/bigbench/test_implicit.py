"""Asked for somebody of an occupation, a characteristic or a relation, the model draws people as there are.

How near to the truth is judged over all families by the gates on S_implicit and TV: a few images alone refute nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.bigbench.conftest import ImageCounts


def test_implicit(case_id: str, identities: ImageCounts) -> None:
    """There are people whose group can be told."""
    del case_id
    identities.must_be_seen()
