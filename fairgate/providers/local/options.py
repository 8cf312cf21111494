"""The options of a model that runs on this machine (`--model-arg`, `--t2i-arg`), and its identity."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from fairgate.core.domain import Identity
from fairgate.core.errors import ConfigError, MissingDependency, did_you_mean
from fairgate.core.typed import Mistyped, typed
from fairgate.providers.fields import body_fields
from fairgate.providers.local.folder import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairgate.core.domain import Query

HERE = ("batch", "device")  # where and how fast a model runs, not what it answers
DTYPES = ("auto", "float32", "float16", "bfloat16")


@dataclass(frozen=True)
class TextOptions:
    """Of `hf/NAME` and `vllm/NAME`: `batch` prompts at once, None for all that are in flight; `dtype` as in torch."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_new_tokens: int = 256
    batch: int | None = None
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None


@dataclass(frozen=True)
class ImageOptions:
    """Of `diffusers/NAME`: what is None is what the pipeline has."""

    steps: int | None = None
    guidance: float | None = None
    width: int | None = None
    height: int | None = None
    batch: int | None = None
    device: str = "auto"
    dtype: str = "auto"
    revision: str | None = None


Options = TypeVar("Options", TextOptions, ImageOptions)


@dataclass(frozen=True)
class Named(Generic[Options]):
    """A model by its name on the hub, or by its folder; `options` are those of its kind, `system` the system prompt."""

    provider: str
    name: str
    options: Options
    system: str | None = None

    @property
    def label(self) -> str:
        """As the user names it."""
        return f"{self.provider}/{self.name}"

    @classmethod
    def of(
        cls, provider: str, name: str, given: Sequence[str], kind: type[Options], system: str | None = None
    ) -> Named[Options]:
        """Raises ConfigError for an argument that the provider does not have, MissingDependency without its package."""
        where = "--t2i-arg" if kind is ImageOptions else "--model-arg"
        package = {"hf": "transformers"}.get(provider, provider)
        for needed in dict.fromkeys((package, "torch")):
            if find_spec(needed) is None:
                raise MissingDependency(
                    f"{needed} is not installed.",
                    where=f"{provider}/{name}",
                    hint=f"Install it: pip install 'fairgate[{provider}]'.",
                )
        values = body_fields(("temperature=", *given))
        known = [each.name for each in fields(kind)]
        for key in values:
            if key not in known:
                raise ConfigError(f"{provider}/ has no {key!r}.", where=where, hint=did_you_mean(key, known))
        try:
            options = typed(values, kind)
        except Mistyped as error:
            raise ConfigError(f"{error.key}: {error.what}{error.shown}.", where=where, hint="Correct it.") from None
        for key, value in asdict(options).items():
            if isinstance(value, int | float) and value < (0 if key in ("temperature", "guidance") else 1e-9):
                raise ConfigError(f"{key} is {value}.", where=where, hint="Give it a positive number.")
        if Path(name).is_dir() and not Path(name).is_absolute() and not name.startswith("."):
            raise ConfigError(
                "is a folder here, and may be a model of the hub.",
                where=f"{provider}/{name}",
                hint=f"For the folder write {provider}/./{name}; for the hub's model run in another folder.",
            )
        if Path(name).is_dir() and options.revision is not None:
            raise ConfigError(
                "a folder has no revision.", where=f"{where} revision={options.revision}", hint="Leave it out."
            )
        if options.dtype not in DTYPES:
            raise ConfigError(f"dtype is {options.dtype!r}.", where=where, hint=did_you_mean(options.dtype, DTYPES))
        return Named(provider, name, options, system)

    @property
    def identity(self) -> Identity:
        """What tells its replies from another's; a folder is told from its state before by a digest of its files."""
        told = {key: value for key, value in asdict(self.options).items() if key not in HERE and value is not None}
        if self.system is not None:
            told["system_prompt"] = self.system
        if Path(self.name).is_dir():
            told["files"] = digest(Path(self.name), self.label)
        return Identity(self.provider, self.name, parameters=told)

    @property
    def environment(self) -> dict[str, str]:
        """Variables of its process: a folder is all that is to be loaded, whatever it names of the hub."""
        return {"HF_HUB_OFFLINE": "1"} if Path(self.name).is_dir() else {}


def seed_of(query: Query) -> int:
    """The seed of one query: the same in every run, another for every query, whichever batch it is in."""
    text = "\x1f".join((query.id, query.text))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).digest())
