"""Who is asked in a run, role by role: made once by the process that asks, and told to all others."""

from __future__ import annotations

import json
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fairgate.core.domain import Identity, Modality, Role
from fairgate.ledger.images import ImageStore
from fairgate.ledger.ledger import Ledger
from fairgate.providers.chat import registry as providers
from fairgate.providers.faces.registry import make_detector
from fairgate.providers.images import registry as image_models
from fairgate.sampling.limits import Limits
from fairgate.sampling.scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fairgate.benchmarks.case import Replies
    from fairgate.core.domain import Query, Reply
    from fairgate.gating.thresholds import Price, Thresholds
    from fairgate.options.settings import Settings
    from fairgate.providers.base import ChatModel
    from fairgate.runs.benchmarks import Benchmarks


class Participants:
    """The models under test, the judge and the detector of a run; nobody where a folder or a file stands in for them.

    `told` are their identities, by role, in a process that asks nobody. `callables` are objects of this process that
    stand in for the models of a role.
    """

    def __init__(
        self,
        settings: Settings,
        thresholds: Thresholds,
        benchmarks: Benchmarks,
        told: Mapping[str, Mapping[str, Any]],
        callables: Mapping[Role, Callable[..., object]] = MappingProxyType({}),
    ) -> None:
        self._settings, self._prices, self._benchmarks = settings, thresholds.prices, benchmarks
        self._callables = callables
        self._told = {Role(role): Identity(**whole) for role, whole in told.items()}

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """What there is a model for."""
        named = {Modality.TEXT: self._settings.model_spec, Modality.IMAGE: self._settings.t2i_spec}
        return tuple(modality for modality, spec in named.items() if spec is not None)

    @property
    def sampled(self) -> tuple[Modality, ...]:
        """What a model is asked for, and nothing stands in for."""
        read = {each.modality for each in self._benchmarks.all if each.read_from is not None}
        return tuple(modality for modality in self.modalities if modality not in read)

    @property
    def roles(self) -> tuple[Role, ...]:
        """Who is asked: no judge where none was named."""
        asked: tuple[Role, ...] = ()
        if Modality.TEXT in self.sampled:
            asked += (Role.MODEL,) if self._settings.judge_spec is None else (Role.MODEL, Role.SPEAKER, Role.JUDGE)
        if Modality.IMAGE in self.sampled:
            asked += (Role.IMAGE_MODEL, Role.DETECTOR)
        return asked

    def identity_of(self, role: Role) -> Identity:
        """What the ledger knows somebody by."""
        return self._told[role] if role in self._told else self.models[role].identity

    def told(self) -> dict[str, Any]:
        """Everybody's identity, of plain values."""
        return {str(role): json.loads(self.identity_of(role).canonical) for role in self.roles}

    def label(self, modality: Modality) -> str:
        """The model of a modality, or what stands in for it, as its user named it."""
        for each in self._benchmarks.all:
            if each.modality is modality and each.read_from is not None:
                return each.read_from
        return self.identity_of(Role.IMAGE_MODEL if modality is Modality.IMAGE else Role.MODEL).label

    def replies(self, ledger: Ledger) -> Replies:
        """What a ledger holds of whoever a query is put to."""
        known = {role: self.identity_of(role) for role in self.roles}

        def reply(query: Query) -> Reply | None:
            return ledger.reply(known[query.to], query)

        return reply

    @contextmanager
    def stored(self) -> Iterator[Replies]:
        """The same of the run's own ledger, which is not opened where nobody is asked."""
        if not self.roles:
            yield lambda _: None
            return
        with self.ledger() as ledger:
            yield self.replies(ledger)

    def ledger(self) -> Ledger:
        """The run's own ledger; of a run that is judged again it is only read, as it lies in whatever archive."""
        return Ledger(self._settings.ledger, write=not self._settings.replay, make=False)

    @cached_property
    def line(self) -> Scheduler:
        """Where the samples of this run wait, whoever they are asked of."""
        return Scheduler(Limits(self._settings.bounds, self.prices))

    @cached_property
    def prices(self) -> Mapping[str, Price]:
        """What those who are asked cost, by PROVIDER/NAME: what batches cost, where they are asked in batches."""
        settings = self._settings
        named = (settings.model_spec, settings.judge_spec) if settings.batch else ()
        batched = {spec for spec in named if spec is not None and spec.startswith(providers.BATCHED)}
        return {name: price.batched if name in batched else price for name, price in self._prices.items()}

    @cached_property
    def model(self) -> ChatModel:
        """The language model under test. Raises ConfigError where it cannot be had."""
        if Role.MODEL in self._callables:
            return self._called(Role.MODEL, self._settings.model_spec, self._settings.model_args)
        return providers.make(self._settings, self._benchmarks.all, self.line.step_aside)

    @cached_property
    def models(self) -> Mapping[Role, ChatModel]:
        """Everybody. Raises ConfigError where one of them cannot be had."""
        made = {Role.MODEL: self.model} if Role.MODEL in self.roles else {}
        if Role.IMAGE_MODEL in self.roles:
            store = ImageStore(self._settings.ledger)
            made[Role.IMAGE_MODEL] = self._image_model(store)
            made[Role.DETECTOR] = make_detector(self._settings, store, self.line.step_aside)
        if Role.JUDGE in self.roles:
            asked = (each.sampling(self._settings.model_spec or "") for each in self._benchmarks.all)
            usual = next((fields for fields in asked if fields is not None), None)
            # A paper samples some models in a way of its own; the others are asked as ever.
            made[Role.SPEAKER] = self.model if usual is None else self._speaker(usual)
            made[Role.JUDGE] = self._judge()
        return made

    def _called(self, role: Role, spec: str | None, arguments: Sequence[str]) -> ChatModel:
        from fairgate.providers.python.chat import PythonChat, revision

        _, name = providers.split(spec or "")
        return PythonChat(name, revision(arguments), self._settings.max_in_flight, self._callables[role])

    def _judge(self) -> ChatModel:
        if Role.JUDGE in self._callables:
            return self._called(Role.JUDGE, self._settings.judge_spec, self._settings.judge_args)
        return providers.make_judge(self._settings, self._benchmarks.all, self.line.step_aside)

    def _image_model(self, store: ImageStore) -> ChatModel:
        if Role.IMAGE_MODEL in self._callables:
            from fairgate.providers.python.chat import revision
            from fairgate.providers.python.images import PythonImageModel

            _, name = providers.split(self._settings.t2i_spec or "")
            which, places = revision(self._settings.t2i_args), self._settings.max_in_flight
            return PythonImageModel(name, store, which, places, self._callables[Role.IMAGE_MODEL])
        return image_models.make_image_model(self._settings, self._benchmarks.all, store, self.line.step_aside)

    def _speaker(self, usual: Mapping[str, object]) -> ChatModel:
        if Role.MODEL in self._callables:
            return self.model
        speaker = providers.make(self._settings, self._benchmarks.all, self.line.step_aside, usual)
        return self.model if speaker.identity == self.model.identity else speaker
