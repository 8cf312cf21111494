"""kill -9 of a worker, of the controlling process, of everything, at random moments: what is kept, what is asked again.

Run it:  python benchmarks/kills.py --kills 100

A server of our own on 127.0.0.1 counts what it is asked. In each round a run of a small part (`-k crime --per-topic 1`)
is killed after a random number of answers and a random pause, then started again on the same ledger. "In vain" are
answers that were under way when the run died; "again" are samples that were asked although the ledger held them.
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
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.running import PATIENCE, arguments, finished, started
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

IN_FLIGHT = 4
LATENCY = 0.05  # seconds
VICTIMS = ("worker", "controller", "everything")
# What a verdict stands on; calls and times differ by nature.
COMPARED = ("verdict", "scores", "gates", "findings", "rates", "shares", "leaderboard")


@dataclass(frozen=True)
class Undisturbed:
    """A run that nobody killed: what it concluded, and the prompts that it asked."""

    summary: Mapping[str, object]
    prompts: Counter[str]


@dataclass(frozen=True)
class Kill:
    """One round, and the `seconds` it took. `kept`: samples in the ledger when the run was dead."""

    victim: str
    kept: int
    in_vain: int
    again: int
    missing: int
    sound: bool
    equal: bool
    seconds: float


def given(stub: ChatStub) -> tuple[str, ...]:
    server = ("--model=openai/tiny", f"--base-url={stub.base_url}", f"--max-in-flight={IN_FLIGHT}")
    return (*server, "-k", "crime", "--per-topic=1")


def undisturbed(folder: Path) -> Undisturbed:
    with ChatStub() as stub:
        return Undisturbed(_concluded(folder, stub), Counter(stub.prompts))


def _concluded(folder: Path, stub: ChatStub) -> Mapping[str, object]:
    """What a run to its end concludes. In this process: an interpreter's start costs more than the rest of the run."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        pytest.main(arguments(folder, *given(stub), "-p", "no:xdist"))
    summary = folder / "report" / "summary.json"
    if not summary.exists():
        raise RuntimeError(said.getvalue())
    whole = json.loads(summary.read_text(encoding="utf-8"))
    return {part: whole[part] for part in COMPARED}


def kill(victim: str, chance: random.Random, folder: Path, expected: Undisturbed) -> Kill:
    """Kill one run, start it again, and compare."""
    began = time.monotonic()
    folder.mkdir(parents=True)
    ledger, pids = folder / "ledger.sqlite", folder / "pids"
    pids.mkdir()
    workers = ("-p", "no:xdist") if victim == "everything" and chance.random() < 0.5 else ("-n", "1")
    with ChatStub(latency=LATENCY) as stub:
        answers, pause = chance.randrange(expected.prompts.total() + 1), chance.random() * 2 * LATENCY
        run = (*given(stub), *workers, "-p", "tests.plugin.roll_call")
        with started(folder, *run, env={"PIDS": str(pids)}) as process:
            _wait(lambda: stub.answered >= answers or process.poll() is not None)
            time.sleep(pause)
            if victim == "worker":
                _wait(lambda: any(pids.iterdir()) or process.poll() is not None)
                _kill(int(chance.choice(sorted(pids.iterdir())).name))
            elif victim == "controller":
                _kill(process.pid)
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            finished(process, folder)
        _wait(lambda: stub.in_flight == 0)
        kept, asked = stored(ledger), len(stub.prompts)
        sound = is_sound(ledger)
        concluded = _concluded(folder, stub)
        resumed = Counter(stub.prompts[asked:])
        return Kill(
            victim=victim,
            kept=kept.total(),
            in_vain=asked - kept.total(),
            again=(resumed & kept).total(),
            missing=(expected.prompts - kept - resumed).total(),
            sound=sound and is_sound(ledger) and stored(ledger) == expected.prompts,
            equal=concluded == expected.summary,
            seconds=time.monotonic() - began,
        )


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _wait(until: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not until():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.005)


def stored(ledger: Path) -> Counter[str]:
    """The prompts of the samples that a ledger holds, looked at from outside."""
    if not ledger.exists():
        return Counter()
    with closing(sqlite3.connect(ledger)) as database:
        try:
            return Counter(prompt for (prompt,) in database.execute("SELECT prompt FROM samples"))
        except sqlite3.OperationalError:
            return Counter()  # still without tables


def is_sound(ledger: Path) -> bool:
    if not ledger.exists():
        return True
    with closing(sqlite3.connect(ledger)) as database:
        return bool(database.execute("PRAGMA integrity_check").fetchone()[0] == "ok")


def kills(count: int, seed: int, folder: Path, jobs: int = 1) -> Iterator[Kill]:
    """So many rounds, the victims in turn, `jobs` at a time."""
    expected = undisturbed(folder / "undisturbed")
    victims = [VICTIMS[number % len(VICTIMS)] for number in range(count)]
    chances = [random.Random(f"{seed}/{number}") for number in range(count)]  # noqa: S311
    folders = [folder / str(number) for number in range(count)]
    # A process of its own for each: pytest redirects what the whole process prints.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(kill, victims, chances, folders, [expected] * count)


def table(rounds: list[Kill]) -> str:
    head = "| killed | kills | samples kept at the kill: least, median, most | in vain: most (limit) | asked again | "
    lines = [
        f"{head}missing after resuming | ledger sound | equal scores |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for victim in (*VICTIMS, "all"):
        mine = [each for each in rounds if victim in (each.victim, "all")]
        if mine:
            kept = sorted(each.kept for each in mine)
            spread = f"{kept[0]}, {statistics.median(kept):g}, {kept[-1]}"
            again, missing = sum(each.again for each in mine), sum(each.missing for each in mine)
            sound, equal = sum(each.sound for each in mine), sum(each.equal for each in mine)
            in_vain = max(each.in_vain for each in mine)
            lines.append(
                f"| {victim} | {len(mine)} | {spread} | {in_vain} ({IN_FLIGHT}) | {again} | {missing} | "
                f"{sound} of {len(mine)} | {equal} of {len(mine)} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time")
    options = parser.parse_args()
    rounds: list[Kill] = []
    with tempfile.TemporaryDirectory() as folder:
        for each in kills(options.kills, options.seed, Path(folder), options.jobs):
            rounds.append(each)
            print(f"{len(rounds)}: {each}", file=sys.stderr, flush=True)
    print(table(rounds))


if __name__ == "__main__":
    main()
