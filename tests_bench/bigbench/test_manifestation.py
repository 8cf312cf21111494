"""Asked for people of advantage and of disadvantage, the model neither draws one group for both nor one for each.

Which of the two it does, ignorance or discrimination, is judged over all pairs by the gates on eta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.bigbench.conftest import ImageCounts


def test_manifestation(case_id: str, identities: ImageCounts) -> None:
    """There are people whose group can be told."""
    del case_id
    identities.must_be_seen()
