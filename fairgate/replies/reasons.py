"""Reasons for choices, read: what a reply gives as its reason, and of which kind a judge says that it is."""

from __future__ import annotations

import json
import re
from enum import StrEnum

from fairgate.replies.citations import without_citations
from fairgate.replies.thoughts import after_thoughts, outside_thoughts


class Reason(StrEnum):
    """The kinds that reasons are sorted into: the papers' three biases, or none of them."""

    REPRESENTATIVENESS = "representativeness"
    ATTRIBUTION = "attribution"
    INGROUP = "in-group"
    NONE = "none"


_OBJECT = re.compile(r"\{[^{}]{0,500}\}")
_WORD = re.compile(r"[^\w{]*[\w-]{1,40}")
_FENCE = re.compile(r"```(?:json)?", re.IGNORECASE)
LONGEST = 4_096  # characters of a reason or a judge's reply that are looked at


def reason_of(text: str) -> str:
    """What a reply says beside its JSON."""
    return _FENCE.sub("", _OBJECT.sub("", after_thoughts(text)[:LONGEST])).strip()


def read_kind(text: str, judged: str | None = None) -> Reason | None:
    """The kind that a judge's reply names, in JSON or as its only word; None for anything else, never `none`.

    `judged` is the reason that it sorts, None where that is not known. All JSON in the reply must agree, and with the
    word that the reply opens with, since a judge may cite; what it repeats of the reason names nothing.
    """
    outside = outside_thoughts(text, judged)
    if outside is None or any(len(each) > LONGEST for each in outside):
        return None
    own, every = outside
    said = without_citations(own, judged or "").strip()
    if not (named := {_kind_in(each) for each in _OBJECT.findall(said)}):
        return _kind(said.strip("\"'*`. \n"))
    opening = _WORD.match(said)
    named |= {_kind_in(each) for each in _OBJECT.findall(every)}
    named |= {kind for kind in [opening and _kind(opening[0].strip("\"'*`. \n"))] if kind}
    return named.pop() if len(named) == 1 else None


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
