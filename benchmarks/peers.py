"""Other evaluation tools, each asking our stub the gate's own prompts through its own public interface.

Each is measured where it is installed (`pip install 'fairgate[peers]'`), as it is configured by default but for what
makes it comparable: the same prompts, as many in flight, no reports to the screen, no telemetry. What they do with a
reply is theirs: Inspect and lm-evaluation-harness score it by its first letter, DeepEval by a metric that only asks.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TARGET = '{"answer": "A"}'

TASK = """
task: asked
dataset_path: json
dataset_kwargs: {{data_files: {{test: {file}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{prompt}}}}"
doc_to_target: "{{{{target}}}}"
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""


def inspect_ai(base_url: str, prompts: Iterator[str], in_flight: int) -> None:
    """A task of samples, `generate`, a scorer; its log goes to a folder that is thrown away."""
    from inspect_ai import Task, eval  # noqa: A004 - its name
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import includes
    from inspect_ai.solver import generate

    samples = [Sample(input=prompt, target=TARGET) for prompt in prompts]
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=includes())
    with tempfile.TemporaryDirectory() as folder:
        logs = eval(
            task,
            model="openai/stub",
            model_base_url=base_url,
            model_args={"api_key": "none", "responses_api": False},
            max_connections=in_flight,
            max_samples=in_flight,
            temperature=0,
            display="none",
            log_dir=folder,
        )
    if logs[0].status != "success":
        sys.exit(f"inspect-ai: {logs[0].error}")


def deepeval(base_url: str, prompts: Iterator[str], in_flight: int) -> None:
    """`evaluate` with a metric of our own, which asks DeepEval's client for local models once a test case."""
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_NO_INSPECT_PROMPT": "1"}
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import BaseMetric
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase

    model = LocalModel(model="stub", api_key="none", base_url=base_url, temperature=0)

    class Asks(BaseMetric):  # type: ignore[misc] # deepeval carries no types
        threshold = 0.0
        async_mode = True

        def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
            raise NotImplementedError(test_case)

        async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
            reply, _cost = await model.a_generate(test_case.input)
            self.score = float(reply == TARGET)
            self.success = True
            return self.score

        def is_successful(self) -> bool:
            return True

        @property
        def __name__(self) -> str:
            return "asks"

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # it keeps a folder of its own in the working one
        evaluate(
            [LLMTestCase(input=prompt, actual_output="") for prompt in prompts],
            [Asks()],
            async_config=AsyncConfig(max_concurrent=in_flight),
            display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
            cache_config=CacheConfig(write_cache=False, use_cache=False),
        )


def lm_eval(base_url: str, prompts: Iterator[str], in_flight: int) -> None:
    """Its command line, with a task of our own and its client for chat servers."""
    with tempfile.TemporaryDirectory() as folder:
        asked, here = Path(folder, "asked.jsonl"), Path(folder)
        asked.write_text("".join(json.dumps({"prompt": prompt, "target": TARGET}) + "\n" for prompt in prompts))
        (here / "asked.yaml").write_text(TASK.format(file=json.dumps(str(asked))))
        server = f"model=stub,base_url={base_url}/chat/completions,num_concurrent={in_flight},tokenized_requests=False"
        command = [
            *(sys.executable, "-m", "lm_eval", "--model", "local-chat-completions", "--model_args", server),
            *("--tasks", "asked", "--include_path", folder, "--apply_chat_template"),
        ]
        offline = {"HF_HOME": folder, "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "none"}
        subprocess.run(command, check=True, env=dict(os.environ) | offline)  # noqa: S603 - our own interpreter


PEERS: dict[str, tuple[str, Callable[[str, Any, int], None]]] = {
    "Inspect": ("inspect_ai", inspect_ai),
    "DeepEval": ("deepeval", deepeval),
    "lm-evaluation-harness": ("lm_eval", lm_eval),
}


def installed() -> dict[str, bool]:
    """Which peers this interpreter can import, by name. Nothing is imported for it."""
    return {name: importlib.util.find_spec(module) is not None for name, (module, _) in PEERS.items()}
