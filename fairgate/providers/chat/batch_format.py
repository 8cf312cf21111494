"""OpenAI's batch format: the file of requests, that of replies, and what a server says of a batch."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

from fairgate.providers.endpoint import LONGEST
from fairgate.providers.fields import count, parsed_json

if TYPE_CHECKING:
    from collections.abc import Iterator

# The provider's limits of one batch.
MOST_REQUESTS = 50_000
MOST_BYTES = 200_000_000
MOST_UNREAD = 1000  # lines of a file that cannot be read, after which no more is read of it

# What names a batch or a file, and is a single part of an address. Some gateways pack much into a name.
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:=~+-]{0,999}")
_LINE = re.compile(rb"\S[^\r\n]*")


def is_id(value: object) -> bool:
    """Whether a server's name of a batch or a file can be kept, and asked for."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def parts(asked: dict[bytes, bytes]) -> Iterator[list[bytes]]:
    """The keys, in parts that one batch may hold."""
    part: list[bytes] = []
    size = 0
    for key, body in asked.items():
        length = len(line(key, body))
        if part and (len(part) == MOST_REQUESTS or size + length > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(key)
        size += length
    if part:
        yield part


def line(key: bytes, body: bytes) -> bytes:
    """A request for a chat completion with this body (JSON), as a line of a file."""
    head = f'{{"custom_id":"{key.hex()}","method":"POST","url":"/v1/chat/completions","body":'
    return head.encode() + body + b"}\n"


def upload(lines: bytes) -> tuple[bytes, str]:
    """A form with the file in it, and its content type."""
    fence = uuid.uuid4().hex
    head = (
        f'--{fence}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        f'--{fence}\r\nContent-Disposition: form-data; name="file"; filename="fairgate.jsonl"\r\n'
        "Content-Type: application/jsonl\r\n\r\n"
    )
    return head.encode() + lines + f"\r\n--{fence}--\r\n".encode(), f"multipart/form-data; boundary={fence}"


def read_lines(content: bytes) -> Iterator[tuple[bytes, dict[str, Any]] | None]:
    """The lines of a file of replies, each with the key of its request; None for one that cannot be read.

    No more lines than a batch may have are read, and none that is longer than an answer may be.
    """
    unread = 0
    for number, found in enumerate(_LINE.finditer(content)):
        if number == MOST_REQUESTS or unread == MOST_UNREAD:
            yield None
            return
        try:
            text = found[0].rstrip()
            said: Any = parsed_json(text if len(text) <= LONGEST else b"")
            yield bytes.fromhex(said["custom_id"]), dict(said)
        except (ValueError, LookupError, TypeError):
            unread += 1
            yield None


def completed(batch: dict[str, Any]) -> int | None:
    """How many requests of a batch its server says it answered; None where it does not say."""
    counts = batch.get("request_counts")
    return count(counts.get("completed")) if isinstance(counts, dict) else None


def complaints(errors: object) -> str:
    """Why a batch failed, in whatever shape its server says so."""
    listed = (errors.get("data") or errors) if isinstance(errors, dict) else errors
    each = listed if isinstance(listed, list) else [listed]
    said = [str(one.get("message") if isinstance(one, dict) else one) for one in each if one]
    return "; ".join(said) or "no reason was given"
