"""A run: what is asked for, the sampler that gets it, the cases that wait for it, and the report at the end."""

from __future__ import annotations

import json
import shlex
import time
import uuid
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairgate.domain import AnswerKind, Task
from fairgate.errors import FairgateError, RunStopped
from fairgate.fact_or_fair.cases import Case, text_cases
from fairgate.fact_or_fair.data import load as load_dataset
from fairgate.fact_or_fair.queries import QueryPlan
from fairgate.ledger import Ledger, RunState
from fairgate.models import providers
from fairgate.models.base import Identity
from fairgate.sampler import Progress, Sampler
from fairgate.samples import Sample, from_ledger
from fairgate.thresholds import load as load_thresholds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fairgate.domain import Topic
    from fairgate.models.base import ChatModel
    from fairgate.settings import Settings

SILENCE = 60.0  # seconds without a sign of the sampler, after which a waiting case gives up
POLL = (0.01, 0.2)  # seconds between two looks at the ledger, at first and at most


class Run:
    """One run of the gate, as every process of it knows it: what is asked, of whom, and where the answers are."""

    def __init__(self, settings: Settings, told: Mapping[str, Any] | None = None) -> None:
        self.settings = settings
        self.id: str = told["run"] if told else uuid.uuid4().hex
        self._identity = Identity(**told["identity"]) if told else None
        self.thresholds = load_thresholds(settings.thresholds)
        self.dataset = load_dataset(overlay=settings.data, scenarios=settings.scenarios)
        size = self.thresholds.plan(settings.plan)
        self.plan = QueryPlan(
            self.dataset,
            seed=settings.seed,
            profiles=settings.profiles,
            objective=settings.per_topic or size.objective,
            subjective=settings.per_topic or size.subjective,
        )
        providers.split(settings.model_spec)

    def told(self) -> dict[str, Any]:
        """What a worker must be told, of plain values: it makes no model, and has the same run."""
        return {"run": self.id, "identity": json.loads(self.identity.canonical)}

    @cached_property
    def model(self) -> ChatModel:
        """The model under test, made once. Raises ConfigError where it cannot be had."""
        return providers.make(self.settings, self.dataset)

    @property
    def ledger_shown(self) -> str:
        """The ledger's path as a reader sees it, below the current folder where it is."""
        path = self.settings.ledger
        here = Path.cwd()
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    @cached_property
    def cases(self) -> dict[tuple[str, str], Case]:
        """Every case of the whole plan, by task and id."""
        return {(str(task), case.id): case for task in Task for case in text_cases(self.dataset, task)}

    @property
    def identity(self) -> Identity:
        """What the ledger knows the model under test by; a worker is told it, and never makes a model."""
        return self._identity or self.model.identity

    def command(self, case: Case) -> str:
        """How to run this case alone, with the options of this run."""
        test = f"tests_bench/fact_or_fair/test_{case.topic.task}.py::test_{case.topic.task}[{case.id}]"
        return shlex.join(["pytest", test, *self.settings.options()])

    def read(self, topic: Topic, ledger: Ledger) -> list[Sample]:
        """The topic's samples as the ledger holds them."""
        return list(from_ledger(ledger, self.identity, self.plan.queries(topic)))

    def wait_for(self, topic: Topic) -> Sequence[Sample]:
        """Wait until the topic is sampled, and give its samples. Raises FairgateError where too many are missing."""
        with Ledger(self.settings.ledger) as ledger:
            stopped = self._wait(topic, ledger)
            samples = self.read(topic, ledger)
            failed = [sample.query for sample in samples if sample.answer.kind is AnswerKind.FAILED]
            if failed and stopped is not None:
                raise RunStopped(f"{len(failed)} of {len(samples)} samples were not asked: {stopped}")
            if 100 * len(failed) > self.thresholds.allowed.failed * len(samples):
                reason = ledger.failure(self.id, self.identity, failed[-1]) or "no reason is known"
                raise FairgateError(
                    f"{len(failed)} of {len(samples)} samples failed, more than {self.thresholds.allowed.failed:g} %."
                    f" The last: {reason}",
                    where=topic.id,
                    mend="Run again: what was answered is kept, only these are asked.",
                )
            return samples

    def _wait(self, topic: Topic, ledger: Ledger) -> str | None:
        """None once the topic is sampled, or why the run stopped before."""
        pause, heard, beat = POLL[0], time.monotonic(), -1
        while not ledger.is_sampled(self.id, topic.id):
            status = ledger.status(self.id)
            if status is not None and status.state is not RunState.SAMPLING:
                # The topic may have been finished between the two looks.
                return None if ledger.is_sampled(self.id, topic.id) else status.message or "the run ended"
            if status is not None and status.beat != beat:
                heard, beat = time.monotonic(), status.beat
            if time.monotonic() - heard > SILENCE:
                return f"nothing was heard of the sampler for {SILENCE:g} seconds"
            time.sleep(pause)
            pause = min(pause * 1.5, POLL[1])
        return None


class Sampling:
    """The controlling process's part of a run: one sampler for all selected cases."""

    def __init__(self, run: Run, selected: Iterable[Case]) -> None:
        self.run = run
        self.cases = tuple(dict.fromkeys(selected))
        self.topics = tuple(dict.fromkeys(case.topic for case in self.cases))
        self.planned = sum(map(run.plan.size, self.topics))
        # What is wrong with the model's name or the ledger's file is said before anything is asked.
        model = run.model
        Ledger(run.settings.ledger).close()
        self._sampler = Sampler(
            topics=self.topics,
            queries=run.plan.queries,
            planned=self.planned,
            model=model,
            ledger=run.settings.ledger,
            run=run.id,
            max_in_flight=run.settings.max_in_flight,
        )

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._sampler.progress

    @property
    def trouble(self) -> FairgateError | None:
        """What ended the sampling early, if anything did."""
        return self._sampler.error

    def start(self) -> None:
        """Begin to ask, in the background."""
        self._sampler.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Ask no more, and wait for the sampler to give its connections back."""
        self._sampler.stop()
        self._sampler.wait(timeout)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the sampling."""
        return self._sampler.wait(timeout)
