"""A model as a user's own function, which asks the server that SERVER names: `python/tests.servers.called:answer`."""

from __future__ import annotations

import json
import os
import urllib.request

SERVER = "FAIRGATE_TEST_SERVER"


def answer(prompt: str) -> str:
    """What the server says."""
    body = json.dumps({"model": "tiny", "messages": [{"role": "user", "content": prompt}]}).encode()
    asked = urllib.request.Request(  # noqa: S310 - a server of our own, over HTTP
        f"{os.environ[SERVER]}/chat/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked) as reply:  # noqa: S310
        said: str = json.load(reply)["choices"][0]["message"]["content"]
    return said
