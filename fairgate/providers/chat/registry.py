"""PROVIDER/NAME -> the model that it names."""

from __future__ import annotations

import difflib
import json
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError
from fairgate.options.settings import CONTROL_JUDGE
from fairgate.providers.headers import Headers, headers_of
from fairgate.providers.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.ledger.images import ImageStore
    from fairgate.options.settings import Settings
    from fairgate.providers.base import ChatModel
    from fairgate.providers.chat.http_chat import Body
    from fairgate.providers.endpoint import Server
    from fairgate.providers.retries import Aside

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com/v1"
PROVIDERS = ("anthropic", "azure", "control", "hf", "litellm", "openai", "python", "results", "vllm")
HTTP = ("anthropic", "azure", "openai")  # spoken to here
BATCHED = ("azure/", "openai/")
WEIGHING = ("azure", "hf", "litellm", "openai")  # that can be asked for probabilities
FORMING = ("azure", "litellm", "openai")  # that can be asked to keep an answer to a schema


def split(spec: str, option: str = "--model") -> tuple[str, str]:
    """Provider and name of PROVIDER/NAME. Raises ConfigError with a suggestion for anything else."""
    provider, slash, name = spec.partition("/")
    if provider not in PROVIDERS:
        raise ConfigError(f"no provider {provider!r}.", where=option, hint=nearest(provider, PROVIDERS))
    if not slash or not name:
        raise ConfigError(f"{spec!r} names no model.", where=option, hint=f"Write {provider}/NAME.")
    return provider, name


def nearest(provider: str, known: Sequence[str]) -> str:
    """A sentence that suggests the provider that is spelled much alike, or how a model is named."""
    near = difflib.get_close_matches(provider, known, n=1, cutoff=0.75)
    return f"Did you mean {near[0]!r}?" if near else f"Write PROVIDER/NAME, PROVIDER one of {', '.join(known)}."


def result_folder(spec: str | None, option: str) -> Path | None:
    """The folder that results/DIR names (absolute: results//abs/dir), None where the model is none of that kind."""
    if spec is None:
        return None
    provider, name = split(spec, option)
    return Path(name).expanduser() if provider == "results" else None


def make(
    settings: Settings, benchmarks: Sequence[AnyBenchmark], aside: Aside, usual: Mapping[str, object] | None = None
) -> ChatModel:
    """The language model under test. Raises ConfigError, with a hint, where it cannot be had.

    `usual` are body fields that an endpoint is sent where the user says nothing else; `aside` is how a request that is
    repeated waits.
    """
    provider, name = split(settings.model_spec or "")
    if provider == "control":
        from fairgate.providers.chat.control import Control, ControlSpec, controls_of

        if settings.model_args:
            raise ConfigError(
                f"{settings.model_args[0]!r}: controls take none.", where="--model-arg", hint="Remove it."
            )
        return Control(ControlSpec.of(name, controls_of(benchmarks, Modality.TEXT), "--model"))
    given = NamedModel(
        provider,
        name,
        settings.model_args,
        settings.base_url,
        headers=headers_of(settings.headers, "--header"),
        usual=usual or {},
        system_prompt=settings.system_prompt,
        answer_format=None if settings.answer_format == "text" else settings.answer_format,
        probabilities=settings.probabilities,
    )
    return chat_model(given, settings, Retries(aside=aside))


@dataclass(frozen=True)
class NamedModel:
    """A real chat model, as options name it.

    `arguments` are `KEY=VALUE`; `usual` the body fields that it is sent where they say nothing else. `key` goes before
    the provider's own variable of the environment, `address` likewise. `images` holds those that queries show.
    """

    provider: str
    name: str
    arguments: Sequence[str]
    address: str | None = field(repr=False)
    key: str | None = field(default=None, repr=False)
    headers: Headers = field(default_factory=Headers)
    usual: Mapping[str, object] = field(default_factory=dict)
    system_prompt: str | None = None
    answer_format: str | None = None
    probabilities: bool = False
    images: ImageStore | None = None

    def server(self, settings: Settings, retries: Retries, address: str | None, key: str | None) -> Server:
        """Where it is asked: at `address`, with `key`, where it names none of its own."""
        from fairgate.providers.endpoint import Server

        limits = settings.max_in_flight, settings.timeout, retries
        return Server(self.address or address, self.key or key, self.headers, *limits)

    def body(self, usual: Mapping[str, object] = MappingProxyType({})) -> Body:
        """What its requests hold beside the conversation; `usual` are the provider's own."""
        from fairgate.providers.chat.http_chat import Body
        from fairgate.providers.fields import body_fields

        fields = body_fields(self.arguments, {**usual, **self.usual})
        return Body(fields, self.system_prompt, self.answer_format, self.probabilities)


def chat_model(given: NamedModel, settings: Settings, retries: Retries) -> ChatModel:
    """The model. Raises ConfigError, with a hint, where it cannot be had."""
    spec = f"{given.provider}/{given.name}"
    if given.answer_format and given.provider not in FORMING:
        hint = f"Only {', '.join(f'{each}/' for each in FORMING)} models can be asked so: leave it away."
        raise ConfigError(f"{spec} cannot be asked to keep to a form.", where="--answer-format", hint=hint)
    if given.headers.values and given.provider not in HTTP:
        hint = f"Only {', '.join(f'{each}/' for each in HTTP)} models have headers."
        raise ConfigError(f"{spec} takes no headers.", where="--header", hint=hint)
    if given.provider not in MAKERS:
        raise ConfigError(f"{spec} is not asked anything: it is read.", where="--model")
    return MAKERS[given.provider](given, settings, retries)


def _python(given: NamedModel, settings: Settings, _: Retries) -> ChatModel:
    from fairgate.providers.python.chat import revision
    from fairgate.providers.python.child_process import ChildChat

    return ChildChat(given.name, revision(given.arguments), settings.max_in_flight, settings.timeout)


def _local(given: NamedModel, settings: Settings, _: Retries) -> ChatModel:
    from fairgate.providers.local.options import Named, TextOptions
    from fairgate.providers.python.child_process import Child

    arguments = [*_as_arguments(given.usual), *given.arguments]
    named = Named.of(given.provider, given.name, arguments, TextOptions, given.system_prompt)
    load = f"fairgate.providers.local.{given.provider}:load"
    # Of vLLM's own process none are asked.
    more = (given.probabilities,) if given.provider in WEIGHING else ()
    given_there = (named, settings.max_in_flight, *more)
    return Child(named.identity, load, given_there, settings.timeout, named.environment)


def _openai(given: NamedModel, settings: Settings, retries: Retries) -> ChatModel:
    from fairgate.providers.chat.openai import AZURE, OPENAI, OpenAIChat, azure_address

    whose = AZURE if given.provider == "azure" else OPENAI
    address = given.address or said(whose.address)
    if whose is AZURE and address is None:
        hint = f"Give --base-url or {AZURE.address}: https://RESOURCE.openai.azure.com"
        raise ConfigError(f"azure/{given.name} has no address.", where="--base-url", hint=hint)
    if whose is AZURE and address is not None:
        # Files and batches are the resource's, which the v1 API alone has beside the models.
        address = azure_address(address, given.name, None if settings.batch else said("OPENAI_API_VERSION"))
    batched = settings.batch and given.images is None
    # A batch's few requests do not stand in the line of its samples.
    given = replace(given, address=address or OPENAI_URL)
    server = given.server(settings, Retries() if batched else retries, None, said(whose.key))
    chat = OpenAIChat(given.name, server, given.body(), images=given.images, provider=whose)
    if not batched:
        return chat
    from fairgate.providers.chat.batch import BatchChat

    return BatchChat(chat, settings.ledger, poll=settings.batch_poll)


def _anthropic(given: NamedModel, settings: Settings, retries: Retries) -> ChatModel:
    from fairgate.providers.chat.anthropic import ANTHROPIC, USUAL, AnthropicChat

    server = given.server(settings, retries, said(ANTHROPIC.address) or ANTHROPIC_URL, said(ANTHROPIC.key))
    return AnthropicChat(given.name, server, given.body(USUAL), images=given.images)


def _litellm(given: NamedModel, settings: Settings, retries: Retries) -> ChatModel:
    from fairgate.providers.chat.litellm import LiteLLMChat

    return LiteLLMChat(given.name, given.server(settings, retries, None, None), given.body())


# Each imports its provider where it is named: an offline run needs no HTTP client, and a run of the project's own tests
# needs none of them.
MAKERS: Mapping[str, Callable[[NamedModel, Settings, Retries], ChatModel]] = {
    "anthropic": _anthropic,
    "azure": _openai,
    "hf": _local,
    "litellm": _litellm,
    "openai": _openai,
    "python": _python,
    "vllm": _local,
}


def shares(settings: Settings, provider: str) -> bool:
    """Whether the language model's address and headers are also those of another model, of this provider."""
    models = (settings.model or f"{provider}/").partition("/")[0]
    return models == provider or models not in HTTP


def _as_arguments(usual: Mapping[str, object]) -> Sequence[str]:
    """Body fields as `KEY=VALUE`, under the names that models on this machine have for them."""
    names = {"max_tokens": "max_new_tokens", "max_completion_tokens": "max_new_tokens"}
    return [f"{names.get(key, key)}={json.dumps(value)}" for key, value in usual.items()]


def headers_beside(
    settings: Settings, provider: str, own: Sequence[str], own_address: str | None, option: str
) -> Headers:
    """The headers of one that is asked beside the model, who may share its server.

    Headers may hold a key, so the model's go to the model's provider and address alone.
    """
    if own or own_address or not shares(settings, provider):
        return headers_of(own, option)
    return headers_of(settings.headers, "--header")


def said(variable: str) -> str | None:
    """What the environment says, None where that is nothing."""
    return os.environ.get(variable) or None


def check_batch(settings: Settings) -> None:
    """Raise ConfigError where nothing of what is asked can be asked in batches."""
    asked = [spec for spec in (settings.model_spec, settings.judge_spec) if spec is not None]
    if settings.batch and not any(spec.startswith(BATCHED) for spec in asked):
        raise ConfigError(
            f"{' and '.join(asked) or 'no model'}: only openai/NAME and azure/NAME support batches.",
            where="--batch",
            hint="Remove it, or name such a model.",
        )


def check_probabilities(settings: Settings) -> None:
    """Raise ConfigError where the language model cannot be asked for probabilities."""
    if not settings.probabilities or settings.replay:
        return
    provider, _, _ = (settings.model_spec or "").partition("/")
    if provider not in WEIGHING:
        raise ConfigError(
            f"{settings.model_spec or 'no language model'} gives no probabilities.",
            where="--probabilities",
            hint=f"Only {', '.join(f'{each}/' for each in WEIGHING)} models can be asked for them.",
        )


def check_judge(settings: Settings) -> None:
    """Raise ConfigError for a judge that cannot judge this model: a control judges controls alone."""
    if settings.explain and (settings.model_spec is None or settings.model_spec.startswith("results/")):
        raise ConfigError("there is no model to ask for reasons.", where="--explain", hint="Name one, or remove it.")
    if settings.explain and settings.judge_spec is None:
        raise ConfigError(
            "no judge classifies the reasons.",
            where="--explain",
            hint="Name a judge: --judge PROVIDER/NAME.",
        )
    if settings.judge is None:
        return
    provider, _ = split(settings.judge, "--judge")
    if provider == "results":
        raise ConfigError("a result folder judges nothing.", where="--judge", hint="Name a chat model.")
    if provider == "control" and settings.judge != CONTROL_JUDGE:
        raise ConfigError(f"{settings.judge!r} is no judge.", where="--judge", hint=f"Did you mean {CONTROL_JUDGE!r}?")
    if provider == "control" and not (settings.model_spec or "").startswith("control/"):
        raise ConfigError(
            f"{CONTROL_JUDGE} reads the sentences of controls alone.",
            where="--judge",
            hint="Name a real judge: openai/NAME, anthropic/NAME or python/pkg.module:callable.",
        )


def make_judge(settings: Settings, benchmarks: Sequence[AnyBenchmark], aside: Aside) -> ChatModel:
    """The judge. Raises ConfigError, with a hint, where it cannot be had. `aside` as in `make`."""
    provider, name = split(settings.judge_spec or "", "--judge")
    if provider == "control":
        from fairgate.providers.chat.control import ControlJudge, controls_of

        if settings.judge_args:
            raise ConfigError(
                f"{settings.judge_args[0]!r}: controls take none.", where="--judge-arg", hint="Remove it."
            )
        return ControlJudge(controls_of(benchmarks, Modality.TEXT))
    # The model's address is the judge's too where both are of one provider: another's key must not go there.
    same = provider == (settings.model_spec or "").partition("/")[0]
    try:
        address = settings.judge_base_url
        headers = headers_beside(settings, provider, settings.judge_headers, address, "--judge-header")
        address = address or (settings.base_url if same else None)
        given = NamedModel(provider, name, settings.judge_args, address, said("JUDGE_API_KEY"), headers)
        return chat_model(given, settings, Retries(aside=aside))
    except ConfigError as error:
        raise ConfigError(error.what, where=_of_judge(error.where), hint=_of_judge(error.hint)) from error


def _of_judge(text: str | None) -> str | None:
    """The judge's own options in place of the model's, in the words of an error."""
    return text and text.replace("--model-arg", "--judge-arg").replace("--base-url", "--judge-base-url")
