"""PROVIDER/NAME -> the text-to-image model that it names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.domain import Modality
from fairgate.core.errors import ConfigError
from fairgate.providers.chat.registry import OPENAI_URL, headers_beside, nearest, said
from fairgate.providers.headers import Headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.benchmarks.base import AnyBenchmark
    from fairgate.ledger.images import ImageStore
    from fairgate.options.settings import Settings
    from fairgate.providers.base import ChatModel
    from fairgate.providers.endpoint import Server
    from fairgate.providers.retries import Aside

OPTION = "--t2i-model"
PROVIDERS = ("control", "diffusers", "folder", "litellm", "openai", "python", "results")


def split(spec: str) -> tuple[str, str]:
    """Provider and name of PROVIDER/NAME. Raises ConfigError with a suggestion for anything else."""
    provider, slash, name = spec.partition("/")
    if provider not in PROVIDERS:
        raise ConfigError(f"no provider {provider!r} of images.", where=OPTION, hint=nearest(provider, PROVIDERS))
    if not slash or not name:
        raise ConfigError(f"{spec!r} names no model.", where=OPTION, hint=f"Write {provider}/NAME.")
    return provider, name


def result_folder(spec: str | None) -> Path | None:
    """The folder that results/DIR names, None where the model is none of that kind."""
    path = _results(spec)
    return None if path is None or path.is_file() else path


def result_file(spec: str | None) -> Path | None:
    """The file that results/FILE names, None where the model is none of that kind."""
    path = _results(spec)
    return path if path is not None and path.is_file() else None


def _results(spec: str | None) -> Path | None:
    if spec is None:
        return None
    provider, name = split(spec)
    return Path(name).expanduser() if provider == "results" else None


def image_folder(spec: str | None) -> Path | None:
    """The folder of images that folder/DIR names, None where the model is none of that kind."""
    if spec is None:
        return None
    provider, name = split(spec)
    return Path(name).expanduser() if provider == "folder" else None


def make_image_model(
    settings: Settings,
    benchmarks: Sequence[AnyBenchmark],
    store: ImageStore,
    aside: Aside,
) -> ChatModel:
    """The text-to-image model under test. Raises ConfigError, with a hint, where it cannot be had.

    `aside` is how a request that is repeated waits.
    """
    provider, name = split(settings.t2i_spec or "")
    if provider in ("control", "folder") and settings.t2i_args:
        raise ConfigError(f"{settings.t2i_args[0]!r}: {provider}/ takes none.", where="--t2i-arg", hint="Remove it.")
    held = [each.files for each in benchmarks if each.files is not None]
    if provider == "folder" and held:
        from fairgate.providers.images.folder import FolderImageModel, merged

        return FolderImageModel(merged(held), store)
    if provider == "control":
        from fairgate.providers.chat.control import ControlSpec, controls_of
        from fairgate.providers.images.control import ControlImageModel

        width, _, height = settings.image_size.partition("x")
        spec = ControlSpec.of(name, controls_of(benchmarks, Modality.IMAGE), OPTION)
        return ControlImageModel(spec, store, (int(width), int(height)))
    if provider == "python":
        from fairgate.providers.python.chat import revision
        from fairgate.providers.python.child_process import ChildChat

        return ChildChat(name, revision(settings.t2i_args), settings.max_in_flight, settings.timeout, settings.ledger)
    if provider == "diffusers":
        from fairgate.providers.local.options import ImageOptions, Named
        from fairgate.providers.python.child_process import Child

        named = Named.of(provider, name, settings.t2i_args, ImageOptions)
        given = (named, settings.max_in_flight, str(settings.ledger))
        return Child(
            named.identity, "fairgate.providers.local.diffusers:load", given, settings.timeout, named.environment
        )
    if provider == "openai":
        from fairgate.providers.chat.openai import OPENAI
        from fairgate.providers.images.openai import OpenAIImages

        address = settings.t2i_base_url or settings.base_url or said(OPENAI.address) or OPENAI_URL
        headers = headers_beside(settings, provider, settings.t2i_headers, settings.t2i_base_url, "--t2i-header")
        server = _server(settings, address, aside, said("T2I_API_KEY") or said(OPENAI.key), headers)
        return OpenAIImages(name, server, store, _fields(settings))
    if provider == "litellm":
        from fairgate.providers.images.litellm import LiteLLMImages

        if settings.t2i_headers:
            raise ConfigError(f"{provider}/{name} takes no headers.", where="--t2i-header", hint="Remove it.")
        return LiteLLMImages(name, _server(settings, settings.t2i_base_url, aside), store, _fields(settings))
    raise ConfigError(f"{provider}/{name} is not asked anything: it is read.", where=OPTION)


def _fields(settings: Settings) -> dict[str, object]:
    """The body fields beside the prompt."""
    from fairgate.providers.fields import body_fields

    # Image models know no temperature; all else that is usual may be taken away again.
    return body_fields(("temperature=", *settings.t2i_args), {"size": settings.image_size})


def _server(
    settings: Settings, address: str | None, aside: Aside, key: str | None = None, headers: Headers | None = None
) -> Server:
    from fairgate.providers.endpoint import Server
    from fairgate.providers.retries import Retries

    limits = settings.max_in_flight, settings.timeout, Retries(aside=aside)
    return Server(address, key, headers or Headers(), *limits)
