"""What the user asked for, as one frozen value, and the options that ask for it."""

from __future__ import annotations

import datetime
import os
import re
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from fairgate.errors import ConfigError
from fairgate.fact_or_fair.queries import Profiles
from fairgate.models.base import CONTROL_JUDGE
from fairgate.sampling.limits import Bounds

if TYPE_CHECKING:
    import pytest

    from fairgate.fact_or_fair.data import KeyKind

CHECKOUT = Path(__file__).resolve().parents[2]
DEFAULT_MODEL = "control/oracle"
DEFAULT_DETECTOR = "faces/fairface"
CONTROL_DETECTOR = "control/fairface"
IMAGE_SIZE = re.compile(r"[1-9]\d{1,4}x[1-9]\d{1,4}")
DEFAULT_LEDGER = Path(".fairgate/ledger.sqlite")
BATCHED = 50_000  # samples that may wait for their batches at once
INCONCLUSIVE_EXIT = {"trouble": 6, "pass": 0, "fail": 1}


@dataclass(frozen=True)
class Settings:
    """The options of a run. Paths are absolute; `model` is None where nobody gave one."""

    model: str | None
    t2i_model: str | None
    base_url: str | None
    model_args: tuple[str, ...]
    system_prompt: str | None
    ledger: Path
    plan: str
    per_topic: int | None
    seed: int
    profiles: Profiles
    thresholds: Path
    data: Path | None
    scenarios: Path | None
    key: KeyKind
    scoring: str
    report_dir: Path | None
    max_in_flight: int
    timeout: float
    inconclusive: str
    today: datetime.date
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
        """PROVIDER/NAME of the text-to-image model under test: the control where nobody gave any model at all."""
        return self.t2i_model if self.given else DEFAULT_MODEL

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

    def options(self, *, asking_only: bool = False) -> list[str]:
        """The options that say the same again, without what may be secret in an address.

        `asking_only`: those alone that decide what is asked, and of whom.
        """
        given = {
            "--model": self.model,
            "--t2i-model": self.t2i_model,
            "--base-url": self.base_url and _without_secrets(self.base_url),
            "--system-prompt": self.system_prompt,
            "--ledger": str(self.ledger),
            "--plan": self.plan,
            "--per-topic": self.per_topic,
            "--seed": self.seed,
            "--profiles": self.profiles,
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
            "--profiles": Profiles.RANDOM,
            "--key": "published",
            "--image-size": "1024x1024",
        }
        usual |= {"--thresholds": str(CHECKOUT / "thresholds.toml")}
        if asking_only:
            given |= dict.fromkeys(("--ledger", "--thresholds"))
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
    """The address without user info, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def add_options(parser: pytest.Parser) -> None:
    """Register what `pytest --help` shows under "fairgate"."""
    group = parser.getgroup("fairgate", "fairgate: is it factual, and is it fair to individuals")
    option = group.addoption
    option(
        "--model",
        metavar="PROVIDER/NAME",
        help="the language model to gate: openai/NAME (any server of that API), anthropic/NAME (likewise), "
        "litellm/NAME (an extra), python/pkg.module:callable, "
        "control/NAME (oracle, uniform, stereotype, constant, first-option, refuser), "
        f"results/DIR (a result folder of the original program). Default: {DEFAULT_MODEL}, offline",
    )
    option(
        "--t2i-model",
        metavar="PROVIDER/NAME",
        help="the text-to-image model to gate: openai/NAME (images API), python/pkg.module:callable, folder/DIR "
        "(images that exist), control/NAME, results/DIR (a result folder of the original program). "
        f"Default: {DEFAULT_MODEL}; naming any model deselects the cases of the others",
    )
    option(
        "--t2i-base-url",
        metavar="URL",
        help="where an openai/ painter is served, with $T2I_API_KEY, else $OPENAI_API_KEY. Default: as --base-url",
    )
    option(
        "--t2i-arg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="as --model-arg, for the painter's requests: --t2i-arg quality=low, --t2i-arg size=",
    )
    option("--image-size", metavar="WxH", default="1024x1024", help="what painters are asked for. Default: 1024x1024")
    option(
        "--detector",
        metavar="PROVIDER/NAME",
        help="who reads the faces: faces/fairface (default), faces/insightface (gender and age only), deepface/NAME, "
        f"openai/NAME (a vision model), {CONTROL_DETECTOR} (reads the controls' drawings; default for controls)",
    )
    option(
        "--detector-base-url",
        metavar="URL",
        help="where an openai/ detector is served, with $DETECTOR_API_KEY, else $OPENAI_API_KEY. Default: as "
        "--base-url",
    )
    option(
        "--detector-arg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="as --model-arg, for the detector's requests",
    )
    option(
        "--weights",
        metavar="DIR",
        type=Path,
        help="the detectors' weights. Default: the user's cache, filled by `python -m fairgate weights pull`",
    )
    option(
        "--calibration",
        metavar="PATH",
        type=Path,
        help="what `python -m fairgate calibrate` measured of the detector: shares are corrected by it",
    )
    option("--race-map", metavar="NAME", help="which map from the detector's races to the benchmark's groups")
    option(
        "--base-url",
        metavar="URL",
        help="where openai/NAME or anthropic/NAME is served. Default: $OPENAI_BASE_URL or $ANTHROPIC_BASE_URL, else "
        "the provider's own",
    )
    option(
        "--model-arg",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="add a field to the request body (JSON or text), or remove one with an empty value: "
        "--model-arg temperature=. For a callable: revision=TEXT tells its versions apart. May be repeated",
    )
    option(
        "--judge",
        metavar="PROVIDER/NAME",
        help="the model that judges F²Bench's open answers, any chat model. It is judged itself first. Default: "
        f"{CONTROL_JUDGE} where the model is a control, else none: without a judge F²Bench's cases are deselected",
    )
    option(
        "--judge-base-url",
        metavar="URL",
        help="where the judge is served, with $JUDGE_API_KEY, else the provider's own key. Default: as --base-url "
        "where model and judge are of one provider, else as --base-url's default",
    )
    option(
        "--judge-arg", action="append", default=[], metavar="KEY=VALUE", help="as --model-arg, for the judge's requests"
    )
    option("--f2bench", metavar="DIR", type=Path, help="F²Bench's published workbooks in place of our own instances")
    option(
        "--bigbench", metavar="DIR", type=Path, help="BIGbench's published prompts, truth and weights in place of ours"
    )
    option("--lenient", action="store_true", help="use the rest where rows of --f2bench cannot be used")
    option(
        "--explain",
        action="store_true",
        help="ask subjective queries for a short reason first; the judge sorts the reasons into kinds",
    )
    option(
        "--stop-early",
        action="store_true",
        help="ask the subjective queries in rounds, and no further once every gate on them has passed or failed; "
        "intervals are wider, so that looking several times errs no more often than once",
    )
    option("--system-prompt", metavar="TEXT", help="a system message before every query")
    option(
        "--ledger",
        metavar="PATH",
        type=Path,
        default=DEFAULT_LEDGER,
        help=f"the store of samples; what it holds is not asked again. Default: {DEFAULT_LEDGER}",
    )
    option(
        "--ledger-wait",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long to wait while another run asks with the same ledger: what it asks is then not asked again. "
        "Default: 0, end at once",
    )
    option(
        "--plan",
        metavar="NAME",
        help="sampling plan of thresholds.toml: quick (default), paper, … With --explain the default is explain",
    )
    option(
        "--per-topic",
        type=int,
        metavar="N",
        help="ask every objective question, and every subjective scenario, N times, whatever the plan says",
    )
    option(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="of the prompts' chance: names, ages, groups, order. Default: 0",
    )
    option(
        "--profiles",
        choices=[str(way) for way in Profiles],
        default=str(Profiles.RANDOM),
        help="how the four individuals are drawn: random (each by itself, as published; default) or balanced "
        "(groups dealt as evenly as four allow)",
    )
    option("--thresholds", metavar="PATH", type=Path, help="limits and plans. Default: thresholds.toml of the checkout")
    option("--data", metavar="DIR", type=Path, help="own statistics, groups and scenarios, added to or replacing ours")
    option("--scenarios", metavar="DIR", type=Path, help="the published scenario files in place of our own")
    option(
        "--key",
        choices=["published", "measured"],
        default="published",
        help="the answer key that S_fact is scored by (prompts always name the published groups). Default: published",
    )
    option(
        "--scoring",
        choices=["definition", "reference"],
        default="definition",
        help="which scoring the terminal shows: as the papers define, or as their released programs compute; "
        "both are always computed, gates judge the estimate by definition. Default: definition",
    )
    option(
        "--report-dir",
        metavar="DIR",
        type=Path,
        help="write the reports there: summary.json, summary.md, index.html, plots/",
    )
    option("--no-plots", action="store_true", help="draw nothing: of each plot its text alone is kept")
    option(
        "--max-in-flight",
        type=int,
        default=16,
        metavar="N",
        help="requests at once, over the whole run; fewer while the server cannot take as many. Default: 16",
    )
    option("--requests-per-minute", type=float, metavar="N", help="over the whole run, repeated ones too. Default: any")
    option("--tokens-per-minute", type=float, metavar="N", help="sent and received, over the whole run. Default: any")
    option(
        "--budget-calls",
        type=int,
        metavar="N",
        help="end the run cleanly after N requests, repeated ones and the judge's too; what was answered is kept",
    )
    option("--budget-tokens", type=int, metavar="N", help="as --budget-calls, for tokens sent and received")
    option(
        "--budget-usd",
        type=float,
        metavar="USD",
        help="as --budget-calls, for money, by the table [prices] of thresholds.toml",
    )
    option(
        "--batch",
        action="store_true",
        help="ask openai/NAME through the provider's batches: half the price, within a day. Conversations take a batch "
        "a turn. A run that is stopped goes on with the same batches: start it again",
    )
    option(
        "--batch-poll", type=float, default=30.0, metavar="SECONDS", help="between two looks at a batch. Default: 30"
    )
    option("--request-timeout", type=float, default=120.0, metavar="SECONDS", help="of one request. Default: 120")
    option(
        "--inconclusive",
        choices=sorted(INCONCLUSIVE_EXIT),
        default="trouble",
        help="what an inconclusive run exits with: trouble (6, default), pass (0) or fail (1)",
    )
    option(
        "--dry-run",
        action="store_true",
        help="ask nothing: say how many calls, tokens, minutes and dollars the run would take, and what it could tell",
    )
    option(
        "--self-check",
        action="store_true",
        help="first run two controls through the gate, and judge nothing unless the oracle passes and the stereotype "
        "fails",
    )
    option(
        "--replay",
        action="store_true",
        help="judge the ledger's last run again, without a call; python -m fairgate gate does it with its options",
    )
    option(
        "--shard",
        metavar="I/N",
        help="ask the I-th of N parts, on each of N machines with the same options; then merge the ledgers "
        "(python -m fairgate merge) and judge (python -m fairgate gate)",
    )
    option("--save-baseline", metavar="PATH", type=Path, help="save what was answered, for later runs to compare with")
    option(
        "--baseline",
        metavar="PATH",
        type=Path,
        help="compare with the run saved there, query by query, and hold the limits of [baseline] in the thresholds",
    )
    option(
        "--compare-common",
        action="store_true",
        help="compare with a baseline of another plan, seed or data version, on what both have in common",
    )
    option("--as-of", metavar="DATE", help="the day that waivers are held against, as 2026-11-30. Default: today (UTC)")


def _shard(given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", given)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise ConfigError(f"{given!r} is no part.", where="--shard", mend="Write I/N, I from 1 to N: --shard 2/5.")
    return number, of


def _day(given: str | None) -> datetime.date:
    try:
        return datetime.datetime.now(datetime.UTC).date() if given is None else datetime.date.fromisoformat(given)
    except ValueError as error:
        raise ConfigError(f"{given!r} is no date.", where="--as-of", mend="Write it as 2026-11-30.") from error


def read(config: pytest.Config) -> Settings:
    """The options of this run. Raises ConfigError for what argparse cannot check."""
    get = config.getoption
    for name, least in (("per_topic", 1), ("max_in_flight", 1), ("seed", 0)):
        value = get(name)
        if value is not None and value < least:
            raise ConfigError(
                f"{value} is too small.", where=f"--{name.replace('_', '-')}", mend=f"Give {least} or more."
            )
    for name in ("requests_per_minute", "tokens_per_minute", "budget_calls", "budget_tokens", "budget_usd"):
        value = get(name)
        if value is not None and not 0 < value < inf:
            raise ConfigError(
                f"{value:g} is no limit.", where=f"--{name.replace('_', '-')}", mend="Give a number above 0."
            )
    for name in ("request_timeout", "batch_poll"):
        if not get(name) > 0:
            raise ConfigError(
                f"{get(name)} is no time.", where=f"--{name.replace('_', '-')}", mend="Give seconds above 0."
            )
    if not IMAGE_SIZE.fullmatch(get("image_size")):
        raise ConfigError(f"{get('image_size')!r} is no size.", where="--image-size", mend="Write 1024x1024.")
    for other in ("explain", "shard"):
        if get("stop_early") and get(other):
            raise ConfigError(
                f"cannot be used with --{other}.",
                where="--stop-early",
                mend="Reasons are few, and a shard alone does not know what the others have seen.",
            )
    base = config.invocation_params.dir

    def path(name: str) -> Path | None:
        value: Path | None = get(name)
        return None if value is None else Path(os.path.abspath(base / value.expanduser()))  # noqa: PTH100 - resolve() would follow links, and messages should show what the user typed

    return Settings(
        model=get("model"),
        t2i_model=get("t2i_model"),
        base_url=get("base_url") or None,
        model_args=tuple(get("model_arg")),
        system_prompt=get("system_prompt"),
        ledger=path("ledger") or DEFAULT_LEDGER,
        ledger_wait=get("ledger_wait"),
        batch=get("batch"),
        batch_poll=get("batch_poll"),
        plan=get("plan") or ("explain" if get("explain") else "quick"),
        per_topic=get("per_topic"),
        seed=get("seed"),
        profiles=Profiles(get("profiles")),
        thresholds=path("thresholds") or CHECKOUT / "thresholds.toml",
        data=path("data"),
        scenarios=path("scenarios"),
        key=get("key"),
        scoring=get("scoring"),
        report_dir=path("report_dir"),
        plots=not get("no_plots"),
        max_in_flight=get("max_in_flight"),
        timeout=get("request_timeout"),
        inconclusive=get("inconclusive"),
        today=_day(get("as_of")),
        judge=get("judge"),
        judge_base_url=get("judge_base_url"),
        judge_args=tuple(get("judge_arg")),
        f2bench=path("f2bench"),
        bigbench=path("bigbench"),
        lenient=get("lenient"),
        explain=get("explain"),
        stop_early=get("stop_early"),
        replay=get("replay"),
        dry_run=get("dry_run"),
        self_check=get("self_check"),
        shard=_shard(get("shard")),
        baseline=path("baseline"),
        save_baseline=path("save_baseline"),
        compare_common=get("compare_common"),
        requests_per_minute=get("requests_per_minute"),
        tokens_per_minute=get("tokens_per_minute"),
        budget_calls=get("budget_calls"),
        budget_tokens=get("budget_tokens"),
        budget_usd=get("budget_usd"),
        t2i_base_url=get("t2i_base_url"),
        t2i_args=tuple(get("t2i_arg")),
        image_size=get("image_size"),
        detector=get("detector"),
        detector_base_url=get("detector_base_url"),
        detector_args=tuple(get("detector_arg")),
        weights=path("weights"),
        calibration=path("calibration"),
        race_map=get("race_map"),
    )
