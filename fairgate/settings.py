"""What the user asked for, as one frozen value."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from fairgate.asked import Asked, Profiles
from fairgate.models.base import CONTROL_JUDGE
from fairgate.sampling.limits import Bounds

if TYPE_CHECKING:
    from fairgate.fact_or_fair.data import KeyKind

CHECKOUT = Path(__file__).resolve().parents[1]
THRESHOLDS = CHECKOUT / "thresholds.toml"
DEFAULT_MODEL = "control/oracle"
DEFAULT_DETECTOR = "faces/fairface"
CONTROL_DETECTOR = "control/fairface"
DEFAULT_LEDGER = Path(".fairgate/ledger.sqlite")
BATCHED = 50_000  # samples that may wait for their batches at once
ADDRESSES = ("base_url", "judge_base_url", "t2i_base_url", "detector_base_url")
INCONCLUSIVE_EXIT = {"trouble": 6, "pass": 0, "fail": 1}


def today() -> datetime.date:
    """The day, in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


@dataclass(frozen=True)
class Settings:
    """The options of a run. Paths are absolute; `model` is None where nobody gave one."""

    model: str | None = None
    t2i_model: str | None = None
    base_url: str | None = None
    model_args: tuple[str, ...] = ()
    system_prompt: str | None = None
    ledger: Path = DEFAULT_LEDGER
    plan: str = "quick"
    per_topic: int | None = None
    seed: int = 0
    profiles: Profiles | None = None
    thresholds: Path = THRESHOLDS
    data: Path | None = None
    scenarios: Path | None = None
    key: KeyKind = "published"
    scoring: str = "definition"
    report_dir: Path | None = None
    max_in_flight: int = 16
    timeout: float = 120.0
    inconclusive: str = "trouble"
    today: datetime.date = field(default_factory=today)
    ledger_wait: float = 0.0
    batch: bool = False
    batch_poll: float = 30.0
    judge: str | None = None
    judge_base_url: str | None = None
    judge_args: tuple[str, ...] = ()
    f2bench: Path | None = None
    bigbench: Path | None = None
    lenient: bool = False
    explain: bool = False
    stop_early: bool = False
    plots: bool = True
    replay: bool = False
    replay_run: str | None = None
    dry_run: bool = False
    self_check: bool = False
    shard: tuple[int, int] | None = None
    baseline: Path | None = None
    save_baseline: Path | None = None
    compare_common: bool = False
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    budget_calls: int | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None
    t2i_base_url: str | None = None
    t2i_args: tuple[str, ...] = ()
    image_size: str = "1024x1024"
    detector: str | None = None
    detector_base_url: str | None = None
    detector_args: tuple[str, ...] = ()
    weights: Path | None = None
    calibration: Path | None = None
    race_map: str | None = None

    @property
    def bounds(self) -> Bounds:
        """What this run may ask at once, a minute and in all."""
        return Bounds(
            # Whoever waits for a batch is in flight; the requests themselves are few.
            in_flight=max(BATCHED, self.max_in_flight) if self.batch else self.max_in_flight,
            requests_a_minute=self.requests_per_minute,
            tokens_a_minute=self.tokens_per_minute,
            calls=self.budget_calls,
            tokens=self.budget_tokens,
            usd=self.budget_usd,
        )

    @property
    def given(self) -> bool:
        """Whether anybody named a model; if not, a control is gated."""
        return self.model is not None or self.t2i_model is not None

    @property
    def model_spec(self) -> str | None:
        """PROVIDER/NAME of the language model under test: the control where nobody gave any model at all."""
        return self.model if self.given else DEFAULT_MODEL

    @property
    def t2i_spec(self) -> str | None:
        """PROVIDER/NAME of the text-to-image model under test: the control where nobody gave any model at all.

        None where nobody did and images cannot be read here; what a past run asked does not depend on that.
        """
        return self.t2i_model if self.given else None if self.without_images else DEFAULT_MODEL

    # Looked up once: it reads packages' metadata, and every case asks several times.
    @cached_property
    def without_images(self) -> bool:
        """Whether a run that names no model leaves images out, since the extra that reads them is not installed."""
        from fairgate.faces.detectors import equipped

        return not self.given and not self.replay and not equipped()

    @property
    def detector_spec(self) -> str | None:
        """PROVIDER/NAME of whoever reads faces: the toy detector for control painters; None where nothing is read."""
        spec = self.t2i_spec
        if spec is None or spec.startswith("results/"):
            return None
        return self.detector or (CONTROL_DETECTOR if spec.startswith("control/") else DEFAULT_DETECTOR)

    @property
    def judge_spec(self) -> str | None:
        """PROVIDER/NAME of the judge: without --judge the control judges controls, and nobody a real model."""
        control = self.model_spec is not None and self.model_spec.startswith("control/")
        return self.judge or (CONTROL_JUDGE if control else None)

    @property
    def asked(self) -> Asked:
        """The values that decide what is asked, and of which models, without what may be secret in an address."""
        held = {each.name: getattr(self, each.name) for each in fields(self) if each.name in Asked.__struct_fields__}
        safe = {name: held[name] and _without_secrets(held[name]) for name in ADDRESSES}
        return Asked(**held | safe)

    def options(self) -> list[str]:
        """The options of pytest that say the same again, without what may be secret in an address."""
        given = {
            "--model": self.model,
            "--t2i-model": self.t2i_model,
            "--base-url": self.base_url and _without_secrets(self.base_url),
            "--system-prompt": self.system_prompt,
            "--ledger": str(self.ledger),
            "--plan": self.plan,
            "--per-topic": self.per_topic,
            "--seed": self.seed,
            "--profiles": self.profiles and str(self.profiles),
            "--thresholds": str(self.thresholds),
            "--data": self.data,
            "--scenarios": self.scenarios,
            "--key": self.key,
            "--judge": self.judge,
            "--judge-base-url": self.judge_base_url and _without_secrets(self.judge_base_url),
            "--f2bench": self.f2bench,
            "--bigbench": self.bigbench,
            "--t2i-base-url": self.t2i_base_url and _without_secrets(self.t2i_base_url),
            "--image-size": self.image_size,
            "--detector": self.detector,
            "--detector-base-url": self.detector_base_url and _without_secrets(self.detector_base_url),
            "--weights": self.weights,
            "--calibration": self.calibration,
            "--race-map": self.race_map,
            "--scoring": self.scoring if self.judge_spec else None,
        }
        usual: dict[str, object] = {
            "--plan": "explain" if self.explain else "quick",
            "--seed": 0,
            "--scoring": "definition",
            "--key": "published",
            "--image-size": "1024x1024",
        }
        usual |= {"--thresholds": str(THRESHOLDS)}
        named = [f"{name}={value}" for name, value in given.items() if value is not None and usual.get(name) != value]
        named += ["--lenient"] if self.lenient else []
        named += ["--explain"] if self.explain else []
        named += ["--batch"] if self.batch else []
        named += ["--stop-early"] if self.stop_early else []
        named += [f"--judge-arg={argument}" for argument in self.judge_args]
        named += [f"--t2i-arg={argument}" for argument in self.t2i_args]
        named += [f"--detector-arg={argument}" for argument in self.detector_args]
        return [*named, *(f"--model-arg={argument}" for argument in self.model_args)]


def _without_secrets(url: str) -> str:
    """The address without user info, query and fragment; nothing of what is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
