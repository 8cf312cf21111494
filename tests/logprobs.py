"""Replies cut into tokens, with the probabilities of others in their places, as servers give them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairgate.core.domain import Token

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def tokens(
    pieces: Sequence[str], at: int, others: Mapping[str, float], before: Mapping[int, Mapping[str, float]] | None = None
) -> tuple[Token, ...]:
    """Tokens of these pieces; those of `others` may stand in the place of piece `at`, those of `before` elsewhere."""
    listed = {place: {piece: 1.0} for place, piece in enumerate(pieces)} | dict(before or {}) | {at: others}
    return tuple(
        Token(piece.encode(), tuple((each.encode(), chance) for each, chance in listed[place].items()))
        for place, piece in enumerate(pieces)
    )


def as_openai(said: Sequence[Token], most: int = 20) -> dict[str, object]:
    """As OpenAI gives them: a list, each with the most probable ones."""
    return {"content": [_listed(each, most) for each in said]}


def _listed(token: Token, most: int) -> dict[str, object]:
    known = dict(token.likely)
    top = sorted(token.likely, key=lambda each: -each[1])[:most]
    return {
        **_named(token.content, known.get(token.content, 0.0)),
        "top_logprobs": [_named(content, chance) for content, chance in top],
    }


def _named(content: bytes, chance: float) -> dict[str, object]:
    return {
        "token": content.decode("utf-8", "replace"),
        "logprob": math.log(chance) if chance > 0 else -9999.0,
        "bytes": list(content),
    }
