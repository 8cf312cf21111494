"""What the clients of other programs say, made fit to be shown: they quote the address of their server as it is."""

from __future__ import annotations

import re

from fairgate.core.redaction import Redaction, of_environment

_USER_INFO = re.compile(r"//(\S*)@")
_QUERY = re.compile(r"[?&][^=&#]*=([^&#]+)")


def shown(text: str, *addresses: str | None) -> str:
    """A client's words without what the environment keeps secret, or one of these addresses has before its host.

    >>> shown("no answer of http://me:swordfish@host/a", "http://me:swordfish@host")
    'no answer of http://[hidden]@host/a'
    """
    secrets = [part for address in addresses if address for part in _secrets(address)]
    return Redaction([*of_environment(), *secrets]).show(text)


def _secrets(address: str) -> list[str]:
    pairs = _USER_INFO.findall(address)
    return [*pairs, *(pair.partition(":")[2] for pair in pairs), *_QUERY.findall(address)]
