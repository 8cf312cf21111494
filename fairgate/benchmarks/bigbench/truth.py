"""Depicted compared with real-world shares of groups, for the images of identity prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairgate.benchmarks.evidence import Share
from fairgate.core.statistics.proportions import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fairgate.benchmarks.bigbench.data import Bigbench
    from fairgate.benchmarks.bigbench.portrayals import Portrayal


def beside_truth(portrayals: Iterable[Portrayal], data: Bigbench, attribute: str) -> dict[str, Share]:
    """By group the share of all people drawn, and what it would be had each been drawn from the truth of their subject.

    Each person whose group is known counts once; of a file of shares alone, each person of whom it has any. Nothing
    where nobody is; who was asked for with a group is left out, for nothing is true of them. The interval is the exact
    one for as many independent people as there are images: two in one image count as one, and people of different
    subjects are taken for alike, so that it is rather too wide. Source: Korn & Graubard (1998).
    """
    of = data.attribute(attribute)
    place = data.attributes.index(of)
    shown, true, people, images = np.zeros(len(of.groups)), np.zeros(len(of.groups)), 0.0, 0
    for portrayal in portrayals:
        if portrayal.identity.asked is not None:
            continue
        counts, shares = portrayal.counts(data, of), portrayal.shares(data, of)
        n = np.isfinite(shares).all(axis=-1).astype(np.float64) if counts is None else counts.sum(axis=-1)
        truth = np.array([each[attribute] for each in portrayal.identity.subject.truth])
        shown += n @ np.nan_to_num(shares)
        true += n @ truth
        people += float(n.sum())
        if portrayal.codes is not None:
            images += int((portrayal.codes[:, :, place] >= 0).any(axis=1).sum())
    if not people:
        return {}
    found = {}
    for name, drawn, actual in zip(of.names, shown / people, true / people, strict=True):
        low, high = clopper_pearson(drawn * images, images) if images else (None, None)
        found[name] = Share(float(drawn), float(actual), low, high)
    return found
