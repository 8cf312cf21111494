"""Each fault of `tests/servers/faults.py`, met now and then and met always, with both transports.

Nothing that was answered is lost or asked for again, and what ends a run is said with its address and its cause.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import trustme

from fairgate.core.domain import Modality, Query, Role
from fairgate.core.errors import RunStopped
from fairgate.ledger.ledger import Ledger
from fairgate.options.settings import Bounds
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Backoff, Retries
from fairgate.sampling.limits import Limits
from fairgate.sampling.sampler import Sampler, Work
from fairgate.sampling.scheduler import Scheduler
from tests.builders import query, subjective
from tests.servers.fault_list import FAULTS
from tests.servers.faults import NOW_AND_THEN, Ends, Fault, FaultServer, reply_to

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

    from fairgate.core.domain import Topic

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("each_transport", "bare_environment")]

KEY = "planted-key-5f1e9c"
TOPIC = subjective()
SAMPLES, IN_FLIGHT, ATTEMPTS = 24, 4, 3
PATIENCE = 30.0  # seconds


def queries(topic: Topic) -> Iterator[Query]:
    return (query(index, topic, f"{index}?\nA. one\nB. two") for index in range(SAMPLES))


def sampled(path: Path, server: FaultServer) -> tuple[Sampler, dict[str, str | None]]:
    """A run to its end, and the replies that its ledger holds."""
    line = Scheduler(Limits(Bounds(in_flight=IN_FLIGHT)))
    waits = Backoff(base=0.001, longest=0.002, cap=0.002)
    retries = Retries(ATTEMPTS, waits=waits, aside=line.step_aside)
    timeout = server.fault.timeout
    model = OpenAIChat("tiny", Server(server.base_url, KEY, max_in_flight=IN_FLIGHT, timeout=timeout, retries=retries))
    work = Sampler(
        Work(topics=[TOPIC], queries=queries, planned={Modality.TEXT: SAMPLES}),
        {Role.MODEL: model},
        ledger=path,
        run="r",
        line=line,
    )
    work.start()
    assert work.wait(PATIENCE), "the run hangs"
    with Ledger(path) as ledger:
        found = ((each, ledger.reply(model.identity, each)) for each in queries(TOPIC))
        return work, {each.prompt: reply.text for each, reply in found if reply is not None}


@contextmanager
def serving(fault: Fault, folder: Path, numbers: Collection[int] | None = None) -> Iterator[FaultServer]:
    """The server, and an environment that knows it: as a proxy, or as one whose authority is trusted."""
    authority = trustme.CA()
    with pytest.MonkeyPatch.context() as patch, FaultServer(fault, numbers, authority, transport()) as server:
        if fault.variable:
            scheme = "socks5" if fault.variable == "ALL_PROXY" else "http"
            patch.setenv(fault.variable, f"{scheme}://me:{KEY}@127.0.0.1:{server.port}")
        if fault.tls is not None and fault.trusted:
            authority.cert_pem.write_to_path(str(folder / "authority.pem"))
            patch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
        yield server


def transport() -> str:
    return "fast" if os.environ["FAIRGATE_FAST"] == "1" else "default"


def params(faults: Iterable[Fault]) -> list[ParameterSet]:
    """httpx2 leaves connections open whose SOCKS handshake failed, for the garbage collection to close."""
    leaves = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    return [pytest.param(each, id=str(each), marks=[leaves] * (each.variable == "ALL_PROXY")) for each in faults]


@pytest.mark.parametrize("fault", params(each for each in FAULTS if each.now_and_then))
def test_met_now_and_then_it_costs_no_answer_and_none_is_asked_for_twice(tmp_path: Path, fault: Fault) -> None:
    ends, says = fault.under(transport())
    with serving(fault, tmp_path, NOW_AND_THEN) as server:
        work, replies = sampled(tmp_path / "ledger.sqlite", server)
    assert server.met, "the fault was never met"
    assert server.late == [], "asked for again after it was answered"
    right = {prompt: reply_to(prompt) for prompt in server.delivered}
    progress = work.progress
    if ends is Ends.STOPPED:
        assert isinstance(work.error, RunStopped)
        assert says in str(work.error)
    else:
        assert work.error is None
    if ends is Ends.FILTERED:
        assert progress.refused == server.met
        return
    assert replies == right
    if ends in (Ends.TAKEN, Ends.REPEATED):
        assert len(replies) == SAMPLES
        assert (progress.asked, progress.failed) == (SAMPLES, 0)
    if ends is Ends.TAKEN and fault.always:
        assert (progress.retried, len(server.asked)) == (0, SAMPLES)
    if ends is Ends.FAILED:
        assert (progress.failed, len(server.asked)) == (server.met, SAMPLES)


@pytest.mark.parametrize("fault", params(each for each in FAULTS if each.always))
def test_met_always_it_ends_the_run_with_address_and_cause(tmp_path: Path, fault: Fault) -> None:
    ends, says = fault.under(transport())
    with serving(fault, tmp_path) as server:
        work, _ = sampled(tmp_path / "ledger.sqlite", server)
    if ends in (Ends.TAKEN, Ends.FILTERED):
        assert (work.error, work.progress.asked, len(server.asked)) == (None, SAMPLES, SAMPLES)
        return
    said = str(work.error)
    assert says in said
    assert server.base_url in said
    assert said.isprintable()
    assert KEY not in said
    assert len(said) < 1000
    assert isinstance(work.error, RunStopped)
    assert work.error.hint
    assert len(server.asked) <= {Ends.STOPPED: IN_FLIGHT, Ends.FAILED: SAMPLES}.get(ends, SAMPLES * ATTEMPTS)
