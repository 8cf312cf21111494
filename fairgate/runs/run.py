"""A run, as all of its processes share it: settings, benchmarks, participants, samples."""

from __future__ import annotations

import os
import re
import shlex
import uuid
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from fairgate.benchmarks.base import Circumstances, Offers
from fairgate.benchmarks.registry import registry
from fairgate.comparison.baseline import load as load_baseline
from fairgate.comparison.comparing import check
from fairgate.core.domain import AnswerKind, Role
from fairgate.core.errors import ConfigError, Unsampled
from fairgate.core.typed import Mistyped, edited
from fairgate.gating.gate import check_attributes, check_waivers
from fairgate.gating.thresholds import load as load_thresholds
from fairgate.providers.chat import registry as providers
from fairgate.providers.images import registry as painters
from fairgate.runs.benchmarks import benchmarks_of
from fairgate.runs.note import decode_note
from fairgate.runs.participants import Participants
from fairgate.runs.save_baseline import asked_by, check_keeping, parts_of
from fairgate.runs.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairgate.benchmarks.base import InterimAnalysis
    from fairgate.benchmarks.case import Case, Replies
    from fairgate.benchmarks.paired import Baseline
    from fairgate.core.domain import Identity, Topic
    from fairgate.core.errors import FairgateError
    from fairgate.ledger.ledger import Ledger
    from fairgate.ledger.samples import Sample
    from fairgate.options.settings import Settings
    from fairgate.runs.note import Look
    from fairgate.runs.past_run import Past
    from fairgate.runs.sampling import Sampling

CASE = re.compile(r"::test_(?P<test>\w+)\[(?P<id>[^\]]+)\]$")


class Run:
    """One run of the gate. `told`: what a worker was told by the process that started it; `past`: whom it recalls.

    `callables` are objects of this process that stand in for the models of a role.
    """

    def __init__(
        self,
        settings: Settings,
        told: Mapping[str, Any] | None = None,
        past: Past | None = None,
        callables: Mapping[Role, Callable[..., object]] = MappingProxyType({}),
    ) -> None:
        if past is not None:
            settings = replace(settings, imageless=Role.PAINTER not in past.identities)
        self.settings, self.past = settings, past
        if past is not None:
            # Who was asked is known: no model is made, and no key needed.
            told = {"run": past.id, "identities": to_builtins(past.identities)}
        self.id: str = told["run"] if told else uuid.uuid4().hex
        self.sampling: Sampling | None = None
        self._latest: tuple[Topic, Sequence[Sample]] | None = None
        self._waiting = Waiting(self.id, os.getppid() if told else None, self._trouble)
        self.thresholds = load_thresholds(settings.thresholds, registry())
        size = self.thresholds.plan(settings.plan) if past is None else next(iter(self.thresholds.plans.values()))
        self.in_rounds = past is None and (settings.in_rounds(size.rounds))
        if settings.model_spec is not None:
            providers.split(settings.model_spec)
        if settings.t2i_spec is not None:
            painters.split(settings.t2i_spec)
        self.whole = self.benchmarks = benchmarks_of(settings, self.thresholds, size, past)
        if past is not None:
            self._catch_up(past.note.looks, past.where)
        check_attributes(self.thresholds, self.benchmarks.attributes, str(settings.thresholds))
        check_waivers(self.thresholds, registry(), self.benchmarks.attributes, str(settings.thresholds))
        providers.check_judge(settings)
        providers.check_batch(settings)
        self._check_prices()
        identities = told["identities"] if told else {}
        self.participants = Participants(settings, self.thresholds, self.benchmarks, identities, callables)
        self._check_calibration()
        check_keeping(self)
        self.baseline = None if settings.baseline is None else self._comparable(settings.baseline)
        if past is not None:
            self._check_told(past)
            for name, version in self.benchmarks.versions(self.participants.roles).items():
                past.check(name, version)

    def _check_told(self, past: Past) -> None:
        """That everybody whom the past run asked is named: no model is made from what a ledger says."""
        lost = [str(role) for role in self.participants.roles if role not in past.identities]
        if lost:
            raise edited(Mistyped(f"it names nobody as {lost[0]}, whom the run asked", "identities", ""), past.where)

    def _check_calibration(self) -> None:
        """A calibration corrects what a detector read: where none reads anything, it would be ignored."""
        if self.settings.calibration is not None and Role.DETECTOR not in self.participants.roles:
            raise ConfigError(
                f"{self.settings.calibration}: no images are read that it could correct.",
                where="--calibration",
                hint="Name a text-to-image model (--t2i-model), or remove it.",
            )

    def _check_prices(self) -> None:
        """A budget in USD needs the price of whoever is asked; controls cost nothing."""
        if self.settings.budget_usd is None:
            return
        for spec in (self.settings.model_spec, self.settings.judge_spec, self.settings.t2i_spec):
            free = ("control/", "results/", "folder/")
            if spec is None or spec in self.thresholds.prices or spec.startswith(free):
                continue
            raise ConfigError(
                f"no price is known for {spec}.",
                where="--budget-usd",
                hint=f'Add it to {self.settings.thresholds}, in USD per million tokens: [prices."{spec}"] input = 0.15,'
                " output = 0.60, date = 2026-03-23, each on a line of its own.",
            )

    # What is asked

    @cached_property
    def cases(self) -> dict[tuple[str, str], Case]:
        """Every case there can be, by the name of its test function (without `test_`) and its id."""
        return {(case.test, case.id): case for benchmark in self.benchmarks.all for case in benchmark.cases}

    def case_of(self, nodeid: str) -> Case | None:
        """The case that a pytest node id names, None where it is no case of ours."""
        found = CASE.search(nodeid)
        return self.cases.get((found["test"], found["id"])) if found else None

    @cached_property
    def offers(self) -> Offers:
        """The models of the run."""
        settings, participants = self.settings, self.participants
        from_folder = (settings.t2i_spec or "").startswith("folder/")
        return Offers(
            frozenset(participants.modalities),
            frozenset(participants.sampled),
            Role.JUDGE in participants.roles,
            from_folder,
        )

    def asks(self, case: Case) -> bool:
        """Whether there are the models that a case needs; of a past run, whether it asked it."""
        if self.past is not None and case.name not in self.past.cases:
            return False
        return self.benchmarks.of(case.topic).applies(case, self.offers)

    @property
    def data_version(self) -> str:
        """The version of the data, as the first of the benchmarks has it."""
        return self.benchmarks.all[0].data_version

    @property
    def profiles(self) -> str:
        """How the people in the prompts were drawn."""
        noted = (benchmark.note().get("profiles") for benchmark in self.benchmarks.all)
        return next((each for each in noted if each is not None), "")

    def size(self, topic: Topic) -> int:
        """Planned samples of a topic."""
        return self.benchmarks.of(topic).size(topic)

    def command(self, case: Case) -> str:
        """How to run this case alone, with the options of this run."""
        file = registry().test_module(case.topic.benchmark, case.test).replace(".", "/")
        return shlex.join(["fairgate", "run", f"tests_bench/{file}.py::test_{case.name}", *self.settings.options()])

    @cached_property
    def deciding(self) -> int:
        """The cases of the whole plan that can fail by themselves, whatever part of it was selected."""
        deciding = (case for case in self.cases.values() if self.benchmarks.of(case.topic).decides(case))
        return sum(case.topic.modality in self.participants.modalities for case in deciding)

    def case_alpha(self, case: Case) -> float:
        """The level of one case: that of all of them, shared by all that can fail, and by all looks at it."""
        look = self.benchmarks.settled.get(self.benchmarks.stratum(case.topic) or "")
        return self.thresholds.cases.alpha * (1.0 if look is None else look.share) / self.deciding

    def settle(self, looks: Mapping[str, InterimAnalysis]) -> None:
        """Of what is asked in rounds the run asked so much, and no more."""
        self.benchmarks = self.whole.at(looks)

    def _catch_up(self, looks: Mapping[str, Look], where: str) -> None:
        """Know what the process that asks has settled on."""
        if looks and not self.benchmarks.settled:
            self.benchmarks = self.benchmarks.noted(looks, where)

    # Of whom

    def told(self) -> dict[str, Any]:
        """What a worker must be told, of plain values: it makes no model, and has the same run."""
        return {"run": self.id, "identities": self.participants.told()}

    def circumstances(self, reply: Replies) -> Circumstances:
        """What the scores depend on beside the samples."""
        settings, participants = self.settings, self.participants

        def identity(role: Role) -> Identity | None:
            return participants.identity_of(role) if role in participants.roles else None

        return Circumstances(
            reply,
            settings.key,
            settings.seed,
            settings.calibration,
            identity(Role.DETECTOR),
            identity(Role.JUDGE),
            settings.scoring,
        )

    # Where it is kept

    @property
    def ledger_shown(self) -> str:
        """The ledger's path as a reader sees it, below the current folder where it is."""
        path = self.settings.ledger
        here = Path.cwd()
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    @property
    def ledger_is_new(self) -> bool:
        """Whether the ledger is still to be made: a mistyped path would ask everything again."""
        return not self.settings.ledger.exists()

    def _comparable(self, path: Path) -> Baseline:
        """The baseline. Raises ConfigError where it asked otherwise, before anything is asked here."""
        if not self.participants.roles:
            raise ConfigError("there are no answers to compare.", where="--baseline", hint="Name a model.")
        parts = parts_of(self)
        found = load_baseline(path, parts)
        check(found, asked_by(self), f"--baseline {path}", parts, common=self.settings.compare_common)
        return found

    def wait_for(self, topic: Topic) -> Sequence[Sample]:
        """Wait until the topic is sampled, and give its samples. Raises Unsampled where too many are missing."""
        if self._latest is None or self._latest[0] != topic:
            # The cases of a topic's attributes follow one another.
            self._latest = topic, self._waited_for(topic)
        return self._latest[1]

    def wait_until_answered(self, topic: Topic) -> None:
        """The same, where what this process counted as it came makes reading needless."""
        benchmark = self.benchmarks.of(topic)
        if self.sampling is not None and not benchmark.is_heard(topic):
            with self.participants.ledger() as ledger:
                self._wait(topic, ledger)
        if not self.benchmarks.of(topic).is_heard(topic):
            self.wait_for(topic)

    def _waited_for(self, topic: Topic) -> Sequence[Sample]:
        with self.participants.ledger() as ledger:
            stopped = self._wait(topic, ledger)
            if self.in_rounds and self.whole.stratum(topic) is not None and not self.benchmarks.settled:
                note, _ = decode_note(ledger.runs.about(self.id), str(ledger.path))
                self._catch_up(note.looks, str(ledger.path))
            benchmark = self.benchmarks.of(topic)
            reply = self.participants.replies(ledger)
            samples, missing = benchmark.read(topic, reply)
            planned = benchmark.answers(topic)
            if missing and stopped is not None:
                raise Unsampled(f"{missing} of {planned} samples were not asked: {stopped}")
            if missing and benchmark.needs_judge(topic) and (unfit := self.benchmarks.unfit(reply)) is not None:
                raise Unsampled(f"{missing} of {planned} samples were not asked: the judge is not fit: {unfit}")
            # One lost call of three says nothing against a topic; the rate over all of them has a limit of its own.
            if missing > max(1, self.thresholds.allowed.failed * planned / 100):
                last = [sample.query for sample in samples if sample.answer.kind is AnswerKind.FAILED][-1]
                reason = ledger.failure(self.id, self.participants.identity_of(last.to), last) or "no reason is known"
                raise Unsampled(
                    f"{missing} of {planned} samples failed, more than {self.thresholds.allowed.failed:g} %."
                    f" The last: {reason}",
                    where=topic.id,
                    hint="Run again: what was answered is kept, only these are asked.",
                )
            return samples

    def _wait(self, topic: Topic, ledger: Ledger) -> str | None:
        """None once the topic is sampled, or why the run stopped before."""
        if self.past is None:
            return self._waiting.until_sampled(topic, ledger)
        over = self._trouble() is None or ledger.runs.is_sampled(self.id, topic.id)
        return None if over else self.past.message or "the run was cut off"

    def _trouble(self) -> FairgateError | None:
        return None if self.sampling is None else self.sampling.trouble
