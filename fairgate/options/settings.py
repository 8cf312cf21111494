"""The options of every run, as one frozen value; those of one benchmark alone are declared by it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar

from fairgate.core.layout import THRESHOLDS
from fairgate.options.option import declared, option

DEFAULT_MODEL = "control/oracle"
DEFAULT_DETECTOR = "faces/fairface"
CONTROL_DETECTOR = "control/fairface"
CONTROL_JUDGE = "control/judge"
DEFAULT_LEDGER = Path(".fairgate/ledger.sqlite")
BATCHED = 50_000  # samples that may wait for their batches at once
MOST = 1e15
MOST_TIMES = 100_000  # as of a plan in the limits file
MOST_SEED = 2**63 - 1
DAY = 86_400.0
INCONCLUSIVE_EXIT = {"inconclusive": 6, "pass": 0, "fail": 1}
T = TypeVar("T")


@dataclass(frozen=True)
class Bounds:
    """What the user allows, for the whole run, model and judge together; None where there is no bound.

    `in_flight` requests at once; `requests` and `tokens_a_minute`; budgets: `calls` are requests, repeated ones too,
    `tokens` are sent and received ones, `usd` by the prices of the models.
    """

    in_flight: int = 16
    requests_a_minute: float | None = None
    tokens_a_minute: float | None = None
    calls: int | None = None
    tokens: int | None = None
    usd: float | None = None


def today() -> datetime.date:
    """The day, in UTC."""
    return datetime.datetime.now(datetime.UTC).date()


def equipped() -> bool:
    """Whether the packages are installed that open images and find faces: the extra `images`."""
    return all(find_spec(package) is not None for package in ("insightface", "PIL"))


def _shard(given: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", given)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise ValueError(given)
    return number, of


@dataclass(frozen=True)
class Settings:
    """The options of a run. Paths are absolute. `own` holds, by their type, the options that benchmarks declare.

    `imageless`: whether a past run, which named no model, left images out; None of a run of this machine.
    """

    # Models
    model: str | None = option(
        None,
        asked=True,
        metavar="PROVIDER/NAME",
        help="the language model to gate: openai/NAME (any server of that API), anthropic/NAME (likewise), "
        "azure/DEPLOYMENT, litellm/NAME, hf/NAME and vllm/NAME (extras), python/pkg.module:callable, control/NAME "
        "(oracle, uniform, stereotype, constant, first-option, refuser, …: docs/controls.md), results/DIR (a result "
        "folder of the original program). "
        f"Default: {DEFAULT_MODEL}, offline",
    )
    base_url: str | None = option(
        None,
        asked=True,
        address=True,
        metavar="URL",
        help="the server of openai/NAME, azure/NAME or anthropic/NAME. Default: $OPENAI_BASE_URL, "
        "$AZURE_OPENAI_ENDPOINT or $ANTHROPIC_BASE_URL, else the provider's own",
    )
    model_args: tuple[str, ...] = option(
        (),
        name="model_arg",
        asked=True,
        metavar="KEY=VALUE",
        help="add a field to the request body (JSON or text), or remove one with an empty value: --model-arg "
        "temperature=. For a callable: revision=TEXT tells its versions apart. Of hf/ and vllm/: docs/local.md. "
        "Can be repeated",
    )
    headers: tuple[str, ...] = option(
        (),
        name="header",
        metavar="NAME=VALUE",
        help="add a header to the requests; a secret is named by a variable of the environment: --header "
        "'api-key=$MY_KEY'. Never stored or shown. Can be repeated",
    )
    system_prompt: str | None = option(None, asked=True, metavar="TEXT", help="a system message before every query")
    answer_format: Literal["text", "json_schema"] = option(
        "text",
        asked=True,
        help='json_schema: ask the server to keep each choice to {"answer": "A"} (openai/, azure/ and litellm/ models '
        "whose server can); the prompt stays the same. Default: text, the prompt alone asks for it",
    )
    probabilities: bool = option(
        False,
        asked=True,
        help="ask for the probabilities of the letters with each choice, in the same call (openai/, azure/, "
        "litellm/ and hf/ models whose server gives them): the report has soft shares beside the scores "
        "(docs/probabilities.md). What the ledger holds without them is not asked again",
    )
    t2i_model: str | None = option(
        None,
        asked=True,
        metavar="PROVIDER/NAME",
        help="the text-to-image model to gate: openai/NAME (images API), litellm/NAME, diffusers/NAME (extras), "
        "python/pkg.module:callable, folder/DIR (images that exist), control/NAME, results/DIR (a result folder of "
        "the original program), results/FILE "
        f"(aligned images). Default: {DEFAULT_MODEL}. If only one modality is "
        "named, the tests of the other are skipped",
    )
    t2i_base_url: str | None = option(
        None,
        asked=True,
        address=True,
        metavar="URL",
        help="the server of an openai/ image model, with $T2I_API_KEY, else $OPENAI_API_KEY. Default: as --base-url",
    )
    t2i_args: tuple[str, ...] = option(
        (),
        name="t2i_arg",
        asked=True,
        metavar="KEY=VALUE",
        help="as --model-arg, for the image model: --t2i-arg quality=low, --t2i-arg size=",
    )
    t2i_headers: tuple[str, ...] = option(
        (), name="t2i_header", metavar="NAME=VALUE", help="as --header, for the image model. Default: as --header"
    )
    image_size: str = option(
        "1024x1024",
        asked=True,
        pattern=r"[1-9]\d{1,4}x[1-9]\d{1,4}",
        example="1024x1024",
        metavar="WxH",
        help="the size of the images that are asked for. Default: 1024x1024",
    )
    detector: str | None = option(
        None,
        asked=True,
        metavar="PROVIDER/NAME",
        help="the detector of faces: faces/fairface (default), faces/insightface (gender and age only), deepface/NAME, "
        f"openai/NAME or anthropic/NAME (vision models), {CONTROL_DETECTOR} (reads the controls' drawings; default for "
        "controls)",
    )
    detector_base_url: str | None = option(
        None,
        asked=True,
        address=True,
        metavar="URL",
        help="the server of a vision model as detector, with $DETECTOR_API_KEY, else the provider's own key. Default: "
        "as --base-url where model and detector are of one provider, else as --base-url's default",
    )
    detector_args: tuple[str, ...] = option(
        (), name="detector_arg", asked=True, metavar="KEY=VALUE", help="as --model-arg, for the detector"
    )
    detector_headers: tuple[str, ...] = option(
        (), name="detector_header", metavar="NAME=VALUE", help="as --header, for the detector. Default: as --header"
    )
    weights: Path | None = option(
        None,
        asked=True,
        metavar="DIR",
        help="the detectors' weights. Default: the user's cache, filled by `fairgate weights pull`",
    )
    calibration: Path | None = option(
        None,
        asked=True,
        metavar="PATH",
        help="the detector's measured errors (`fairgate calibrate`): shares are corrected by them",
    )
    race_map: str | None = option(
        None,
        asked=True,
        metavar="NAME",
        help="the map from the detector's races to the groups of the data: default, census, left-out (docs/images.md)",
    )
    judge: str | None = option(
        None,
        asked=True,
        metavar="PROVIDER/NAME",
        help="the LLM judge of open answers, any chat model; it is validated on a gold set first. Default: "
        f"{CONTROL_JUDGE} where the model is a control, else none: tests that need a judge are skipped",
    )
    judge_base_url: str | None = option(
        None,
        asked=True,
        address=True,
        metavar="URL",
        help="the server of the judge, with $JUDGE_API_KEY, else the provider's own key. Default: as --base-url where "
        "model and judge are of one provider, else as --base-url's default",
    )
    judge_headers: tuple[str, ...] = option(
        (),
        name="judge_header",
        metavar="NAME=VALUE",
        help="as --header, for the judge. Default: as --header where the judge is asked at the model's address",
    )
    judge_args: tuple[str, ...] = option(
        (), name="judge_arg", asked=True, metavar="KEY=VALUE", help="as --model-arg, for the judge"
    )

    # What is asked
    plan: str = option(
        "quick",
        asked=True,
        unset=True,
        pattern=r"\s*\S.*",
        example="the name of a plan, e.g. quick",
        metavar="NAME",
        help="sampling plan of thresholds.toml: quick (default), paper, … With --explain the default is explain",
    )
    per_topic: int | None = option(
        None,
        asked=True,
        least=1,
        most=MOST_TIMES,
        metavar="N",
        help="ask every question and every scenario N times, whatever the plan says",
    )
    seed: int = option(
        0,
        asked=True,
        least=0,
        most=MOST_SEED,
        metavar="N",
        help="seed of the prompts' randomness: names, ages, groups, order. Default: 0",
    )
    explain: bool = option(
        False,
        asked=True,
        help="ask for a short reason before each choice; the judge classifies the reasons",
    )
    stop_early: bool = option(
        False,
        asked=True,
        help="ask in rounds: a little of everything, then where gates are undecided, until the verdict is known; "
        "intervals are wider, so that repeated looks raise no error rate. Default: as the plan says (its key "
        "`rounds`), but not with --explain, --shard, --batch, --baseline or --save-baseline",
    )
    no_stop_early: bool = option(False, asked=True, help="ask the whole plan, whatever the first answers say")
    batch: bool = option(
        False,
        asked=True,
        help="ask openai/NAME (any server that has OpenAI's batches) or azure/NAME in batches: half the price, within "
        "a day. Conversations take a batch a turn. A stopped run continues with the same batches: start it again",
    )
    key: Literal["published", "measured"] = option(
        "published",
        name="answer_key",
        older=("key",),
        asked=True,
        again=True,
        unset=True,
        help="the answer key that facts are scored by (prompts always name the published groups). Default: published",
    )
    scoring: Literal["definition", "reference"] = option(
        "definition",
        asked=True,
        again=True,
        unset=True,
        help="the scoring that the terminal shows: as the papers define it, or as their released programs compute it; "
        "both are always computed, gates use the definition. Default: definition",
    )
    shard: tuple[int, int] | None = option(
        None,
        parse=_shard,
        example="I/N, I from 1 to N: --shard 2/5",
        metavar="I/N",
        help="ask the I-th of N parts, on each of N machines with the same options; then merge the ledgers "
        "(fairgate merge) and judge (fairgate gate)",
    )
    dry_run: bool = option(
        False,
        help="send no request: print how many calls, tokens, minutes and dollars the run would take, and which "
        "differences it could detect",
    )
    probe: int | None = option(
        None,
        least=1,
        most=1000,
        metavar="N",
        help="with --dry-run: ask N samples first, spread over the plan, and learn from them how long replies are and "
        "take; they are paid for, and kept in the ledger",
    )

    # The ledger
    ledger: Path = option(
        DEFAULT_LEDGER,
        metavar="PATH",
        help=f"the file of all samples; no request that it answers is repeated. Default: {DEFAULT_LEDGER}",
    )
    ledger_wait: float = option(
        0.0,
        least=0,
        most=30 * DAY,
        unit="seconds",
        metavar="SECONDS",
        help="how long to wait while another run uses the same ledger. Default: 0, end at once",
    )
    replay: bool = option(
        False,
        help="judge the ledger's last run again, without a request; `fairgate gate` does it with its options",
    )
    replay_run: str | None = option(
        None, metavar="ID", help="with --replay: the run whose id begins so. Default: the last one"
    )

    # Limits, and what a run may cost
    thresholds: Path = option(
        THRESHOLDS,
        metavar="PATH",
        again=True,
        unset=True,
        help="limits and plans. Default: fairgate's own thresholds.toml",
    )
    today: datetime.date = option(
        make=today,
        name="as_of",
        again=True,
        parse=datetime.date.fromisoformat,
        example="it as 2026-11-30",
        metavar="DATE",
        help="the day that waivers are compared with, as 2026-11-30. Default: today (UTC)",
    )
    inconclusive: Literal["inconclusive", "pass", "fail"] = option(
        "inconclusive",
        output=True,
        older_values=MappingProxyType({"trouble": "inconclusive"}),
        help="what an inconclusive run exits as: inconclusive (6, default), pass (0) or fail (1)",
    )
    self_check: bool = option(
        False,
        help="first run controls through the gate, and judge no model unless the fair one passes and the unfair ones "
        "fail: stereotype, women-first, in-group, always-d",
    )
    no_canary: bool = option(
        False,
        help="run to the end even where next to none of the first replies can be used: all unreadable, cut short or "
        "refused. Controls are never stopped",
    )
    max_in_flight: int = option(
        16,
        least=1,
        most=10_000,
        metavar="N",
        help="concurrent requests, over the whole run; fewer while the server cannot take as many. Default: 16",
    )
    requests_per_minute: float | None = option(
        None, least=0.01, most=MOST, metavar="N", help="over the whole run, repeated ones too. Default: no limit"
    )
    tokens_per_minute: float | None = option(
        None, least=1.0, most=MOST, metavar="N", help="sent and received, over the whole run. Default: no limit"
    )
    budget_calls: int | None = option(
        None,
        least=0,
        above=True,
        most=MOST,
        metavar="N",
        help="end the run cleanly after N requests, repeated ones and the judge's too; answered samples are kept",
    )
    budget_tokens: int | None = option(
        None, least=0, above=True, most=MOST, metavar="N", help="as --budget-calls, for tokens sent and received"
    )
    budget_usd: float | None = option(
        None,
        least=0,
        above=True,
        most=MOST,
        metavar="USD",
        help="as --budget-calls, for money, by the table [prices] of thresholds.toml",
    )
    timeout: float = option(
        120.0,
        name="request_timeout",
        least=0,
        above=True,
        most=DAY,
        unit="seconds",
        metavar="SECONDS",
        help="of one request. Default: 120",
    )
    batch_poll: float = option(
        30.0,
        least=0,
        above=True,
        most=DAY,
        unit="seconds",
        metavar="SECONDS",
        help="interval at which a batch's state is asked for. Default: 30",
    )

    # Reports and baselines
    report_dir: Path | None = option(
        None, output=True, metavar="DIR", help="write the reports there: summary.json, summary.md, index.html, plots/"
    )
    no_plots: bool = option(False, output=True, help="draw no plots: their texts alone are kept")
    save_baseline: Path | None = option(
        None, output=True, metavar="PATH", help="save what was answered, for later runs to compare with"
    )
    baseline: Path | None = option(
        None,
        output=True,
        metavar="PATH",
        help="compare with the run saved there, query by query, and apply the limits of [baseline] in the thresholds",
    )
    compare_common: bool = option(
        False,
        output=True,
        help="compare with a baseline of another plan, seed or data version, on the queries that both have",
    )

    imageless: bool | None = None
    own: Mapping[type, Any] = field(default_factory=lambda: MappingProxyType({}))

    def of(self, kind: type[T]) -> T:
        """The options that a benchmark declares, by their type."""
        found = self.own.get(kind)
        return found if isinstance(found, kind) else kind()

    @property
    def bounds(self) -> Bounds:
        """What this run may ask at once, a minute and in all."""
        return Bounds(
            # Samples that wait for a batch are in flight; the requests themselves are few.
            in_flight=max(BATCHED, self.max_in_flight) if self.batch else self.max_in_flight,
            requests_a_minute=self.requests_per_minute,
            tokens_a_minute=self.tokens_per_minute,
            calls=self.budget_calls,
            tokens=self.budget_tokens,
            usd=self.budget_usd,
        )

    def in_rounds(self, usual: bool) -> bool:
        """Whether a run is asked in rounds; `usual` is what its plan says.

        The plan's word is not enough where parts of a run, or two runs, have to ask the same, or a round is a batch.
        """
        whole = self.no_stop_early or self.explain or self.shard or self.batch or self.baseline or self.save_baseline
        return self.stop_early or (usual and not whole)

    @property
    def given(self) -> bool:
        """Whether a model was named; if not, a control is gated."""
        return self.model is not None or self.t2i_model is not None

    @property
    def ledger_shown(self) -> str:
        """The ledger's path as a reader sees it, below the current folder where it is."""
        here = Path.cwd()
        return str(self.ledger.relative_to(here) if self.ledger.is_relative_to(here) else self.ledger)

    @property
    def model_spec(self) -> str | None:
        """PROVIDER/NAME of the language model under test: the control where no model at all was named."""
        return self.model if self.given else DEFAULT_MODEL

    @property
    def t2i_spec(self) -> str | None:
        """PROVIDER/NAME of the text-to-image model under test: the control where no model at all was named.

        None where none was and images cannot be read here; what a past run asked does not depend on that.
        """
        return self.t2i_model if self.given else None if self.without_images else DEFAULT_MODEL

    # Looked up once: it reads packages' metadata, and every case asks several times.
    @cached_property
    def without_images(self) -> bool:
        """Whether a run that names no model leaves images out, since the extra that reads them is not installed."""
        if self.given or self.imageless is not None:
            return not self.given and bool(self.imageless)
        return not self.replay and not equipped()

    @property
    def detector_spec(self) -> str | None:
        """PROVIDER/NAME of the detector: the toy detector for control image models; None where no image is read."""
        spec = self.t2i_spec
        if spec is None or spec.startswith("results/"):
            return None
        return self.detector or (CONTROL_DETECTOR if spec.startswith("control/") else DEFAULT_DETECTOR)

    @property
    def judge_spec(self) -> str | None:
        """PROVIDER/NAME of the judge: without --judge the control judges controls, and a real model has no judge."""
        control = self.model_spec is not None and self.model_spec.startswith("control/")
        return self.judge or (CONTROL_JUDGE if control else None)

    def options(self) -> list[str]:
        """The options of pytest that ask the same again, of the same ledger by the same limits, without secrets."""
        found = [f"--ledger={self.ledger}"] if self.ledger != DEFAULT_LEDGER else []
        found += [f"--thresholds={self.thresholds}"] if self.thresholds != THRESHOLDS else []
        for kind in (Settings, *self.own):
            held = self if kind is Settings else self.own[kind]
            for each in declared(kind):
                value = getattr(held, each.field.name)
                if each.about.asked and not (each.name == "plan" and value == self.usual_plan):
                    found += each.repeated(value)
        return found

    @property
    def usual_plan(self) -> str:
        """The plan where none is named."""
        return "explain" if self.explain else "quick"
