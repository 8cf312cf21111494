"""What becomes of 2,000 samples on a server that fails: beside a bare loop that repeats likewise.

`python -m benchmarks.faults` prints the table of docs/throughput.md: 20 ms a request, 32 in flight, each server a
process of its own. `ratio` is our request phase by the bare loop's, prompts, parsing and ledger included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp

from benchmarks.clients import PER_TOPIC, body, prompts, topics
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.core.domain import Modality, Role
from fairgate.ledger.ledger import Ledger
from fairgate.options.settings import Bounds
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import Server
from fairgate.providers.retries import Backoff, Retries, retry_after
from fairgate.sampling.limits import Limits
from fairgate.sampling.sampler import Sampler, Work
from fairgate.sampling.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).resolve().parent.parent
IN_FLIGHT, ATTEMPTS = 32, 6


@dataclass(frozen=True)
class Fault:
    """A way to fail: the stub's arguments; `restart` seconds that the server is away in the middle."""

    name: str
    options: tuple[str, ...] = ()
    timeout: float = 60.0
    restart: float | None = None
    resolves: bool = True
    bare: bool = True


FAULTS = (
    Fault("none"),
    Fault("10 % 429, Retry-After: 0.05", ("--fault=429", "--share=0.1", "--retry-after=0.05")),
    Fault("10 % 500", ("--fault=500", "--share=0.1")),
    Fault("10 % cut connections", ("--fault=cut", "--share=0.1")),
    Fault("10 % torn in mid-body", ("--fault=torn", "--share=0.1")),
    Fault("10 % half-written JSON", ("--fault=half-written", "--share=0.1")),
    Fault("2 % slow-loris (time limit 2 s)", ("--fault=slow-loris", "--share=0.02"), timeout=2.0),
    Fault("10 % text/html", ("--fault=content-type", "--share=0.1")),
    Fault("away for 1 s in the middle", restart=1.0),
    Fault("a name that does not resolve", resolves=False, bare=False),
    Fault("quota exhausted", ("--fault=quota",), bare=False),
    Fault("wrong key", ("--fault=wrong-key",), bare=False),
    Fault("unknown model", ("--fault=unknown-model",), bare=False),
)


class Stub:
    """The server as a process of its own, on a port that it keeps."""

    def __init__(self, options: tuple[str, ...], latency: float) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._options = ("--latency", str(latency), *options)
        self._process = self._started()
        self.requests = self.answered = 0

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.servers.chat", "--port", str(self.port), "--forget"]
        process = subprocess.Popen(  # noqa: S603 - our own server
            [*command, *self._options], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None  # noqa: S101
        process.stdout.readline()
        if hasattr(os, "sched_setaffinity") and len(os.sched_getaffinity(0)) > 1:
            os.sched_setaffinity(process.pid, {max(os.sched_getaffinity(0))})
        return process

    def count(self) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/stats", timeout=30) as answer:
            told = json.load(answer)
        self.requests += told["requests"]
        self.answered += told["answered"]

    def stop(self) -> None:
        self.count()
        self._process.kill()
        self._process.communicate()

    def restart(self, away: float) -> None:
        self.stop()
        time.sleep(away)
        self._process = self._started()


@contextmanager
def serving(fault: Fault, latency: float) -> Iterator[Stub]:
    stub = Stub(fault.options, latency)
    timer = None if fault.restart is None else threading.Timer(0.5, stub.restart, [fault.restart])
    if timer is not None:
        timer.start()
    try:
        yield stub
    finally:
        if timer is not None:
            timer.join()
        stub.stop()


async def bare(base_url: str, n: int, timeout: float) -> int:  # noqa: ASYNC109 - of each request
    """Workers that share the prompts and repeat what failed, by the waits that we keep too; how many were answered."""
    left, waits, answered = prompts(n), Backoff(), 0
    draw = random.Random(0).random  # noqa: S311

    async def work(session: aiohttp.ClientSession) -> None:
        nonlocal answered
        for prompt in left:
            for failures in range(1, ATTEMPTS + 1):
                asked = None
                try:
                    async with session.post(f"{base_url}/chat/completions", data=body(prompt)) as answer:
                        content = await answer.read()
                        asked = retry_after({name.lower(): value for name, value in answer.headers.items()})
                        answer.raise_for_status()
                        json.loads(content)["choices"][0]["message"]["content"]
                except (aiohttp.ClientError, TimeoutError, ValueError):
                    if failures < ATTEMPTS:
                        await asyncio.sleep(waits.before_next(failures, asked, draw))
                    continue
                answered += 1
                break

    limits = aiohttp.ClientTimeout(total=timeout)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=IN_FLIGHT), timeout=limits, headers=headers
    ) as session:
        await asyncio.gather(*(work(session) for _ in range(IN_FLIGHT)))
    return answered


def ours(base_url: str, n: int, timeout: float) -> tuple[float, int, str]:
    """The sampler: seconds until it ended, how many answers the ledger holds then, and how it ended."""
    each = n // PER_TOPIC
    plan = QueryPlan(load(), seed=0, profiles=Profiles.RANDOM, objective=each, subjective=each)
    line = Scheduler(Limits(Bounds(in_flight=IN_FLIGHT)))
    retries = Retries(aside=line.step_aside)
    model = OpenAIChat("tiny", Server(base_url, max_in_flight=IN_FLIGHT, timeout=timeout, retries=retries))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.sqlite"
        sampler = Sampler(
            Work(
                topics=topics(),
                queries=plan.queries,  # type: ignore[arg-type] # no themes are among the topics
                planned={Modality.TEXT: n},
            ),
            {Role.MODEL: model},
            ledger=path,
            run="faults",
            line=line,
        )
        began = time.perf_counter()
        sampler.start()
        sampler.wait()
        phase = time.perf_counter() - began
        with Ledger(path) as ledger:
            kept = sum(ledger.holds(model.identity, query) for topic in topics() for query in plan.queries(topic))
    if sampler.error is not None:
        return phase, kept, f"stopped: {sampler.error.what.partition(' (')[0].rstrip('.')}"
    last = f", the last: {sampler.progress.last_failure}" if sampler.progress.failed else ""
    return phase, kept, f"{sampler.progress.failed} failed{last}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults")
    parser.add_argument("--per-topic", type=int, default=4, help="522 samples each")
    parser.add_argument("--latency", type=float, default=0.02, help="seconds; more of it where the machine is busy")
    parser.add_argument("--only", nargs="*", help="rows whose names hold one of these")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    n = given.per_topic * PER_TOPIC
    print(f"{n:,} samples, {1000 * given.latency:.0f} ms, {IN_FLIGHT} in flight; load {os.getloadavg()[0]:.1f}\n")
    print("| fault | how it ended | requests sent | answers kept | phase s | bare loop s | ratio |")
    print("|---|---|---|---|---|---|---|")
    for fault in FAULTS:
        if given.only and not any(each in fault.name for each in given.only):
            continue
        alone = 0.0
        if fault.bare:
            with serving(fault, given.latency) as stub:
                began = time.perf_counter()
                asyncio.run(bare(f"http://127.0.0.1:{stub.port}/v1", n, fault.timeout))
                alone = time.perf_counter() - began
        with serving(fault, given.latency) as stub:
            host = "127.0.0.1" if fault.resolves else "no-such-host.invalid"
            phase, kept, ended = ours(f"http://{host}:{stub.port}/v1", n, fault.timeout)
        beside = f"{alone:.2f} | {phase / alone:.2f}" if alone else " | "
        print(f"| {fault.name} | {ended} | {stub.requests:,} | {kept:,} | {phase:.2f} | {beside} |", flush=True)


if __name__ == "__main__":
    main()
