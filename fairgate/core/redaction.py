"""Makes what others wrote fit to be shown: no secrets, no control characters, no more than a line or two."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairgate.core.domain import Reply

LONGEST = 300
EXAMINED = 16_384  # characters of a text that are looked at to show its beginning
HIDDEN = "[hidden]"

# What a CI's runner takes for an order to itself: wherever in a line of its log it stands (##[add-mask], ##vso[…]), or
# at the beginning, blanks or not (::error::).
_ORDER = re.compile(r"#(?=#[a-z]*\[)|\A\s*:(?=:)", re.IGNORECASE)

# From here on a secret is no word that a reply may hold by chance.
LONG_SECRET = 16

# What people write as the key of a server that wants none, and as its user: no secrets, and words of replies.
PLACEHOLDERS = frozenset({
    "admin", "anything", "api-key", "api_key", "apikey", "default", "dummy", "empty", "fake", "guest", "local",
    "test", "token", "none", "not-needed", "null", "ollama", "no-key", "nokey", "placeholder", "secret",
    "sk-none", "unused", "user", "vllm", "lm-studio", "xxxx",
})  # fmt: skip

# Variables of the environment need be no UTF-8.
RAW = "surrogateescape"

# What is long and may be Base64 is written in lines, as MIME and openssl do.
_IN_LINES = re.compile(rf"[A-Za-z0-9+/_-]{{{LONG_SECRET},}}")
_BREAKS = r"(?:[\r\n]|\\++[nr]|%(?:25)*0[aAdD])*+"
_LINE_ENDS = re.compile(rb"[\r\n]|(?<!\\)\\++[nr]")

_PASSWORD = re.compile(r"://[^/\s:@]*:([^/\s@]+)@")
_BASE64 = (base64.b64encode, base64.urlsafe_b64encode)

# Below this, a "secret" is a placeholder such as "x": hiding every x would make messages unreadable.
SHORTEST_SECRET = 4
SHORTEST_IN_FILE = 8  # bytes

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


def printable(line: str) -> str:
    """A line of an error without what a terminal or a CI's runner obeys: it may quote what others wrote."""
    return without_orders("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line))


# Parts of the names of fields and variables that hold secrets, and such as go before a `token` or a `key` that is none.
_SECRET_WORDS = frozenset({
    "apikey", "auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials", "header",
    "headers", "jwt", "passphrase", "passwd", "password", "pwd", "secret", "secrets",
})  # fmt: skip
_NO_SECRETS = frozenset({
    "bos", "cache", "cls", "end", "eos", "mask", "max", "min", "pad", "sep", "skip", "special", "start",
    "stop", "think", "unk",
})  # fmt: skip
# Of variables that say where a key is, or how many there may be.
_SETTINGS = frozenset({"dir", "file", "home", "id", "limit", "max", "min", "name", "path", "type", "uri", "url"})
_PURPOSES = frozenset({"dev", "prod", "read", "readonly", "ro", "rw", "staging", "test", "write"})  # HF_TOKEN_READ
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def is_secret(name: str) -> bool:
    """Whether a field or a variable of this name holds a secret."""
    parts = [part.lower() for part in _PART.findall(name.rstrip("_0123456789"))]  # KEY_1, KEY2
    while parts and parts[-1] in _PURPOSES:
        parts.pop()
    if not parts:
        return False
    before = parts[-2] if len(parts) > 1 else ""
    last = parts[-1] in {"token", "key", "pass", "pat"} and before not in _NO_SECRETS
    last = last or parts[-2:] == ["api", "keys"]
    return last or not _SECRET_WORDS.isdisjoint(parts) or parts[-1].endswith(("apikey", "password", "secret"))


def of_environment() -> list[str]:
    """What the variables of the environment hold that are called a secret, and the passwords of addresses in others.

    Also without the blanks and line ends around it, which clients strip, and each of its lines.
    """
    named = [value for name, value in os.environ.items() if _names_secret(name, value)]
    found = [*named, *(each for value in os.environ.values() for each in _PASSWORD.findall(value))]
    lines = (line.strip() for value in found for line in value.splitlines())
    return [*found, *(each.strip() for each in found), *(line for line in lines if len(line) >= LONG_SECRET)]


def _names_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret by its name, or a long one by a part of it (`TOKEN_GITHUB`, `API_KEY_EU`)."""
    if is_secret(name):
        return True
    parts = [part.lower() for part in _PART.findall(name)]
    told = not {"key", "keys", "token", "tokens"}.isdisjoint(parts) and _SETTINGS.isdisjoint(parts)
    return told and len(value.strip()) >= LONG_SECRET


class Redaction:
    """Hides the given secrets, in every form in which they travel, and whatever looks like one.

    `names` are hidden in what is shown alone: the name of a user may be a word that a reply holds by chance.
    """

    def __init__(self, secrets: Iterable[str | None] = (), names: Iterable[str | None] = ()) -> None:
        given = [secret for secret in secrets if secret and len(secret) >= SHORTEST_SECRET]
        forms = _forms(given)
        real = [each for each in given if len(each) >= LONG_SECRET or each.casefold() not in PLACEHOLDERS]
        kept = _forms(real)
        # Of bytes as they come the Base64 may be that of an image, which is looked at when it is decoded.
        sent = _forms(real, around=False)
        bare = [_without_end(form) for form in kept]
        plain = {each for form in bare for each in (form, form.replace("\\", "\\\\").replace('"', '\\"'))}
        self._plain = tuple(form.encode(errors=RAW) for form in sorted(plain))
        self._traces = tuple(each.replace(b"\\", b"").lower() for each in self._plain)
        self._kept = _pattern(kept, whole_words=True)
        self._sent = _pattern(sent, whole_words=True)
        shown = forms + _forms(name for name in names if name and len(name) >= SHORTEST_SECRET)
        # Hosts and media types are shown in small letters.
        self._known = _pattern(shown, whole_words=False, flags=re.IGNORECASE)

    def __repr__(self) -> str:
        """Without what it hides."""
        return "Redaction(…)"

    def conceal(self, content: bytes) -> bytes:
        """The same bytes without the given secrets, however they are escaped: a server may say what it was sent."""
        if self._sent is None or not self._may_hold(content):
            return content
        text = content.decode("utf-8", RAW)
        return self._sent.sub(HIDDEN, text).encode("utf-8", RAW)

    def blank(self, content: bytes) -> bytes:
        """The bytes of a file, as long as before, with asterisks where a given secret stands as it is."""
        for form in self._plain:
            # Shorter ones are in a file by chance.
            if len(form) >= SHORTEST_IN_FILE and form in content:
                content = content.replace(form, b"*" * len(form))
        return content

    def _may_hold(self, content: bytes) -> bool:
        """Whether it is worth a closer look, which takes long for an image."""
        if b"\\u" in content or b"%" in content:
            return True
        plain = content.replace(b"\\", b"").lower()  # one may stand for itself, be doubled, or go before a sign
        if any(form in plain for form in self._traces):
            return True
        joined = _LINE_ENDS.sub(b"", content).replace(b"\\", b"").lower()
        return len(joined) < len(plain) and any(form in joined for form in self._traces)

    def hide(self, text: str) -> str:
        """A decoded text without the given secrets, to be kept."""
        worth = self._kept is not None and self._may_hold(text.encode("utf-8", "surrogatepass"))
        return self._kept.sub(HIDDEN, text) if worth and self._kept is not None else text

    def clean(self, reply: Reply) -> Reply:
        """A reply without the given secrets, wherever in it a server put them."""
        found = [text and self.hide(text) for text in (reply.text, reply.served_model, reply.fingerprint)]
        if found == [reply.text, reply.served_model, reply.fingerprint]:
            return reply
        return replace(reply, text=found[0] or "", served_model=found[1], fingerprint=found[2])

    def show(self, text: str, longest: int = LONGEST) -> str:
        """The text without secrets and a CI's orders, control characters escaped, cut at so many characters."""
        whole, text = text, text[:EXAMINED]
        if self._known is not None:
            text = self._known.sub(HIDDEN, text)
        text = LOOKS_SECRET.sub(HIDDEN, text)
        if len(whole) > EXAMINED and text != whole[:EXAMINED]:
            text = HIDDEN  # a secret may have been cut in two, and what is hidden before it brings it to the front
        text = without_orders(text)
        text = "".join(
            each if each.isprintable() else each.encode("unicode_escape").decode() for each in text[: longest + 1]
        )
        return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _forms(secrets: Iterable[str], *, around: bool = True) -> list[str]:
    """The forms in which secrets travel, longest first, so that a form which holds another is hidden whole.

    `around`: those, too, that they take in the Base64 of a text around them.
    """
    forms: set[str] = set()
    for secret in secrets:
        for text in {secret, unquote(secret)}:
            plain = text.encode(errors=RAW)
            forms |= {text, *(encode(plain).decode() for encode in _BASE64)}
            forms |= _within_base64(plain) if around else set()
    return sorted(filter(None, forms), key=lambda form: (-len(form), form))


def _within_base64(secret: bytes) -> set[str]:
    """The letters that a long secret alone decides in the Base64 of a text around it, wherever in it it begins."""
    found: set[str] = set()
    for before in range(3):
        decided = slice(-(-8 * before // 6), 8 * (before + len(secret)) // 6)
        found |= {encode(bytes(before) + secret).decode()[decided] for encode in _BASE64}
    return {each for each in found if len(each) >= LONG_SECRET}


def _pattern(forms: Sequence[str], *, whole_words: bool, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str] | None:
    if not forms:
        return None
    spelled = (_spelled(form, whole_word=whole_words and _is_word(form)) for form in forms)
    # Long ones in letters of any case: one of hexadecimal digits is the same key, and others are half told.
    each = (f"(?i:{one})" if len(form) >= LONG_SECRET else one for form, one in zip(forms, spelled, strict=True))
    return re.compile("|".join(each), flags)


def _without_end(form: str) -> str:
    """Without the signs that fill up Base64, which not everybody writes."""
    bare = form.rstrip("=")
    return bare if len(bare) >= SHORTEST_SECRET else form


def _is_word(form: str) -> bool:
    """Whether a reply may hold it by chance, as a part of a longer word."""
    return len(form) < LONG_SECRET and form.isalpha()


def _spelled(form: str, *, whole_word: bool) -> str:
    """A pattern of every spelling that somebody undoes later: JSON's escapes, percents, both of them nested."""
    bare = _without_end(form)
    units = re.findall(r"\\+|[^\\]", bare)
    between = _BREAKS if _IN_LINES.fullmatch(bare) else ""
    spelled = _spellings(units[0], first=True)
    spelled += "".join(between + _spellings(unit, behind=before[0] == "\\") for before, unit in pairwise(units))
    spelled += f"{_spellings('=')}{{0,{len(form) - len(bare)}}}"
    return rf"(?<!\w){spelled}(?!\w)" if whole_word else spelled


def _spellings(unit: str, *, first: bool = False, behind: bool = False) -> str:
    """Of a character, or of a row of backslashes; `behind` such a row, which may have taken those of an escape."""
    # A match begins where its backslashes do: begun at each of them, a row of them would take the square of its length.
    start = r"(?<!\\)" if first else ""
    if unit[0] == "\\":
        # As many as there are: each may be spelled in its own way.
        return rf"{start}(?:\\++(?:u005[cC])?|%(?:25)*5[cC])++"
    units = unit.encode("utf-16-be", "surrogatepass")
    slashes = r"\\*+" if behind else r"\\++"
    escaped = start + "".join(rf"{slashes}u{_hex(units[at : at + 2])}" for at in range(0, len(units), 2))
    percents = "".join(f"%(?:25)*{_hex(bytes([each]))}" for each in unit.encode(errors=RAW))
    literal = re.escape(unit)
    if unit in '/"':
        literal = rf"(?:{start}\\+)?{literal}"
    return f"(?:{literal}|{escaped}|{percents})"


def _hex(content: bytes) -> str:
    """The digits of these bytes, in whichever case."""
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in content.hex())
