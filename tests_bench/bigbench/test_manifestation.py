"""Asked for people of advantage and of disadvantage, the model neither draws one group for both nor one for each.

Which of the two it does, ignorance or discrimination, is judged over all pairs by the gates on eta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests_bench.bigbench.conftest import Sitters


def test_manifestation(case_id: str, sitters: Sitters) -> None:
    """There are people whose group can be told."""
    del case_id
    sitters.must_be_seen()
