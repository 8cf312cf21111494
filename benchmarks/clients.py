"""What is measured by benchmarks/throughput.py: each asks N prompts, so many at once, and ends. One process each.

`python -m benchmarks.clients NAME BASE_URL N IN_FLIGHT`
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers import PEERS
from benchmarks.stub import pin
from fairgate.benchmarks.fact_or_fair.cases import OWN_TASKS, text_cases
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.core.domain import Identity, Modality, Reply, Role

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fairgate.benchmarks.fact_or_fair.topics import StatisticTopic
    from fairgate.core.domain import Query
    from fairgate.providers.base import ChatModel

PER_TOPIC = 522  # samples that --per-topic 1 comes to


def prompts(n: int) -> Iterator[str]:
    """The very prompts that the gate asks, built as it goes."""
    dataset = load()
    each = -(-n // PER_TOPIC)
    plan = QueryPlan(dataset, seed=0, profiles=Profiles.RANDOM, objective=each, subjective=each)
    made: Iterator[Query] = itertools.chain.from_iterable(plan.queries(topic) for topic in topics())
    return (query.prompt for query in itertools.islice(made, n))


def topics() -> tuple[StatisticTopic, ...]:
    dataset = load()
    return tuple(dict.fromkeys(case.topic for task in OWN_TASKS for case in text_cases(dataset, task)))


def body(prompt: str) -> bytes:
    return json.dumps({"model": "stub", "temperature": 0, "messages": [{"role": "user", "content": prompt}]}).encode()


async def over(n: int, in_flight: int, ask: Callable[[bytes], Awaitable[bytes]]) -> None:
    """A loop as bare as it can be: workers that share the prompts, and read the reply out of each answer."""
    left = prompts(n)

    async def work() -> None:
        for prompt in left:
            json.loads(await ask(body(prompt)))["choices"][0]["message"]["content"]

    await asyncio.gather(*(work() for _ in range(in_flight)))


def bare_aiohttp(base_url: str, n: int, in_flight: int) -> None:
    import aiohttp

    async def run() -> None:
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

            async def ask(sent: bytes) -> bytes:
                async with session.post(f"{base_url}/chat/completions", data=sent) as answer:
                    return await answer.read()

            await over(n, in_flight, ask)

    asyncio.run(run())


def bare_httpx2(base_url: str, n: int, in_flight: int) -> None:
    import httpx2

    async def run() -> None:
        limits = httpx2.Limits(max_connections=in_flight, max_keepalive_connections=in_flight)
        async with httpx2.AsyncClient(limits=limits, timeout=120) as client:

            async def ask(sent: bytes) -> bytes:
                url, headers = f"{base_url}/chat/completions", {"Content-Type": "application/json"}
                return (await client.post(url, content=sent, headers=headers)).content

            await over(n, in_flight, ask)

    asyncio.run(run())


def transport(base_url: str, n: int, in_flight: int, *, fast: bool) -> None:
    """One of our transports, and nothing else of ours."""
    import httpx2

    from fairgate.providers.http.transports import FAST, content_of, transport_to, usable

    os.environ[FAST] = str(int(fast))

    async def run() -> None:
        url = httpx2.URL(f"{base_url}/chat/completions")
        async with usable(transport_to(url, total=120)) as sender:

            async def ask(sent: bytes) -> bytes:
                request = httpx2.Request("POST", url, headers={"Content-Type": "application/json"}, content=sent)
                return await content_of(await sender.handle_async_request(request), 2**24)

            await over(n, in_flight, ask)

    asyncio.run(run())


def bare_pyreqwest(base_url: str, n: int, in_flight: int) -> None:
    from pyreqwest.client import ClientBuilder

    async def run() -> None:
        headers = {"Content-Type": "application/json"}
        async with ClientBuilder().no_proxy().default_headers(headers).build() as client:

            async def ask(sent: bytes) -> bytes:
                answer = await client.post(f"{base_url}/chat/completions").body_bytes(sent).build().send()
                return bytes(await answer.bytes())

            await over(n, in_flight, ask)

    asyncio.run(run())


class AtOnce:
    """A model that answers without a server: what is left is everything but the request."""

    identity = Identity("openai", "stub", "http://127.0.0.1/v1", {"temperature": 0})

    async def ask(self, query: Query) -> Reply:  # noqa: ARG002
        return Reply('{"answer": "A"}', prompt_tokens=150, completion_tokens=7, served_model="stub")

    async def close(self) -> None:
        """There is nothing to give back."""


def ours_sampler(base_url: str, n: int, in_flight: int, *, at_once: bool = False, fast: bool = True) -> None:
    """The sampler alone: prompts, requests, parsing, ledger; without pytest."""
    from fairgate.options.settings import Bounds
    from fairgate.providers.chat.openai import OpenAIChat
    from fairgate.providers.endpoint import Server
    from fairgate.providers.http.transports import FAST
    from fairgate.providers.retries import Retries
    from fairgate.sampling.limits import Limits
    from fairgate.sampling.sampler import Sampler, Work
    from fairgate.sampling.scheduler import Scheduler

    os.environ[FAST] = str(int(fast))
    each = -(-n // PER_TOPIC)
    plan = QueryPlan(load(), seed=0, profiles=Profiles.RANDOM, objective=each, subjective=each)
    line = Scheduler(Limits(Bounds(in_flight=in_flight)))
    retries = Retries(aside=line.step_aside)
    http = OpenAIChat("stub", Server(base_url, max_in_flight=in_flight, retries=retries))
    model: ChatModel = AtOnce() if at_once else http
    with tempfile.TemporaryDirectory() as folder:
        sampler = Sampler(
            Work(
                topics=topics(),
                queries=plan.queries,  # type: ignore[arg-type] # no themes are among the topics
                planned={Modality.TEXT: n},
            ),
            {Role.MODEL: model},
            ledger=Path(folder) / "ledger.sqlite",
            run="benchmark",
            line=line,
        )
        sampler.start()
        sampler.wait()
        if sampler.error is not None:
            raise sampler.error


def prompts_alone(base_url: str, n: int, in_flight: int) -> None:  # noqa: ARG001
    """What building the prompts takes, and nothing else."""
    for _ in prompts(n):
        pass


def peer(name: str) -> Callable[[str, int, int], None]:
    """A peer with the gate's own prompts."""
    drive = PEERS[name][1]
    return lambda base_url, n, in_flight: drive(base_url, prompts(n), in_flight)


CLIENTS: dict[str, Callable[[str, int, int], None]] = {
    "aiohttp loop": bare_aiohttp,
    "httpx2 loop": bare_httpx2,
    "pyreqwest loop": bare_pyreqwest,
    "transport": lambda *given: transport(*given, fast=False),
    "transport, fast": lambda *given: transport(*given, fast=True),
    "fairgate sampler": lambda *given: ours_sampler(*given, fast=False),
    "fairgate sampler, fast": ours_sampler,
    "fairgate sampler, no requests": lambda *given: ours_sampler(*given, at_once=True),
    "prompts alone": prompts_alone,
    **{name: peer(name) for name in PEERS},
}


def main() -> None:
    name, base_url, n, in_flight = sys.argv[1:5]
    pin(0)
    CLIENTS[name](base_url, int(n), int(in_flight))


if __name__ == "__main__":
    main()
