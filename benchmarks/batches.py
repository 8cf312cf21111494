"""Replies a second of a model in this process: a batch against one prompt at a time.

    python benchmarks/batches.py [--model hf/NAME] [--queries 64] [--sizes 1 4 16] [--tokens 8] [--threads 2]

Without a model a Llama of random weights is made, `--width` and `--layers` large (needs the extra `hf`). Replies a
second of processor time say the same on a busy machine.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import torch

from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.options import Profiles
from fairgate.benchmarks.fact_or_fair.queries import QueryPlan
from fairgate.benchmarks.fact_or_fair.topics import Context, Level, StatisticTopic, Task
from fairgate.core.domain import Modality, Query
from fairgate.providers.local.hf import Transformers
from fairgate.providers.local.options import Named, TextOptions
from tests.tiny_models import tiny_llama


def queries(count: int) -> list[Query]:
    topic = StatisticTopic("fact-or-fair", Modality.TEXT, Task.SUBJECTIVE, "crime-rate", Level.HIGH, Context.BASE)
    plan = QueryPlan(load(), 1, Profiles.BALANCED, objective=count, subjective=-(-count // 3))
    return [replace(query) for query in plan.queries(topic)][:count]


def _made(folder: Path, given: argparse.Namespace) -> str:
    return str(tiny_llama(folder, width=given.width, layers=given.layers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    parser.add_argument("--queries", type=int, default=64)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--tokens", type=int, default=8)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    given = parser.parse_args()
    if given.threads:
        torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as folder:
        name = given.model.removeprefix("hf/") if given.model else _made(Path(folder), given)
        arguments = [f"max_new_tokens={given.tokens}"]
        model = Transformers(Named.of("hf", name, arguments, TextOptions))
        asked = queries(given.queries)
        model.answer(asked[:1])
        print(f"{name}, {given.tokens} tokens, {torch.get_num_threads()} threads, cuda: {torch.cuda.is_available()}")
        alone: list[str] = []
        for size in given.sizes:
            began, used = perf_counter(), process_time()
            told = [reply for at in range(0, len(asked), size) for reply in model.answer(asked[at : at + size])]
            took, used = perf_counter() - began, process_time() - used
            alone = alone or [reply.text for reply in told]
            same = sum(reply.text == text for reply, text in zip(told, alone, strict=True))
            rates = f"{len(asked) / took:8.1f} replies/s, {len(asked) / used:8.1f} a second of processor time"
            print(f"batch {size:>3}: {rates}; {same} of {len(asked)} as at first")


if __name__ == "__main__":
    main()
