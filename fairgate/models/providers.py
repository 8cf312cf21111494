"""PROVIDER/NAME -> the model that it names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.domain import Modality
from fairgate.errors import ConfigError, did_you_mean
from fairgate.models.base import CONTROL_JUDGE
from fairgate.models.retries import Retries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.models.base import ChatModel
    from fairgate.models.retries import Aside
    from fairgate.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"
ANTHROPIC_URL = "https://api.anthropic.com/v1"
PROVIDERS = ("anthropic", "control", "litellm", "openai", "python", "results")


def split(spec: str, option: str = "--model") -> tuple[str, str]:
    """Provider and name of PROVIDER/NAME. Raises ConfigError with a suggestion for anything else."""
    provider, slash, name = spec.partition("/")
    if provider not in PROVIDERS:
        raise ConfigError(f"no provider {provider!r}.", where=option, hint=did_you_mean(provider, PROVIDERS))
    if not slash or not name:
        raise ConfigError(f"{spec!r} names no model.", where=option, hint=f"Write {provider}/NAME.")
    return provider, name


def result_folder(spec: str | None, option: str) -> Path | None:
    """The folder that results/DIR names (absolute: results//abs/dir), None where the model is none of that kind."""
    if spec is None:
        return None
    provider, name = split(spec, option)
    return Path(name).expanduser() if provider == "results" else None


def make(
    settings: Settings, benchmarks: Sequence[AnyBenchmark], aside: Aside, usual: Mapping[str, object] | None = None
) -> ChatModel:
    """The language model under test. Raises ConfigError, with the mend, where it cannot be had.

    `usual` are body fields that an endpoint is sent where the user says nothing else; `aside` is how a request that is
    repeated waits.
    """
    provider, name = split(settings.model_spec or "")
    # Each provider is imported where it is named: an offline run needs no HTTP client, and a run of the project's own
    # tests needs none of them.
    if provider == "control":
        from fairgate.models.controls import Control, ControlSpec, controls_of

        if settings.model_args:
            raise ConfigError(
                f"{settings.model_args[0]!r}: controls take none.", where="--model-arg", hint="Remove it."
            )
        return Control(ControlSpec.of(name, controls_of(benchmarks, Modality.TEXT), "--model"))
    return _chat(
        provider,
        name,
        settings,
        Retries(aside=aside),
        model_args=settings.model_args,
        usual=usual,
        base_url=settings.base_url,
        system_prompt=settings.system_prompt,
    )


def _chat(
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
) -> ChatModel:
    """A real chat model. `key` goes before the provider's own variable of the environment, `base_url` likewise."""
    if provider == "python":
        from fairgate.models.child import ChildChat
        from fairgate.models.python import revision

        return ChildChat(name, revision(model_args), settings.max_in_flight, settings.timeout)
    places, patience = settings.max_in_flight, settings.timeout
    if provider == "openai":
        from fairgate.models.fields import body_fields
        from fairgate.models.openai import OPENAI, OpenAIChat

        address, key = base_url or said(OPENAI.address) or OPENAI_URL, key or said(OPENAI.key)
        fields = body_fields(model_args, usual)
        if not settings.batch:
            return OpenAIChat(name, address, key, fields, system_prompt, places, patience, retries=retries)
        from fairgate.models.batch import BatchChat

        # A batch's few requests do not stand in the line of its samples.
        chat = OpenAIChat(name, address, key, fields, system_prompt, places, patience)
        return BatchChat(chat, settings.ledger, poll=settings.batch_poll)
    if provider == "anthropic":
        from fairgate.models.anthropic import ANTHROPIC, USUAL, AnthropicChat
        from fairgate.models.fields import body_fields

        address, key = base_url or said(ANTHROPIC.address) or ANTHROPIC_URL, key or said(ANTHROPIC.key)
        fields = body_fields(model_args, {**USUAL, **(usual or {})})
        return AnthropicChat(name, address, key, fields, system_prompt, places, patience, retries=retries)
    if provider == "litellm":
        from fairgate.models.fields import body_fields
        from fairgate.models.litellm import LiteLLMChat

        fields = body_fields(model_args, usual)
        return LiteLLMChat(name, base_url, fields, system_prompt, places, patience, retries=retries)
    raise ConfigError(f"{provider}/{name} is not asked anything: it is read.", where="--model")


def said(variable: str) -> str | None:
    """What the environment says, None where that is nothing."""
    return os.environ.get(variable) or None


def check_batch(settings: Settings) -> None:
    """Raise ConfigError where nothing of what is asked can be asked in batches."""
    asked = [spec for spec in (settings.model_spec, settings.judge_spec) if spec is not None]
    if settings.batch and not any(spec.startswith("openai/") for spec in asked):
        raise ConfigError(
            f"{' and '.join(asked) or 'nobody'}: only openai/NAME is asked in batches.",
            where="--batch",
            hint="Remove it, or name such a model.",
        )


def check_judge(settings: Settings) -> None:
    """Raise ConfigError for a judge that cannot judge this model: a control judges controls alone."""
    if settings.explain and (settings.model_spec is None or settings.model_spec.startswith("results/")):
        raise ConfigError("there is no model to ask for reasons.", where="--explain", hint="Name one, or remove it.")
    if settings.explain and settings.judge_spec is None:
        raise ConfigError(
            "nobody is there to sort the reasons.", where="--explain", hint="Name a judge: --judge PROVIDER/NAME."
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
    """The judge. Raises ConfigError, with the mend, where it cannot be had. `aside` as in `make`."""
    provider, name = split(settings.judge_spec or "", "--judge")
    if provider == "control":
        from fairgate.models.controls import ControlJudge, controls_of

        if settings.judge_args:
            raise ConfigError(
                f"{settings.judge_args[0]!r}: controls take none.", where="--judge-arg", hint="Remove it."
            )
        return ControlJudge(controls_of(benchmarks, Modality.TEXT))
    # The model's address is the judge's too where both are of one provider: another's key must not go there.
    same = provider == (settings.model_spec or "").partition("/")[0]
    try:
        return _chat(
            provider,
            name,
            settings,
            Retries(aside=aside),
            model_args=settings.judge_args,
            base_url=settings.judge_base_url or (settings.base_url if same else None),
            key=said("JUDGE_API_KEY"),
        )
    except ConfigError as error:
        raise ConfigError(error.what, where=_of_judge(error.where), hint=_of_judge(error.hint)) from error


def _of_judge(text: str | None) -> str | None:
    """The judge's own options in place of the model's, in the words of an error."""
    return text and text.replace("--model-arg", "--judge-arg").replace("--base-url", "--judge-base-url")
