"""PROVIDER/NAME -> the model that it names."""

from __future__ import annotations

import difflib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError
from fairgate.options.settings import CONTROL_JUDGE
from fairgate.providers.headers import headers_of
from fairgate.providers.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.ledger.images import ImageStore
    from fairgate.options.settings import Settings
    from fairgate.providers.base import ChatModel
    from fairgate.providers.headers import Headers
    from fairgate.providers.retries import Aside

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com/v1"
PROVIDERS = ("anthropic", "azure", "control", "hf", "litellm", "openai", "python", "results", "vllm")
HTTP = ("anthropic", "azure", "openai")  # spoken to here
BATCHED = ("azure/", "openai/")
WEIGHING = ("azure", "hf", "openai")  # that can be asked for probabilities
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
    # Each provider is imported where it is named: an offline run needs no HTTP client, and a run of the project's own
    # tests needs none of them.
    if provider == "control":
        from fairgate.providers.chat.control import Control, ControlSpec, controls_of

        if settings.model_args:
            raise ConfigError(
                f"{settings.model_args[0]!r}: controls take none.", where="--model-arg", hint="Remove it."
            )
        return Control(ControlSpec.of(name, controls_of(benchmarks, Modality.TEXT), "--model"))
    return chat_model(
        provider,
        name,
        settings,
        Retries(aside=aside),
        model_args=settings.model_args,
        usual=usual,
        base_url=settings.base_url,
        system_prompt=settings.system_prompt,
        headers=headers_of(settings.headers, "--header"),
        answer_format=None if settings.answer_format == "text" else settings.answer_format,
        probabilities=settings.probabilities,
    )


def chat_model(
    provider: str,
    name: str,
    settings: Settings,
    retries: Retries,
    *,
    model_args: Sequence[str],
    base_url: str | None,
    usual: Mapping[str, object] | None = None,
    system_prompt: str | None = None,
    key: str | None = None,
    headers: Headers,
    images: ImageStore | None = None,
    answer_format: str | None = None,
    probabilities: bool = False,
) -> ChatModel:
    """A real chat model. `key` goes before the provider's own variable of the environment, `base_url` likewise."""
    if answer_format and provider not in FORMING:
        hint = f"Only {', '.join(f'{each}/' for each in FORMING)} models can be asked so: leave it away."
        raise ConfigError(f"{provider}/{name} cannot be asked to keep to a form.", where="--answer-format", hint=hint)
    if headers.values and provider not in HTTP:
        hint = f"Only {', '.join(f'{each}/' for each in HTTP)} models have headers."
        raise ConfigError(f"{provider}/{name} takes no headers.", where="--header", hint=hint)
    if provider == "python":
        from fairgate.providers.python.chat import revision
        from fairgate.providers.python.child_process import ChildChat

        return ChildChat(name, revision(model_args), settings.max_in_flight, settings.timeout)
    places, patience = settings.max_in_flight, settings.timeout
    if provider in ("hf", "vllm"):
        from fairgate.providers.local.options import Named, TextOptions
        from fairgate.providers.python.child_process import Child

        named = Named.of(provider, name, [*_given(usual), *model_args], TextOptions, system_prompt)
        given = (named, places, probabilities) if provider == "hf" else (named, places)
        return Child(named.identity, f"fairgate.providers.local.{provider}:load", given, patience)
    if provider in ("azure", "openai"):
        from fairgate.providers.chat.openai import AZURE, OPENAI, OpenAIChat, azure_address
        from fairgate.providers.fields import body_fields

        whose = AZURE if provider == "azure" else OPENAI
        address, key = base_url or said(whose.address), key or said(whose.key)
        if whose is AZURE and address is None:
            hint = f"Give --base-url or {AZURE.address}: https://RESOURCE.openai.azure.com"
            raise ConfigError(f"azure/{name} has no address.", where="--base-url", hint=hint)
        if whose is AZURE and address is not None:
            # Files and batches are the resource's, which the v1 API alone has beside the models.
            address = azure_address(address, name, None if settings.batch else said("OPENAI_API_VERSION"))
        # A batch's few requests do not stand in the line of its samples.
        chat = OpenAIChat(
            name,
            address or OPENAI_URL,
            key,
            body_fields(model_args, usual),
            system_prompt,
            places,
            patience,
            retries=retries if not settings.batch or images is not None else None,
            headers=headers,
            provider=whose,
            images=images,
            answer_format=answer_format,
            probabilities=probabilities,
        )
        if not settings.batch or images is not None:
            return chat
        from fairgate.providers.chat.batch import BatchChat

        return BatchChat(chat, settings.ledger, poll=settings.batch_poll)
    if provider == "anthropic":
        from fairgate.providers.chat.anthropic import ANTHROPIC, USUAL, AnthropicChat
        from fairgate.providers.fields import body_fields

        address, key = base_url or said(ANTHROPIC.address) or ANTHROPIC_URL, key or said(ANTHROPIC.key)
        fields = body_fields(model_args, {**USUAL, **(usual or {})})
        return AnthropicChat(
            name,
            address,
            key,
            fields,
            system_prompt,
            places,
            patience,
            retries=retries,
            headers=headers,
            images=images,
        )
    if provider == "litellm":
        from fairgate.providers.chat.litellm import LiteLLMChat
        from fairgate.providers.fields import body_fields

        fields = body_fields(model_args, usual)
        return LiteLLMChat(
            name,
            base_url,
            fields,
            system_prompt,
            places,
            patience,
            retries=retries,
            answer_format=answer_format,
        )
    raise ConfigError(f"{provider}/{name} is not asked anything: it is read.", where="--model")


def shares(settings: Settings, provider: str) -> bool:
    """Whether the language model's address and headers are also those of another model, of this provider."""
    models = (settings.model or f"{provider}/").partition("/")[0]
    return models == provider or models not in HTTP


def _given(usual: Mapping[str, object] | None) -> Sequence[str]:
    """Body fields as `KEY=VALUE`, under the names that models on this machine have for them."""
    names = {"max_tokens": "max_new_tokens", "max_completion_tokens": "max_new_tokens"}
    return [f"{names.get(key, key)}={json.dumps(value)}" for key, value in (usual or {}).items()]


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
            where=f"--plan {settings.plan}" if settings.plan else "--probabilities",
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
        return chat_model(
            provider,
            name,
            settings,
            Retries(aside=aside),
            model_args=settings.judge_args,
            base_url=settings.judge_base_url or (settings.base_url if same else None),
            key=said("JUDGE_API_KEY"),
            headers=headers_beside(
                settings, provider, settings.judge_headers, settings.judge_base_url, "--judge-header"
            ),
        )
    except ConfigError as error:
        raise ConfigError(error.what, where=_of_judge(error.where), hint=_of_judge(error.hint)) from error


def _of_judge(text: str | None) -> str | None:
    """The judge's own options in place of the model's, in the words of an error."""
    return text and text.replace("--model-arg", "--judge-arg").replace("--base-url", "--judge-base-url")
