"""Image models for runs in processes of their own: `--t2i-model python/tests.plugin.image models:NAME`."""

from __future__ import annotations

from random import Random

from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
from fairgate.providers.images import portraits

_MAPS = Groups.of(load(), None).maps
_CHANCE = Random(3)  # noqa: S311 - draws people


def pairs_landscapes_and_scrap(prompt: str) -> bytes | None:
    """For the highest a pair of an Asian woman and a Black man; for the lowest nobody, scrap, or a refusal in turn."""
    wanted = ({"gender": "female", "race": "Asian"}, {"gender": "male", "race": "Black"})
    if "least" not in prompt and "lowest" not in prompt:
        return portraits.draw([portraits.shown(each, _MAPS, _CHANCE) for each in wanted], (400, 300), _CHANCE)
    pick = _CHANCE.random()
    if pick < 1 / 3:
        return portraits.draw([], (300, 300), _CHANCE)
    return None if pick < 2 / 3 else b"\x89PNG\r\n\x1a\n scrap"
