"""How fast the gate asks, beside bare loops and peers: ratios within one run, on two cores, one for the server.

`python -m benchmarks.throughput` prints tables; `--only` chooses some. Peers are measured where they are installed
(`pip install 'fairgate[peers]'`, or some of them; `--only peers`), and named where not. Docs: docs/throughput.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.clients import PER_TOPIC
from benchmarks.peers import installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHECKOUT = Path(__file__).resolve().parent.parent
# Samples, nearly, that --per-topic 1 comes to in a gate, which asks more scenarios than the bare loops.
OF_PLAN = 1_424
GATE = "fairgate gate (pytest -n 0)"
FAST_GATE = "fairgate gate, fast"


@dataclass(frozen=True)
class Measured:
    """One run of a client. Seconds, and MiB at its peak; `phase` from the first request to the last answer."""

    requests: int
    wall: float
    phase: float
    first: float
    cpu: float
    memory: float
    load: float


@contextmanager
def stub(latency: float) -> Iterator[str]:
    """The server, on the second core; its base URL."""
    command = [sys.executable, "-m", "benchmarks.stub", "--latency", str(latency), "--core", "1"]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        assert process.stdout is not None  # noqa: S101
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def stats(base_url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{base_url}/stats", timeout=30) as answer:  # noqa: S310 - our own server
        told: dict[str, float] = json.load(answer)
    return told


def gate_command(base_url: str, n: int, in_flight: int, folder: str, workers: str = "0") -> list[str]:
    # Hypothesis and trio are there for the project's own tests; plugins that load them are in no user's install.
    return [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-p", "no:hypothesispytest", "-p", "no:anyio", f"-n{workers}"),
        # The stub's model is unfair: in rounds it would be asked 522 times.
        *("--no-stop-early", f"--per-topic={max(1, round(n / OF_PLAN))}"),
        *("--model=openai/stub", f"--base-url={base_url}", f"--max-in-flight={in_flight}"),
        f"--ledger={folder}/ledger.sqlite",
    ]


def measure(base_url: str, command: Sequence[str], *, core: int | None = 0, fast: bool = False) -> Measured:
    """Run a command to its end. Its CPU time is its own and its children's."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT), "HOME": os.environ.get("HOME", "/")}
    environment["FAIRGATE_FAST"] = str(int(fast))
    stats(base_url)  # forgotten
    load = os.getloadavg()[0]
    began = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        command,
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.DEVNULL,
        preexec_fn=None if core is None else lambda: _pin(core),
    )
    _, status, used = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    told = stats(base_url)
    # A gate may fail or stay open; a client that ends so has crashed.
    if process.returncode not in ({0, 1, 6} if "pytest" in command else {0}):
        sys.exit(f"{' '.join(command)}\nexited with {process.returncode}")
    return Measured(
        requests=int(told["requests"]),
        wall=wall,
        phase=told["last"] - told["first"],
        first=told["first"] - began,
        cpu=used.ru_utime + used.ru_stime,
        memory=used.ru_maxrss / 1024,
        load=load,
    )


def _pin(core: int) -> None:
    if hasattr(os, "sched_setaffinity") and core in os.sched_getaffinity(0):
        os.sched_setaffinity(0, {core})


def median(runs: Sequence[Measured]) -> Measured:
    """The median of each figure."""
    return Measured(*(statistics.median(getattr(run, name) for run in runs) for name in Measured.__annotations__))


def client(name: str, base_url: str, n: int, in_flight: int, repeats: int) -> Measured:
    """The median of some runs of a client, or of the gate."""
    runs = []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.clients", name, base_url, str(n), str(in_flight)]
            if name in (GATE, FAST_GATE):
                command = gate_command(base_url, n, in_flight, folder)
            runs.append(measure(base_url, command, fast=name == FAST_GATE))
    return median(runs)


def table(title: str, rows: Sequence[tuple[str, Measured]], latency: float, in_flight: int) -> None:
    """Efficiency: the wall that so many in flight need at least, by the wall it took."""
    print(f"\n### {title}\n")
    print("| client | requests | phase s | efficiency | whole s | efficiency | CPU ms each | MiB | load |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, run in rows:
        ideal = run.requests * latency / in_flight
        shown = (f"{ideal / run.phase:.2f}", f"{ideal / run.wall:.2f}") if latency else ("", "")
        print(
            f"| {name} | {run.requests:,} | {run.phase:.2f} | {shown[0]} | {run.wall:.2f} | {shown[1]}"
            f" | {1000 * run.cpu / max(run.requests, 1):.3f} | {run.memory:.0f} | {run.load:.1f} |",
            flush=True,
        )


PARTS = ("latency", "peers", "few", "zero", "bookkeeping", "large", "memory", "workers")
OURS = ("transport", "fairgate sampler", GATE, "transport, fast", "fairgate sampler, fast", FAST_GATE)
BARE = ("aiohttp loop", "pyreqwest loop", *OURS)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--per-topic", type=int, default=6, help="522 samples each; 6 is the N = 3,000 of the table")
    parser.add_argument("--latency", type=float, default=0.05, help="the server's, in seconds; default: 0.05")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    only, repeats, latency = set(given.only), given.repeats, given.latency
    told = f"{1000 * latency:.0f} ms"
    n = given.per_topic * PER_TOPIC
    if "latency" in only:
        with stub(latency) as url:
            names = (*BARE[:1], "httpx2 loop", *BARE[1:])
            rows = [(name, client(name, url, n, 128, 1 if name == "httpx2 loop" else repeats)) for name in names]
        table(f"{told}, 128 in flight", rows, latency, 128)
        for name in (GATE, FAST_GATE):
            print(f"\n{name}: first request after {dict(rows)[name].first:.2f} s.")
    if "peers" in only:
        here = installed()
        beside = (*BARE, *(name for name, is_here in here.items() if is_here))
        with stub(latency) as url:
            rows = [(name, client(name, url, n, 128, 1)) for name in beside]
        table(f"{told}, 128 in flight, beside peers", rows, latency, 128)
        print("".join(f"\n{name}: not installed" for name, is_here in here.items() if not is_here))
    if "few" in only:
        with stub(latency) as url:
            rows = [(name, client(name, url, max(1, given.per_topic // 3) * PER_TOPIC, 16, repeats)) for name in BARE]
        table(f"{told}, 16 in flight", rows, latency, 16)
    if "zero" in only:
        with stub(0) as url:
            rows = [(name, client(name, url, 3 * n, 16, repeats)) for name in BARE]
            small = [(name, client(name, url, n, 16, repeats)) for name in BARE]
        table("No latency, 16 in flight", rows, 0, 16)
        print("\nMarginal CPU, from three times as many requests:\n")
        for (name, twice), (_, once) in zip(rows, small, strict=True):
            print(f"- {name}: {1000 * (twice.cpu - once.cpu) / (twice.requests - once.requests):.3f} ms a request")
    if "bookkeeping" in only:
        with stub(0) as url:
            for name in ("fairgate sampler, no requests", "prompts alone"):
                once, more = (client(name, url, many * n, 16, repeats) for many in (1, 5))
                print(f"- {name}: {1000 * (more.cpu - once.cpu) / (4 * n):.3f} ms CPU a sample, marginal", flush=True)
    if "large" in only:
        with stub(latency) as url:
            rows = [(name, client(name, url, 48 * PER_TOPIC, 128, 1)) for name in BARE]
        table(f"{told}, 128 in flight, long", rows, latency, 128)
    if "memory" in only:
        with stub(0) as url:
            rows = [(GATE, client(GATE, url, many * PER_TOPIC, 64, 1)) for many in (10, 96)]
        table("Memory: no latency, 64 in flight", rows, 0, 64)
    if "workers" in only:
        with stub(latency) as url:
            for workers in ("0", "16"):
                with tempfile.TemporaryDirectory() as folder:
                    # Long enough that the start of sixteen processes is a small part of it.
                    run = measure(url, gate_command(url, 4 * n, 16, folder, workers), core=None)
                print(
                    f"\n-n {workers}: {run.requests:,} requests, first to last {run.phase:.2f} s (load {run.load:.1f})"
                )


if __name__ == "__main__":
    main()
