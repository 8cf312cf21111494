"""The probabilities of tokens, as servers of OpenAI's chat completions give them, read without trust.

Two forms are known: a list of tokens, each with those that might have stood there (OpenAI, Azure, vLLM, llama.cpp,
Ollama), and columns of tokens and of tables (Together, as of the older text completions).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairgate.core.domain import Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# How many of the most probable tokens are asked for: the most that OpenAI, Azure and vLLM give.
MOST = 20
FIELDS = {"logprobs": True, "top_logprobs": MOST}
# OpenAI and vLLM write this in place of a number that they do not give.
UNKNOWN = -9999.0
ROUNDING = 1e-3  # above 0: servers round
LONGEST = 100_000  # tokens of one reply


def read_tokens(logprobs: object) -> tuple[Token, ...]:
    """The tokens of a reply; empty where the server gives none, or none that can be read."""
    if not isinstance(logprobs, dict):
        return ()
    content = logprobs.get("content")
    found = _listed(content) if isinstance(content, list) else _columns(logprobs)
    tokens = tuple(found)
    return tokens if all(each is not None for each in tokens) and len(tokens) <= LONGEST else ()  # type: ignore[return-value]


def _listed(content: Iterable[object]) -> Iterator[Token | None]:
    for each in content:
        if not isinstance(each, dict) or (said := _content(each)) is None:
            yield None
            continue
        others = each.get("top_logprobs")
        pairs = [(_content(other), other.get("logprob")) for other in _tables(others)]
        yield _token(said, each.get("logprob"), pairs)


def _columns(logprobs: dict[str, object]) -> Iterator[Token | None]:
    tokens, own, tops = (logprobs.get(key) for key in ("tokens", "token_logprobs", "top_logprobs"))
    if not isinstance(tokens, list):
        return
    for place, each in enumerate(tokens):
        if not isinstance(each, str):
            yield None
            continue
        top = tops[place] if isinstance(tops, list) and place < len(tops) else None
        pairs = [(_bytes(name), value) for name, value in top.items()] if isinstance(top, dict) else []
        yield _token(_bytes(each), own[place] if isinstance(own, list) and place < len(own) else None, pairs)


def _tables(others: object) -> Iterator[dict[str, object]]:
    yield from (each for each in (others if isinstance(others, list) else ()) if isinstance(each, dict))


def _token(content: bytes, own: object, others: Iterable[tuple[bytes | None, object]]) -> Token:
    """A token with those that are listed in its place. It is among them, where its own probability is known."""
    likely = [(each, chance) for each, value in others if each is not None and (chance := _chance(value)) is not None]
    chance = _chance(own)
    if chance is not None and all(each != content for each, _ in likely):
        likely.append((content, chance))
    return Token(content, tuple(likely))


def _content(token: dict[str, object]) -> bytes | None:
    """A token's bytes, where they are given: a part of a character has no text."""
    given = token.get("bytes")
    if isinstance(given, list) and given and all(type(each) is int and 0 <= each < 256 for each in given):
        return bytes(given)
    text = token.get("token")
    return _bytes(text) if isinstance(text, str) else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _chance(value: object) -> float | None:
    """A probability, None for what is no logarithm of one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return min(math.exp(value), 1.0) if UNKNOWN < value <= ROUNDING else None
