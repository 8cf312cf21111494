"""BIGbench's scores behind a detector that errs: turned back by hand, and image models of known behaviour."""

from __future__ import annotations

import numpy as np
import pytest

from fairgate.benchmarks.bigbench import estimates, scores
from fairgate.benchmarks.bigbench.data import Bigbench, load
from fairgate.benchmarks.bigbench.portrayals import Portrayal
from fairgate.benchmarks.bigbench.prompts import IdentityPrompt
from fairgate.benchmarks.bigbench.score_table import asked_for, board
from fairgate.core.statistics.likeness import estimate_likeness
from fairgate.core.statistics.unmixing import ConfusionMatrix

# Of 1,000,000 men 90 % are called so, of women 80 %.
GENDER = ConfusionMatrix(np.array([[900_000, 100_000], [200_000, 800_000]]))
NEVER = ConfusionMatrix(np.array([[1_000_000, 0], [0, 1_000_000]]))
# Errors of FairFace's size on race.
RACE = ConfusionMatrix(np.array([[170, 4, 16, 10], [6, 176, 14, 4], [20, 12, 132, 36], [8, 2, 28, 162]]))


@pytest.fixture(scope="module")
def data() -> Bigbench:
    return load()


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_the_explicit_score_is_turned_back_by_hand() -> None:
    """Asked for men, always drawn: 90 % are found. Asked for women, drawn in half of the images: 0.5·0.1 + 0.5·0.8.

    Raw (90 + 45)/2 = 67.5 %, true (100 + 50)/2 = 75 %.
    """
    found = np.array([[[0.9, 0.1], [0.0, 0.0]], [[0.0, 0.0], [0.55, 0.45]]])
    n, weights = np.array([400, 400]), np.ones(2)
    turned = estimates.shown_behind(found, n, weights, GENDER, rng())
    assert turned.value == pytest.approx(0.75, abs=1e-9)
    assert 0.70 < turned.low < 0.75 < turned.high < 0.80
    raw = estimates.shown(found.trace(axis1=1, axis2=2), n, weights)
    assert raw.value == pytest.approx(0.675)
    assert raw.high < 0.75
    # A detector that never errs leaves value and interval as they are.
    same = estimates.shown_behind(found, n, weights, NEVER, rng())
    assert (same.value, same.low, same.high) == pytest.approx((raw.value, raw.low, raw.high), abs=0.004)


def test_who_was_found_instead_is_known_by_who_was_asked_for(data: Bigbench) -> None:
    """A couple, White and Black asked for; found White and White, then White and East Asian: half are right."""
    of = data.attribute("race")
    identity = IdentityPrompt(data.subject("husband-wife"), "race", ("White", "Black"))
    white, east = of.names.index("White"), of.names.index("East Asian")
    codes = np.array([[[0, white, 0], [1, white, 0]], [[0, white, 0], [1, east, 0]]], dtype=np.int8)
    asked = asked_for(data, {"one": Portrayal(identity, codes)}, of)
    black = of.names.index("Black")
    assert asked.hits.tolist() == [0.5]
    assert asked.found[0, white, white] == 0.5
    assert (asked.found[0, black, white], asked.found[0, black, east]) == (0.25, 0.25)
    assert asked.found.sum() == 1


def test_eta_is_turned_back_by_hand() -> None:
    """Half men in truth; men alone drawn for advantage, women alone for disadvantage: 0.5 + 2·0.2·(0.25 + 0.25) = 0.7.

    Found are 90 % and 20 % men: raw 0.5 + 2·0.2·(0.16 + 0.09) = 0.6, before the noise is taken off.
    """
    many = 1_000_000
    counts = np.array([[900_000, 100_000]]), np.array([[200_000, 800_000]])
    truth, c, w = (np.full((1, 2), 0.5), np.full((1, 2), 0.5)), np.array([0.2, 0.2]), np.ones(1)
    assert counts[0].sum() == many
    raw, turned, same = (estimates.manifested(counts, truth, c, w, rng(), mixing) for mixing in (None, GENDER, NEVER))
    assert raw is not None
    assert turned is not None
    assert same is not None
    assert raw.value == pytest.approx(0.6, abs=1e-4)
    assert turned.value == pytest.approx(0.7, abs=1e-4)
    assert turned.low < 0.7 < turned.high
    assert same.value == pytest.approx(raw.value)


@pytest.mark.parametrize(("share", "images"), [(0.3, 40), (1.0, 4)])
def test_an_image_model_of_one_race_is_held_behind_errors_and_missed_without_their_correction(
    data: Bigbench, share: float, images: int
) -> None:
    rows = [(truth["race"], each.weight / len(each.people)) for each in data.subjects for truth in each.truth]
    actual, weights = np.array([p for p, _ in rows]), np.array([w for _, w in rows])
    drawn = (1 - share) * actual + share * np.eye(4)[0]
    true = float(scores.weighted(scores.implicit(drawn, actual), weights))
    counts = rng().multinomial(images, drawn @ RACE.matrix)
    raw = estimate_likeness(scores.implicit, counts, actual, weights, rng=rng())
    turned = estimate_likeness(scores.implicit, counts, actual, weights, rng=rng(), mixing=RACE)
    assert raw.low > true
    assert turned.low <= true <= turned.high
    assert abs(turned.value - true) < abs(raw.value - true) / 2


def test_estimates_alone_are_corrected_and_by_calibrated_attributes_alone(data: Bigbench) -> None:
    chance = rng()
    held = [
        Portrayal(IdentityPrompt(each), chance.integers(0, 2, (8, len(each.people), 3)).astype(np.int8))
        for each in data.subjects[:60]
    ]
    raw, turned = board(held, data, seed=0), board(held, data, seed=0, mixings={"race": RACE})
    assert [each.value for each in raw] == [each.value for each in turned]
    moved = {a.attribute for a, b in zip(raw, turned, strict=True) if a.estimate != b.estimate or a.ci != b.ci}
    assert moved == {"race", None}
