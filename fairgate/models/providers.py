"""PROVIDER/NAME -> the model that it names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.errors import ConfigError, did_you_mean
from fairgate.models.base import CONTROL_JUDGE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairgate.fact_or_fair.data import Dataset
    from fairgate.models.base import ChatModel
    from fairgate.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"
PROVIDERS = ("control", "openai", "python", "results")


def split(spec: str, option: str = "--model") -> tuple[str, str]:
    """Provider and name of PROVIDER/NAME. Raises ConfigError with a suggestion for anything else."""
    provider, slash, name = spec.partition("/")
    if provider not in PROVIDERS:
        raise ConfigError(f"no provider {provider!r}.", where=option, mend=did_you_mean(provider, PROVIDERS))
    if not slash or not name:
        raise ConfigError(f"{spec!r} names no model.", where=option, mend=f"Write {provider}/NAME.")
    return provider, name


def result_folder(spec: str | None, option: str) -> Path | None:
    """The folder that results/DIR names (absolute: results//abs/dir), None where the model is none of that kind."""
    if spec is None:
        return None
    provider, name = split(spec, option)
    return Path(name).expanduser() if provider == "results" else None


def make(settings: Settings, dataset: Dataset, usual: Mapping[str, object] | None = None) -> ChatModel:
    """The language model under test. Raises ConfigError, with the mend, where it cannot be had.

    `usual` are body fields that an endpoint is sent where the user says nothing else.
    """
    provider, name = split(settings.model_spec or "")
    # Each provider is imported where it is named: an offline run needs no HTTP client, and a run of the project's own
    # tests needs none of them.
    if provider == "control":
        from fairgate.models.controls import Control, knowledge

        if settings.model_args:
            raise ConfigError(
                f"{settings.model_args[0]!r}: controls take none.", where="--model-arg", mend="Remove it."
            )
        return Control(name, knowledge(dataset, settings.key))
    if provider == "python":
        from fairgate.models.python import PythonChat, revision

        return PythonChat(name, revision(settings.model_args), settings.max_in_flight)
    if provider == "openai":
        from fairgate.models.fields import body_fields
        from fairgate.models.openai import OpenAIChat

        return OpenAIChat(
            name,
            settings.base_url or OPENAI_URL,
            os.environ.get("OPENAI_API_KEY") or None,
            body_fields(settings.model_args, usual),
            settings.system_prompt,
            settings.max_in_flight,
            settings.timeout,
        )
    raise ConfigError(f"{provider}/{name} is not asked anything: it is read.", where="--model")


def check_judge(settings: Settings) -> None:
    """Raise ConfigError for a judge that cannot judge this model: a control judges controls alone."""
    if settings.explain and (settings.model_spec is None or settings.model_spec.startswith("results/")):
        raise ConfigError("there is no model to ask for reasons.", where="--explain", mend="Name one, or remove it.")
    if settings.explain and settings.judge_spec is None:
        raise ConfigError(
            "nobody is there to sort the reasons.", where="--explain", mend="Name a judge: --judge PROVIDER/NAME."
        )
    if settings.judge is None:
        return
    provider, _ = split(settings.judge, "--judge")
    if provider == "results":
        raise ConfigError("a result folder judges nothing.", where="--judge", mend="Name a chat model.")
    if provider == "control" and settings.judge != CONTROL_JUDGE:
        raise ConfigError(f"{settings.judge!r} is no judge.", where="--judge", mend=f"Did you mean {CONTROL_JUDGE!r}?")
    if provider == "control" and not (settings.model_spec or "").startswith("control/"):
        raise ConfigError(
            f"{CONTROL_JUDGE} reads the sentences of controls alone.",
            where="--judge",
            mend="Name a real judge: openai/NAME or python/pkg.module:callable.",
        )


def make_judge(settings: Settings) -> ChatModel:
    """The judge. Raises ConfigError, with the mend, where it cannot be had."""
    provider, name = split(settings.judge_spec or "", "--judge")
    if provider == "control":
        from fairgate.models.controls import ControlJudge

        return ControlJudge()
    if provider == "python":
        from fairgate.models.python import PythonChat, revision

        return PythonChat(name, revision(settings.judge_args), settings.max_in_flight)
    from fairgate.models.fields import body_fields
    from fairgate.models.openai import OpenAIChat

    return OpenAIChat(
        name,
        settings.judge_base_url or settings.base_url or OPENAI_URL,
        os.environ.get("JUDGE_API_KEY") or os.environ.get("OPENAI_API_KEY") or None,
        body_fields(settings.judge_args),
        None,
        settings.max_in_flight,
        settings.timeout,
    )
