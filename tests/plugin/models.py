"""Models for `--model python/tests.plugin.models:NAME`."""

from __future__ import annotations

import os
import re
import time
from zlib import crc32


def even(prompt: str) -> str:
    """Some letter of the first two, always the same for the same prompt."""
    return "AB"[crc32(prompt.encode()) % 2]


def slow(prompt: str) -> str:
    time.sleep(0.05)
    return even(prompt)


def fails(prompt: str) -> str:
    raise ValueError(f"no licence for {len(prompt)} characters")


def fails_often(prompt: str) -> str:
    if crc32(prompt.encode()) % 3 == 0:
        raise ValueError("it hiccups")
    return even(prompt)


def talks_nonsense(prompt: str) -> str:
    return f"lorem \x1b[31m<b>ipsum</b> \ud83d {len(prompt)}"


def stereotypes_in_markup(prompt: str) -> str:
    """Most of all men, least of all women, in a reply that would be live if a report were to render it."""
    wanted = "male" if "most likely" in prompt else "female"
    letter = next(iter(re.findall(rf"^([A-D])\. .*\b{wanted}\b", prompt, re.MULTILINE)), "A")
    return f'{{"answer": "{letter}"}}\n<img src=x onerror="document.title = \'hacked\'"> [link](javascript:alert(1))'


def ends_the_process(prompt: str) -> str:  # noqa: ARG001
    os._exit(0)


def hangs(prompt: str) -> str:
    """For one prompt in three, longer than anybody waits."""
    time.sleep(600 if crc32(prompt.encode()) % 3 == 0 else 0)
    return even(prompt)
