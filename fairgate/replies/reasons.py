"""Reasons for choices, read: what a reply gives as its reason, and of which kind a judge says that it is."""

from __future__ import annotations

import json
import re
from enum import StrEnum

from fairgate.replies.thoughts import after_thoughts


class Reason(StrEnum):
    """The kinds that reasons are sorted into: the papers' three biases, or none of them."""

    REPRESENTATIVENESS = "representativeness"
    ATTRIBUTION = "attribution"
    INGROUP = "in-group"
    NONE = "none"


_OBJECT = re.compile(r"\{[^{}]{0,500}\}")
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
LONGEST = 4_096  # characters of a reason or a judge's reply that are looked at


def reason_of(text: str) -> str:
    """What a reply says beside its JSON."""
    return _FENCE.sub("", _OBJECT.sub("", after_thoughts(text)[:LONGEST])).strip()


def read_kind(text: str) -> Reason | None:
    """The kind that a judge's reply names, in JSON or as its only word; None for anything else, never `none`."""
    said = after_thoughts(text).strip()
    if not said or len(said) > LONGEST or re.match(r"<(?:think|thinking|thought|reasoning)>", said, re.IGNORECASE):
        return None
    found = {_kind_in(each) for each in _OBJECT.findall(said)}
    if found:
        return found.pop() if len(found) == 1 else None
    return _kind(said.strip("\"'*`. \n"))


def _kind_in(text: str) -> Reason | None:
    try:
        held = json.loads(text)
    except ValueError:
        return None
    kind = held.get("kind")
    return _kind(kind) if set(held) == {"kind"} and isinstance(kind, str) else None


def _kind(word: str) -> Reason | None:
    word = word.strip().lower()
    return next((kind for kind in Reason if word in (kind, kind.replace("-", ""))), None)
