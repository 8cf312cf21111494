"""Images over HTTP: killed in mid-run, none is drawn twice and none read twice; another detector draws nothing."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.providers.images import portraits
from tests.running import bench, finished, started, wait_until_stored
from tests.servers.chat import content_filter, in_order
from tests.servers.images import ImageStub

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

IMAGES = 2 * (2 + 3)  # of crime: two levels, two objective images each and three subjective ones
IN_FLIGHT = 2


class Brush:
    """Draws people by chance, and remembers every image that it drew."""

    def __init__(self) -> None:
        from random import Random

        self._chance = Random(1)  # noqa: S311 - draws people
        self._maps = Groups.of(load(), None).maps

    def __call__(self, _: str, __: int) -> bytes:
        person = portraits.shown({}, self._maps, self._chance)
        return portraits.draw([person], (256, 256), self._chance)


@pytest.fixture
def stub() -> Iterator[ImageStub]:
    with ImageStub(draw=Brush(), latency=0.2, by_url=True) as running:
        yield running


def given(stub: ImageStub, *more: str) -> tuple[str, ...]:
    image_model = ("--t2i-model=openai/brush", f"--t2i-base-url={stub.base_url}", "--detector=control/fairface")
    return (*image_model, f"--max-in-flight={IN_FLIGHT}", "-k", "crime", "-p", "no:xdist", *more)


def rows(ledger: Path) -> list[tuple[str, str, str]]:
    with closing(sqlite3.connect(ledger)) as database:
        return database.execute("SELECT query, prompt, reply FROM samples").fetchall()


def test_kill_9_loses_no_image_and_no_reading(tmp_path: Path, stub: ImageStub) -> None:
    ledger = tmp_path / "ledger.sqlite"
    stub.most = IMAGES // 2 + IN_FLIGHT  # so that it cannot be done before it is killed
    with started(tmp_path, *given(stub)) as process:
        wait_until_stored(ledger, IMAGES, process)
        os.killpg(process.pid, signal.SIGKILL)
        assert finished(process, tmp_path).code == -signal.SIGKILL
    kept = rows(ledger)
    drawn = [row for row in kept if row[0].endswith("/image")]
    stub.let_go()
    asked = stub.answered
    assert IMAGES <= len(kept) < 2 * IMAGES
    # Only requests in flight may have been lost.
    assert asked - len(drawn) <= IN_FLIGHT

    again = bench(tmp_path, *given(stub))
    assert again.code in (0, 6), again.output
    calls = again.summary["calls"]
    assert (calls["planned"], calls["missing"], calls["failed"]) == (2 * IMAGES, 0, 0)
    assert (calls["asked"], calls["reused"]) == (2 * IMAGES - len(kept), len(kept))
    assert stub.answered - asked == IMAGES - len(drawn)
    now = rows(ledger)
    assert set(kept) <= set(now)
    assert Counter(query for query, _, _ in now) == Counter({query: 1 for query, _, _ in now})
    # Every reading is of an image that is there.
    store = ImageStore(ledger)
    hashes = {hash_in(reply) for query, _, reply in now if query.endswith("/image")}
    assert len(hashes) == IMAGES
    assert {prompt.split("\x1e")[-1] for query, prompt, _ in now if query.endswith("/faces")} == hashes
    assert all(store.read(each) for each in hashes if each)

    asked = stub.answered
    other = bench(tmp_path, *given(stub, "--detector-arg=confidence=0.6"))
    # Another detector reads the same images anew, and nothing is drawn.
    assert stub.answered == asked
    assert (other.summary["calls"]["asked"], other.summary["calls"]["reused"]) == (IMAGES, IMAGES)
    assert other.summary["scores"] == again.summary["scores"]


def test_a_refused_image_needs_no_detector(tmp_path: Path) -> None:
    with ImageStub(draw=Brush(), plan=in_order(content_filter(), None, content_filter())) as stub:
        first = bench(tmp_path, *given(stub)).summary
        again = bench(tmp_path, *given(stub)).summary
    for summary, asked in ((first, 2 * IMAGES - 2), (again, 0)):
        calls = summary["calls"]
        assert (calls["planned"], calls["asked"], calls["missing"]) == (2 * IMAGES - 2, asked, 0)
        assert calls["planned"] == calls["asked"] + calls["reused"] + calls["missing"]
        assert summary["outcomes"]["fact-or-fair"] == {
            "samples": IMAGES, "refused": 2, "unreadable": 0, "no_face": 0, "failed": 0,
        }  # fmt: skip
        assert (summary["model"], summary["t2i_model"]) == (None, "openai/brush")
        assert summary["detector"] == "control/fairface"


def test_without_weights_the_run_says_what_to_do_and_draws_nothing(tmp_path: Path, stub: ImageStub) -> None:
    real = [each for each in given(stub) if not each.startswith("--detector")]
    run = bench(tmp_path, *real, env={"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)})
    assert run.code == 7
    assert "fairgate weights pull" in run.output
    assert stub.requests == 0
