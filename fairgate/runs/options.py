"""pytest's options -> the settings of a run."""

from __future__ import annotations

import datetime
import os
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from msgspec.structs import asdict

from fairgate.asked import MOST_SEED, MOST_TIMES, Profiles
from fairgate.errors import ConfigError
from fairgate.models.base import CONTROL_JUDGE
from fairgate.settings import (
    ADDRESSES,
    CHECKOUT,
    CONTROL_DETECTOR,
    DEFAULT_LEDGER,
    DEFAULT_MODEL,
    INCONCLUSIVE_EXIT,
    Settings,
)
from fairgate.typed import shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from fairgate.asked import Asked

IMAGE_SIZE = re.compile(r"[1-9]\d{1,4}x[1-9]\d{1,4}")
# Where argparse cannot say it: the least and the most that a number may be; of `ABOVE_0` the least is above 0.
WHOLE = {"per_topic": (1, MOST_TIMES), "max_in_flight": (1, 10_000), "seed": (0, MOST_SEED)}
ABOVE_0 = ("budget_calls", "budget_tokens", "budget_usd")
# Below that, the first request would wait for hours.
A_MINUTE = {"requests_per_minute": 0.01, "tokens_per_minute": 1.0}
MOST = 1e15
DAY = 86_400.0
TIMES = {"request_timeout": DAY, "batch_poll": DAY}
LONGEST_WAIT = 30 * DAY
# Settings that have no option of their name; none of them is a text.
GIVEN_OTHERWISE = ("timeout", "today", "plots")
# Options whose setting is no mere copy of what was given.
PATHS = (
    *("ledger", "thresholds", "data", "scenarios", "report_dir", "f2bench", "bigbench", "baseline", "save_baseline"),
    *("weights", "calibration"),
)
GIVEN_ANEW = ("data", "scenarios", "f2bench", "key", "scoring")
REPEATED = ("model_arg", "judge_arg", "t2i_arg", "detector_arg")


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
        "(images that exist), control/NAME, results/DIR (a result folder of the original program), results/FILE "
        "(BIGbench's aligned images). "
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
    option(
        "--race-map",
        metavar="NAME",
        help="which map from the detector's races to the benchmark's groups: default, census, left-out "
        "(docs/images.md)",
    )
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
        help="how the four individuals are drawn: random (each by itself, as published) or balanced (groups dealt as "
        "evenly as four allow). Default: as the plan says",
    )
    option("--thresholds", metavar="PATH", type=Path, help="limits and plans. Default: thresholds.toml of the checkout")
    option("--data", metavar="DIR", type=Path, help="own statistics, groups and scenarios, added to or replacing ours")
    option("--scenarios", metavar="DIR", type=Path, help="the published scenario files in place of our own")
    option(
        "--key",
        choices=["published", "measured"],
        help="the answer key that S_fact is scored by (prompts always name the published groups). Default: published",
    )
    option(
        "--scoring",
        choices=["definition", "reference"],
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
        help="first run controls through the gate, and judge no model unless the fair one passes and the unfair ones "
        "fail: stereotype, women-first, in-group, always-d",
    )
    option("--replay-run", metavar="ID", help="of --replay: the run whose id begins so. Default: the last one")
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


def read(config: pytest.Config, asked: Asked | None = None) -> Settings:
    """The options of this run. Raises ConfigError for what argparse cannot check.

    `asked` is what the run that is judged again asked: of these values only those of GIVEN_ANEW can be given anew.
    """
    get = config.getoption
    _check(get)
    base = config.invocation_params.dir

    def path(name: str) -> Path | None:
        value: Path | None = get(name)
        return None if value is None else Path(os.path.abspath(base / value.expanduser()))  # noqa: PTH100 - resolve() would follow links, and messages should show what the user typed

    made = {
        **{name: path(name) for name in PATHS},
        **{f"{name}s": tuple(get(name)) for name in REPEATED},
        "ledger": path("ledger") or DEFAULT_LEDGER,
        "thresholds": path("thresholds") or CHECKOUT / "thresholds.toml",
        "base_url": get("base_url") or None,
        "key": get("key") or "published",
        "scoring": get("scoring") or "definition",
        "plan": get("plan") or ("explain" if get("explain") else "quick"),
        "profiles": Profiles(get("profiles")) if get("profiles") else None,
        "plots": not get("no_plots"),
        "timeout": get("request_timeout"),
        "today": _day(get("as_of")),
        "shard": _shard(get("shard")),
    }
    given: dict[str, Any] = {each.name: get(each.name) for each in fields(Settings) if each.name not in made}
    settings = Settings(**given, **made)
    if asked is None:
        return settings
    anew = {name for name in GIVEN_ANEW if get(name) is not None}
    return replace(settings, **{name: value for name, value in asdict(asked).items() if name not in anew})


def _check(get: Callable[[str], Any]) -> None:
    _check_texts(get)
    for name, (least, most) in WHOLE.items():
        if (value := get(name)) is not None and value < least:
            raise _wrong(name, f"{value} is too small.", f"Give {least} or more.")
        if value is not None and value > most:
            raise _wrong(name, f"{shortened(value)} is too large.", f"Give {most:,} or less.")
    for name in ABOVE_0:
        if (value := get(name)) is not None and not 0 < value <= MOST:
            raise _wrong(name, f"{shortened(value)} is no limit.", f"Give a number above 0, up to {MOST:g}.")
    for name, slowest in A_MINUTE.items():
        if (value := get(name)) is not None and not slowest <= value <= MOST:
            raise _wrong(name, f"{value:g} is no limit.", f"Give {slowest:g} or more, up to {MOST:g}, or leave it out.")
    for name, longest in TIMES.items():
        if not 0 < (value := get(name)) <= longest:
            raise _wrong(name, f"{value} is no time.", f"Give seconds above 0, up to {longest:,.0f}.")
    if not 0 <= (value := get("ledger_wait")) <= LONGEST_WAIT:
        raise _wrong("ledger_wait", f"{value} is no time.", f"Give seconds from 0 to {LONGEST_WAIT:,.0f}.")
    if get("plan") is not None and not get("plan").strip():
        raise _wrong(
            "plan", f"{get('plan')!r} is no plan.", "Name one of the limits file, e.g. quick, or leave it out."
        )
    if get("lenient") and get("f2bench") is None and not get("replay"):
        raise _wrong("lenient", "there are no rows that could be left out.", "Give --f2bench DIR too, or remove it.")
    for name in ADDRESSES:
        if value := get(name):
            _check_address(name, value)
    if not IMAGE_SIZE.fullmatch(get("image_size")):
        raise _wrong("image_size", f"{get('image_size')!r} is no size.", "Write 1024x1024.")
    for other in ("explain", "shard"):
        if get("stop_early") and get(other):
            alone = "Reasons are few, and a shard alone does not know what the others have seen."
            raise _wrong("stop_early", f"cannot be used with --{other}.", alone)


def _check_texts(get: Callable[[str], Any]) -> None:
    """Raise ConfigError for a text that is no text, and for a field that pays for replies which nobody reads."""
    for each in fields(Settings):
        if each.name in GIVEN_OTHERWISE:
            continue
        name = each.name.removesuffix("s") if each.name.removesuffix("s") in REPEATED else each.name
        for value in given if isinstance(given := get(name), list) else [given]:
            try:
                str(value).encode()
            except UnicodeEncodeError:
                raise _wrong(name, f"{shortened(str(value))} is no UTF-8.", "Write it in UTF-8.") from None
    for name in REPEATED:
        for value in get(name):
            key, _, given = value.partition("=")
            if key.strip() == "n" and given.strip() not in ("", "1"):
                problem = f"{shortened(value)} asks for several replies, and one of each request is read."
                raise _wrong(name, problem, "Remove it: --per-topic N asks N times.")


def _check_address(name: str, value: str) -> None:
    """Raise ConfigError for what is no address of a server; what stands before an @ may be a password."""
    try:
        parts = urlsplit(value)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        good = False
    if not good or any(each.isspace() or not each.isprintable() for each in value):
        said = shortened(f"…@{value.rpartition('@')[2]}" if "@" in value else value.partition("?")[0])
        raise _wrong(name, f"{said} is no address of a server.", "It looks like https://host.example:8000/v1")


def _wrong(name: str, problem: str, hint: str) -> ConfigError:
    return ConfigError(problem, where=f"--{name.replace('_', '-')}", hint=hint)


def _shard(given: str | None) -> tuple[int, int] | None:
    if given is None:
        return None
    found = re.fullmatch(r"(\d{1,4})/(\d{1,4})", given)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise _wrong("shard", f"{given!r} is no part.", "Write I/N, I from 1 to N: --shard 2/5.")
    return number, of


def _day(given: str | None) -> datetime.date:
    try:
        return datetime.datetime.now(datetime.UTC).date() if given is None else datetime.date.fromisoformat(given)
    except ValueError as error:
        raise _wrong("as_of", f"{given!r} is no date.", "Write it as 2026-11-30.") from error
