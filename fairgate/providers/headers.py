"""Headers that the user adds to the requests for a model: `NAME=VALUE`, or `NAME=$VARIABLE` of the environment."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from string import Template
from typing import TYPE_CHECKING

from fairgate.core.errors import ConfigError
from fairgate.core.redaction import LOOKS_SECRET, Redaction, is_secret

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAME = re.compile(r"[!#$%&'*+.^_`|~\w-]+", re.ASCII)
# They decide how a request is sent and read.
OURS = frozenset({
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host",
    "keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade",
})  # fmt: skip


@dataclass(frozen=True)
class Headers:
    """Headers by name; `secrets` are the values that came from the environment, and the keys in them."""

    values: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without values."""
        return f"Headers({', '.join(self.values)})"

    def over(self, usual: Mapping[str, str]) -> dict[str, str]:
        """The usual headers, with these in the place of those of the same name."""
        own = {name.lower() for name in self.values}
        return {**{name: value for name, value in usual.items() if name.lower() not in own}, **self.values}


def headers_of(given: Sequence[str], option: str) -> Headers:
    """The headers that an option gave. Raises ConfigError; no value is in its text."""
    values: dict[str, str] = {}
    secrets: list[str] = []
    for each in given:
        name, equals, value = each.partition("=")
        name = name.strip()
        if not equals or not _NAME.fullmatch(name):
            raise ConfigError(
                f"{Redaction().show(name)!r} is not the name of a header.",
                where=option,
                hint=f"Write NAME=VALUE: {option} 'api-key=$MY_KEY'",
            )
        if name.lower() in OURS:
            raise ConfigError(f"{name} is not for the user to set.", where=option, hint="Remove it.")
        values[name], found = _filled(name, value, option)
        secrets += found
    return Headers(values, tuple(secrets))


def _filled(name: str, value: str, option: str) -> tuple[str, list[str]]:
    """The value with the environment's in place, and what came from there."""
    template = Template(value)
    if not template.is_valid():
        hint = f"Write {option} '{name}=$VARIABLE', or $$ for a dollar sign."
        raise ConfigError(f"the value of {name} holds a $ that names no variable.", where=option, hint=hint)
    variables = template.get_identifiers()
    for each in variables:
        if not os.environ.get(each):
            hint = "Set it, or check its name."
            raise ConfigError(f"the value of {name} names ${each}, which is not set.", where=option, hint=hint)
    if not variables and value and (is_secret(name) or LOOKS_SECRET.search(value)):
        raise ConfigError(
            f"the value of {name} looks like a secret, and others may read a command line.",
            where=option,
            hint=f"Put it into a variable of the environment: {option} '{name}=$VARIABLE'",
        )
    filled = template.substitute(os.environ).strip()
    if not (filled.isascii() and (filled.isprintable() or not filled)):
        raise ConfigError(f"the value of {name} holds characters that no header may.", where=option)
    return filled, [*(os.environ[each].strip() for each in variables), *(_keys_in(name, filled) if variables else ())]


def _keys_in(name: str, value: str) -> list[str]:
    """The secrets of a header that a server may say apart: what follows the scheme, a password, a cookie's value."""
    if name.lower() == "cookie":
        return [each.partition("=")[2].strip() for each in value.split(";")]
    scheme, _, credentials = value.partition(" ")
    if scheme.lower() != "basic":
        # `Bearer KEY`, of two words.
        return [credentials.strip()] if re.fullmatch(r"[\w-]+ +\S+", value) else []
    try:
        pair = base64.b64decode(credentials, validate=True).decode()
    except ValueError:
        return [credentials]
    return [credentials, pair, pair.partition(":")[2]]
