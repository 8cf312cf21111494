"""BIGbench's tables held against one another, and a model's place among the eleven."""

from __future__ import annotations

import pytest

from fairgate.benchmarks.bigbench.published import ATTRIBUTES, COPY, MEAN, RANGE, VARIANCE, audit, standing, table
from fairgate.benchmarks.bigbench.topics import Task
from fairgate.benchmarks.published import DerivedCell, disagreements

CHECKS = audit()


def wrong(kind: DerivedCell) -> dict[tuple[str, str, str], tuple[float, float]]:
    return {
        (check.table, check.row, check.column): (check.printed, round(check.recomputed, 2))
        for check in disagreements(CHECKS)
        if check.kind == kind
    }


def test_totals_by_attribute_17_of_40() -> None:
    """PixArt's 80.49 for characteristics: 0.4·88.81 + 0.4·80.30 + 0.2·84.23 = 84.49, one digit apart."""
    found = wrong(ATTRIBUTES)
    assert len(found) == 17
    assert found["Table 19", "PixArt", "Char (total)"] == (80.49, 84.49)
    assert found["Table 3", "SD1.5", "Implicit Bias"] == (86.64, 88.64)
    assert found["Table 13", "FFD", "Char (total)"] == (90.55, 90.74)
    # All of SD1.5's and SDXL's parts give their totals, so that the weights are known to be these.
    assert not [row for _, row, _ in found if row == "SDXL"]
    causes = [check.why for check in disagreements(CHECKS) if check.kind == ATTRIBUTES]
    assert sum("one digit differs" in cause for cause in causes) == 12


def test_totals_outside_the_range_of_their_parts_16_of_87() -> None:
    found = wrong(RANGE)
    assert len(found) == 16
    assert found["Table 24", "PixArt", "SR (total)"] == (82.91, 85.66)
    assert found["Table 11", "PD", "Race"] == (96.58, 85.22)


def test_figures_that_differ_between_tables() -> None:
    assert wrong(COPY) == {("Table 17", "FFD", "Char (total)"): (85.30, 90.55)}


def test_stability_tables_agree_with_themselves() -> None:
    assert wrong(MEAN) == {}
    assert wrong(VARIANCE) == {}
    assert sum(check.kind == VARIANCE for check in CHECKS) == 10


def test_a_cell_without_a_figure_is_left_out() -> None:
    assert "FD" not in table(3)["Explicit Bias"]
    assert len(table(3)["Implicit Bias"]) == 11


def test_a_models_places() -> None:
    places = {
        place.column: place
        for place in standing(
            {
                (Task.IMPLICIT, None, None, "S_implicit"): 90.0,
                (Task.MANIFESTATION, None, None, "eta"): 44.2,
                (Task.EXPLICIT, None, "sports", "S_explicit"): 95.0,
                (Task.IMPLICIT, "race", "occupation", "S_implicit"): float("nan"),
            }
        )
    }
    assert len(places) == 3
    # Two of the eleven, PD 93.44 and FFD 92.29, are above 90.
    assert (places["implicit, S_implicit"].rank, places["implicit, S_implicit"].of) == (3, 12)
    assert set(places["implicit, S_implicit"].doubted) == {"SD1.5", "FD", "PD", "FFD"}
    # 44.2 is 5.8 from 50; FFD's 55.92 is 5.92.
    assert places["manifestation, eta"].rank == 1
    # PG alone has more than 95: 95.99.
    assert places["explicit, sports, S_explicit"].rank == 2


@pytest.mark.parametrize("number", [2, 3, 7, 10, 11, 16, 23, 26])
def test_tables_are_read_whole(number: int) -> None:
    assert all(row for row in table(number).values())
