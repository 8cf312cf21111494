"""kill -9 of a worker, of the controlling process, of everything, at random moments: what is kept, what is asked again.

Run it:  python benchmarks/kills.py --kills 100
         python benchmarks/kills.py --kills 30 --kinds text rounds images judge --victims everything --workers 4
         python benchmarks/kills.py --kills 10 --kinds python --victims controller child

Servers of our own on 127.0.0.1 count what they are asked. In each kill a small run is killed after a random number of
answers and a random pause, then started again on the same ledger. "In vain" are answers that were under way when the
run died; "again" are answers that the server gave to the second run beyond those that the ledger lacked. "Left" are
processes of the user's own code (`python/…`), the "child", that ran on after the run was dead.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
from fairgate.providers.images import portraits
from tests.running import CHECKOUT, PATIENCE, arguments, finished, started
from tests.servers.called import SERVER
from tests.servers.chat import ChatStub
from tests.servers.images import ImageStub
from tests.servers.words import judges, speaks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

IN_FLIGHT = 4
LATENCY = 0.05  # seconds
VICTIMS = ("worker", "controller", "everything")
CHILD = "child"
KINDS = ("text", "rounds", "images", "judge", "python")
GONE = 10.0  # seconds for a process to end after those that it served
# What a verdict stands on; calls and times differ by nature.
COMPARED = ("verdict", "scores", "gates", "findings", "rates", "shares", "leaderboard")


@dataclass(frozen=True)
class Row:
    """A sample that the ledger holds: what was asked, and what was answered."""

    query: str
    prompt: str
    reply: str

    @property
    def is_asked(self) -> bool:
        """Whether a server was asked for it. Faces are read on this machine."""
        return not self.query.endswith("/faces")


@dataclass(frozen=True)
class Undisturbed:
    """A run that nobody killed: what it concluded, the samples that it stored, and the answers that it took."""

    summary: Mapping[str, object]
    rows: Counter[Row]
    answers: int


@dataclass(frozen=True)
class Kill:
    """One kill, and the `seconds` it took. `kept`: samples in the ledger when the run was dead, of `planned`."""

    kind: str
    victim: str
    kept: int
    planned: int
    in_vain: int
    again: int
    missing: int
    sound: bool
    equal: bool
    left: int
    seconds: float


class Servers:
    """The servers of one kind of run, and the options that name them."""

    def __init__(self, kind: str, latency: float = 0.0) -> None:
        self.stubs: tuple[ChatStub, ...]
        if kind == "images":
            self.stubs = (ImageStub(draw=painted, by_url=True, latency=latency),)
        elif kind == "judge":
            self.stubs = ChatStub(reply=speaks, latency=latency), ChatStub(reply=judges, latency=latency)
        else:
            self.stubs = (ChatStub(latency=latency),)
        self._kind = kind

    @property
    def answered(self) -> int:
        return sum(each.answered for each in self.stubs)

    @property
    def in_flight(self) -> int:
        return sum(each.in_flight for each in self.stubs)

    def given(self) -> tuple[str, ...]:
        address = self.stubs[0].base_url
        model = ("--model=openai/tiny", f"--base-url={address}")
        common = (f"--max-in-flight={IN_FLIGHT}", "-k")
        match self._kind:
            case "text":
                return (*model, *common, "crime", "--per-topic=1")
            case "rounds":
                return (*model, *common, "crime and not t2i", f"--thresholds={CHECKOUT / 'thresholds.toml'}")
            case "python":
                return ("--model=python/tests.servers.called:answer", *common, "crime", "--per-topic=1")
            case "images":
                painter = ("--t2i-model=openai/brush", f"--t2i-base-url={address}", "--detector=control/fairface")
                return (*painter, *common, "crime")
        judge = ("--judge=openai/wise", f"--judge-base-url={self.stubs[1].base_url}")
        return (*model, *judge, *common, "health", "-m", "f2bench")


@contextlib.contextmanager
def serving(kind: str, latency: float = 0.0) -> Iterator[Servers]:
    servers = Servers(kind, latency)
    with contextlib.ExitStack() as running:
        for each in servers.stubs:
            running.enter_context(each)
        os.environ[SERVER] = servers.stubs[0].base_url
        yield servers


def painted(prompt: str, _: int) -> bytes:
    """The same image whenever it is asked for."""
    chance = random.Random(zlib.crc32(prompt.encode()))  # noqa: S311 - draws people
    return portraits.draw([portraits.shown({}, Groups.of(load(), None).maps, chance)], (256, 256), chance)


def undisturbed(folder: Path, kind: str) -> Undisturbed:
    with serving(kind) as servers:
        summary = _concluded(folder, servers)
        return Undisturbed(summary, stored(folder / "ledger.sqlite"), servers.answered)


def _concluded(folder: Path, servers: Servers) -> Mapping[str, object]:
    """What a run to its end concludes. In this process: an interpreter's start costs more than the rest of the run."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        pytest.main(arguments(folder, *servers.given(), "-p", "no:xdist"))
    summary = folder / "report" / "summary.json"
    if not summary.exists():
        raise RuntimeError(said.getvalue())
    whole = json.loads(summary.read_text(encoding="utf-8"))
    return {part: whole[part] for part in COMPARED}


def kill(
    kind: str, victim: str, workers: int, chance: random.Random, folder: Path, expected: Mapping[str, Undisturbed]
) -> Kill:
    """Kill one run, start it again, and compare."""
    began, whole = time.monotonic(), expected[kind]
    folder.mkdir(parents=True)
    ledger, pids = folder / "ledger.sqlite", folder / "pids"
    pids.mkdir()
    spread = ("-n", str(workers)) if workers else ("-p", "no:xdist")
    with serving(kind, LATENCY) as servers:
        answers, pause = chance.randrange(whole.answers + 1), chance.random() * 2 * LATENCY
        run = (*servers.given(), *spread, "-p", "tests.plugin.roll_call")
        with started(folder, *run, env={"PIDS": str(pids)}) as process:
            _wait(lambda: servers.answered >= answers or process.poll() is not None)
            if kind == "python":
                _wait(lambda: bool(children(process.pid)) or process.poll() is not None)
            time.sleep(pause)
            own = children(process.pid)
            if victim == CHILD:
                _kill(chance.choice(own) if own else process.pid)
            elif victim == "worker":
                _wait(lambda: any(pids.iterdir()) or process.poll() is not None)
                _kill(int(chance.choice(sorted(pids.iterdir())).name))
            elif victim == "controller":
                _kill(process.pid)
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            finished(process, folder)
            left = left_of(own)
        _wait(lambda: servers.in_flight == 0)
        kept, answered = stored(ledger), servers.answered
        paid = sum(1 for row in kept.elements() if row.is_asked)
        sound = is_sound(ledger)
        concluded = _concluded(folder, servers)
        now = stored(ledger)
        return Kill(
            kind=kind,
            victim=victim,
            kept=kept.total(),
            planned=whole.rows.total(),
            in_vain=answered - paid,
            again=servers.answered - answered - (whole.answers - paid),
            missing=(whole.rows - now).total(),
            sound=sound and is_sound(ledger) and kept <= now == whole.rows,
            equal=concluded == whole.summary,
            left=left,
            seconds=time.monotonic() - began,
        )


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def children(pid: int) -> list[int]:
    """Processes of the user's own code that a run has started; of Linux alone."""
    try:
        found = [each for task in Path(f"/proc/{pid}/task").glob("*/children") for each in task.read_text().split()]
        return [int(each) for each in found if b"child_main" in Path(f"/proc/{each}/cmdline").read_bytes()]
    except OSError:
        return []


def left_of(pids: list[int]) -> int:
    """How many of these processes still run after a while."""
    end = time.monotonic() + GONE
    while running := [each for each in pids if _runs(each)]:
        if time.monotonic() > end:
            break
        time.sleep(0.05)
    return len(running)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"  # dead, and not yet asked for by its parent


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.005)


def stored(ledger: Path) -> Counter[Row]:
    """The samples that a ledger holds, looked at from outside."""
    if not ledger.exists():
        return Counter()
    with closing(sqlite3.connect(ledger)) as database:
        try:
            return Counter(Row(*each) for each in database.execute("SELECT query, prompt, reply FROM samples"))
        except sqlite3.OperationalError:
            return Counter()  # still without tables


def is_sound(ledger: Path) -> bool:
    if not ledger.exists():
        return True
    with closing(sqlite3.connect(ledger)) as database:
        return bool(database.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


def kills(
    count: int,
    seed: int,
    folder: Path,
    *,
    kinds: tuple[str, ...] = ("text",),
    victims: tuple[str, ...] = VICTIMS,
    workers: int = 1,
    jobs: int = 1,
) -> Iterator[Kill]:
    """So many kills, kinds and victims in turn, `jobs` at a time. Every eighth run has no workers, if that can be."""
    expected = {kind: undisturbed(folder / f"undisturbed-{kind}", kind) for kind in kinds}
    kind_of = [kinds[number % len(kinds)] for number in range(count)]
    victim_of = [victims[number // len(kinds) % len(victims)] for number in range(count)]
    workers_of = [0 if number % 8 == 7 and victim_of[number] != "worker" else workers for number in range(count)]
    chances = [random.Random(f"{seed}/{number}") for number in range(count)]  # noqa: S311
    folders = [folder / str(number) for number in range(count)]
    # A process of its own for each: pytest redirects what the whole process prints.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(kill, kind_of, victim_of, workers_of, chances, folders, [expected] * count)


def table(rounds: list[Kill]) -> str:
    head = (
        "| run | killed | kills | samples kept at the kill: least, median, most (of) | lost in flight: most (limit) | "
    )
    lines = [
        f"{head}asked again | missing after resuming | ledger sound | equal scores | left |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for kind, victim in sorted({(each.kind, each.victim) for each in rounds}):
        mine = [each for each in rounds if (each.kind, each.victim) == (kind, victim)]
        kept = sorted(each.kept for each in mine)
        spread = f"{kept[0]}, {statistics.median(kept):g}, {kept[-1]} ({mine[0].planned})"
        again, missing = sum(each.again for each in mine), sum(each.missing for each in mine)
        sound, equal = sum(each.sound for each in mine), sum(each.equal for each in mine)
        in_vain = max(each.in_vain for each in mine)
        lines.append(
            f"| {kind} | {victim} | {len(mine)} | {spread} | {in_vain} ({IN_FLIGHT}) | {again} | {missing} | "
            f"{sound} of {len(mine)} | {equal} of {len(mine)} | {sum(each.left for each in mine)} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=["text"])
    parser.add_argument("--victims", nargs="+", choices=(*VICTIMS, CHILD), default=list(VICTIMS))
    parser.add_argument("--workers", type=int, default=1, help="pytest's -n")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="kills at a time")
    options = parser.parse_args()
    rounds: list[Kill] = []
    with tempfile.TemporaryDirectory() as folder:
        given = {"kinds": tuple(options.kinds), "victims": tuple(options.victims), "workers": options.workers}
        for each in kills(options.kills, options.seed, Path(folder), jobs=options.jobs, **given):
            rounds.append(each)
            print(f"{len(rounds)}: {each}", file=sys.stderr, flush=True)
    print(table(rounds))


if __name__ == "__main__":
    main()
