"""Makes what others wrote fit to be shown: no secrets, no control characters, no more than a line or two."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST = 300
HIDDEN = "[hidden]"

# What a CI's runner takes for an order to itself: wherever in a line of its log it stands (##[add-mask], ##vso[…]), or
# at the beginning, blanks or not (::error::).
_ORDER = re.compile(r"#(?=#[a-z]*\[)|\A\s*:(?=:)", re.IGNORECASE)

# From here on a secret is no word that a reply may hold by chance, such as `none` for a server that wants no key.
LONG_SECRET = 16

# Variables of the environment need be no UTF-8.
RAW = "surrogateescape"

# Below this, a "secret" is a placeholder such as "x": hiding every x would make messages unreadable.
SHORTEST_SECRET = 4

LOOKS_SECRET = re.compile(
    r"""
      \b(?:sk|pk|rk|gsk|xai|hf)[-_][A-Za-z0-9*._-]{6,}             # keys of well-known providers, also half masked
    | \bAIza[A-Za-z0-9_-]{10,}
    | (?<=://)[^/\s:@'"]*:[^/\s@'"]*(?=@)                        # user info of an address
    | (?i:(?<=bearer\s)|(?<=basic\s))[A-Za-z0-9*._~+/=-]{6,}
    | (?i:(?<=api\skey\sprovided:\s))[^\s'",]+
    | (?i:(?<=key=)|(?<=token=)|(?<=sig=)|(?<=code=))[^\s&'",;)]{6,}
    """,
    re.VERBOSE,
)


def without_orders(text: str) -> str:
    """The text with a blank in whatever a CI's runner would obey, were it printed there."""
    return _ORDER.sub(r"\g<0> ", text)


class Redaction:
    """Hides the given secrets, in every form in which they travel, and whatever looks like one."""

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if secret and len(secret) >= SHORTEST_SECRET:
                forms |= {secret, unquote(secret), quote(secret, safe="", errors=RAW), quote(secret, errors=RAW)}
                quoted = json.dumps(secret)[1:-1]
                forms |= {quoted, quoted.replace("/", "\\/"), base64.b64encode(secret.encode(errors=RAW)).decode()}
        # Longest first, so that a form which holds another is hidden whole.
        ordered = sorted(forms, key=len, reverse=True)
        self._long = tuple(form.encode(errors=RAW) for form in ordered if len(form) >= LONG_SECRET)
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __repr__(self) -> str:
        """Without what it hides."""
        return "Redaction(…)"

    def conceal(self, content: bytes) -> bytes:
        """The same bytes without the given secrets of 16 characters and more: a server may say what it was sent."""
        for form in self._long:
            if form in content:
                content = content.replace(form, HIDDEN.encode())
        return content

    def show(self, text: str) -> str:
        """The text without secrets and a CI's orders, control characters escaped, cut at 300 characters."""
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = without_orders(LOOKS_SECRET.sub(HIDDEN, text))
        text = "".join(
            each if each.isprintable() else each.encode("unicode_escape").decode() for each in text[: LONGEST + 1]
        )
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
