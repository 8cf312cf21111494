"""The options of a run: what they mean, what is refused, and what is said again without secrets."""

from __future__ import annotations

import argparse
import hashlib
import shlex
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.options import FactOrFairOptions
from fairgate.core.domain import Role
from fairgate.core.errors import ConfigError
from fairgate.core.layout import THRESHOLDS
from fairgate.ledger.images import ImageStore
from fairgate.ledger.ledger import Ledger
from fairgate.options.table import OptionTable
from fairgate.providers.chat.registry import NamedModel
from fairgate.providers.faces.registry import make_detector
from fairgate.runs.judgement import report_of
from fairgate.runs.opening import open_run
from fairgate.runs.sampling import Sampling
from tests.running import CHECKOUT
from tests.settings import settings_of

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.providers.retries import TransientError


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path


def test_installed_packages_are_looked_up_once_a_run(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([True])
    monkeypatch.setattr("fairgate.options.settings.equipped", lambda: next(looks))
    run = open_run(settings_of(here))
    assert {Role.MODEL, Role.IMAGE_MODEL} < set(run.participants.roles)
    assert all(run.asks(case) for case in run.cases.values())
    assert next(looks, None) is None


def test_nothing_given_means_the_oracle_on_the_quick_plan(here: Path) -> None:
    found = settings_of(here)
    assert (found.model, found.model_spec, found.given) == (None, "control/oracle", False)
    assert (found.plan, found.seed, found.per_topic) == ("quick", 0, None)
    assert found.of(FactOrFairOptions) == FactOrFairOptions(profiles=None, data=None, scenarios=None)
    assert (found.key, found.scoring, found.inconclusive, found.max_in_flight) == (
        "published", "definition", "inconclusive", 16,
    )  # fmt: skip
    assert found.thresholds == CHECKOUT / "thresholds.toml"
    assert found.ledger == here / ".fairgate" / "ledger.sqlite"
    assert (found.report_dir, found.base_url) == (None, None)


def test_a_run_knows_its_limits_though_their_file_is_gone_at_its_end(here: Path) -> None:
    path, base = here / "limits.toml", here / "base.toml"
    path.write_text('extend = "base.toml"\n')
    base.write_text('extend = "default"\n')
    content = path.read_bytes() + base.read_bytes() + THRESHOLDS.read_bytes()
    run = open_run(settings_of(here, f"--thresholds={path}"))
    path.unlink()
    base.unlink()
    Ledger(run.settings.ledger).close()
    assert run.limits_hash == hashlib.sha256(content).hexdigest()
    assert report_of(Sampling(run, []).sampled, {}).limits_hash == run.limits_hash


def test_older_names_and_values_are_read_and_not_shown(here: Path) -> None:
    found = settings_of(here, "--key=measured", "--inconclusive=trouble")
    assert (found.key, found.inconclusive) == ("measured", "inconclusive")
    assert found.options()[1:] == ["--answer-key=measured"]
    [option] = [each for each in OptionTable() if each.name == "answer_key"]
    assert option.flags == ("--answer-key", "--key")
    assert option.hidden["help"] == argparse.SUPPRESS


def test_paths_are_those_of_the_folder_in_which_it_was_called(here: Path) -> None:
    found = settings_of(here, "--ledger=a/../b.sqlite", "--report-dir", "out", "--thresholds=/t.toml", "--data=~/d")
    assert found.ledger == here / "b.sqlite"
    assert found.report_dir == here / "out"
    assert str(found.thresholds) == "/t.toml"
    data = found.of(FactOrFairOptions).data
    assert data is not None
    assert data.is_absolute()
    assert "~" not in str(data)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("--per-topic=0", "--per-topic: 0 is out of range. Give a number from 1 to 100,000."),
        ("--per-topic=-3", "-3 is out of range"),
        ("--max-in-flight=0", "--max-in-flight: 0 is out of range"),
        ("--request-timeout=0", "--request-timeout: 0.0 is out of range. Give a number above 0 to 86,400 seconds."),
        ("--request-timeout=-1", "-1.0 is out of range"),
        ("--request-timeout=nan", "nan is out of range"),
        ("--batch-poll=0", "--batch-poll: 0.0 is out of range"),
        ("--per-topic=100000000000", "--per-topic: 100000000000 is out of range"),
        (f"--max-in-flight={2**70}", f"--max-in-flight: {2**70} is out of range. Give a number from 1 to 10,000."),
        (f"--seed={2**70}", f"--seed: {2**70} is out of range"),
        ("--plan=", "--plan: '' is not valid. Write the name of a plan"),
        ("--ledger-wait=nan", "--ledger-wait: nan is out of range. Give a number from 0 to"),
        ("--ledger-wait=-5", "--ledger-wait: -5.0 is out of range"),
        ("--ledger-wait=inf", "--ledger-wait: inf is out of range"),
        ("--batch-poll=inf", "--batch-poll: inf is out of range. Give a number above 0 to 86,400 seconds."),
        ("--request-timeout=inf", "--request-timeout: inf is out of range"),
        ("--tokens-per-minute=0.0001", "--tokens-per-minute: 0.0001 is out of range. Give a number from 1 to"),
        ("--tokens-per-minute=nan", "nan is out of range"),
        ("--requests-per-minute=0", "--requests-per-minute: 0.0 is out of range. Give a number from 0.01"),
        ("--budget-usd=inf", "--budget-usd: inf is out of range"),
        (f"--budget-calls={10**400}", "--budget-calls: 1000000000"),
        ("--model-arg=n=5", "--model-arg: 'n=5' asks for several replies"),
        ("--t2i-arg=n=2", "--t2i-arg: 'n=2' asks for several replies"),
        (
            "--base-url=http://bob:hunter2@h:port/v1",
            r"--base-url: '\u2026@h:port/v1' is not the address of a server. It looks",
        ),
        ("--base-url=http://[bob:hunter2@h/v1", "is not the address of a server"),
        ("--judge-base-url=https:/bob:hunter2@h", "is not the address of a server"),
        ("--t2i-base-url=bob:hunter2@h/v1", "is not the address of a server"),
        ("--detector-base-url=http://bob:hun ter2@h", "is not the address of a server"),
        ("--lenient", "--lenient: there are no rows that could be left out. Give --f2bench DIR too"),
        ("--model=openai/\udcff", r"--model: 'openai/\udcff' is no UTF-8"),
        ("--data=/tmp/\udcff", r"--data: '/tmp/\udcff' is no UTF-8"),
        ("--judge-arg=a=\udcff", r"--judge-arg: 'a=\udcff' is no UTF-8"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(here: Path, given: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of(here, given)
    assert said in str(caught.value)
    assert "ter2" not in str(caught.value)


def test_options_say_the_same_again(here: Path) -> None:
    given = [
        *("--model=openai/tiny", "--base-url=http://127.0.0.1:1/v1", "--model-arg=temperature=", "--model-arg=n=1"),
        *(
            "--system-prompt=Be 'brief', please",
            "--plan=paper",
            "--per-topic=3",
            "--seed=7",
            "--profiles=balanced",
            "--ages=one",
        ),
        *("--key=measured", "--thresholds=t.toml", "--data=d", "--scenarios=s", "--ledger=l.sqlite"),
    ]
    first = settings_of(here, *given)
    again = settings_of(here, *shlex.split(shlex.join(first.options())))
    assert again == first


def test_options_say_nothing_that_is_usual(here: Path) -> None:
    assert settings_of(here).options() == [f"--ledger={here / '.fairgate' / 'ledger.sqlite'}"]


def test_options_hold_no_secret_of_an_address(here: Path) -> None:
    found = settings_of(
        here, "--model=openai/tiny", "--base-url=https://user:planted@h.invalid:8/v1/?key=planted#planted"
    )
    assert "--base-url=https://h.invalid:8/v1/" in found.options()
    assert "planted" not in " ".join(found.options())


def test_no_repr_shows_the_secret_of_an_address(here: Path) -> None:
    names = ("base_url", "t2i_base_url", "detector_base_url", "judge_base_url")
    given = [f"--{name.replace('_', '-')}=http://me:{name}-pw@host/v1?token={name}-tk" for name in names]
    settings = settings_of(here, "--model=openai/x", *given)
    assert all(f"{name}-pw" in str(getattr(settings, name)) for name in names)
    run = open_run(settings)
    for shown in (repr(settings), repr(run), repr(NamedModel("openai", "x", (), settings.base_url))):
        assert "-pw" not in shown
        assert "-tk" not in shown


def test_a_control_is_judged_by_the_control_and_a_real_model_by_nobody_unless_named(here: Path) -> None:
    assert settings_of(here).judge_spec == "control/judge"
    assert settings_of(here, "--model=control/uniform").judge_spec == "control/judge"
    assert settings_of(here, "--model=openai/tiny").judge_spec is None
    assert settings_of(here, "--t2i-model=results/x").judge_spec is None
    assert settings_of(here, "--model=openai/tiny", "--judge=openai/wise").judge_spec == "openai/wise"


def test_the_judges_options_are_said_again_without_secrets(here: Path) -> None:
    found = settings_of(
        here, "--model=openai/tiny", "--judge=openai/wise", "--judge-base-url=http://u:secret@h/v1?k=secret",
        "--judge-arg=top_p=1", "--f2bench=books", "--lenient", "--scoring=reference",
    )  # fmt: skip
    said = shlex.join(found.options())
    for each in ("--judge=openai/wise", "--judge-base-url=http://h/v1", "--judge-arg=top_p=1", "--lenient", "books"):
        assert each in said
    assert "--scoring=reference" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("openai/Qwen2.5-7B-Instruct", {"temperature": 0.7, "top_p": 0.8, "repetition_penalty": 1.05}),
        ("openai/gpt-4o", {"temperature": 0}),
    ],
)
def test_a_model_that_the_paper_samples_in_its_own_way_is_asked_so_in_f2bench_alone(
    here: Path, model: str, expected: dict[str, object]
) -> None:
    run = open_run(settings_of(here, f"--model={model}", "--base-url=http://h/v1", "--judge=openai/wise"))
    assert run.participants.identity_of(Role.MODEL).parameters == {"temperature": 0}
    assert run.participants.identity_of(Role.SPEAKER).parameters == expected
    assert run.participants.identity_of(Role.JUDGE).label == "openai/wise"


def test_a_vision_model_without_a_name_is_refused_before_anybody_is_asked(here: Path) -> None:
    async def at_once(seconds: float, problem: TransientError) -> None:
        """Backoff for nothing."""

    found = settings_of(here, "--t2i-model=control/oracle", "--detector=openai/")
    with pytest.raises(ConfigError, match=r"--detector: 'openai/' names no model\. Write openai/NAME"):
        make_detector(found, ImageStore(here / "l.sqlite"), at_once)


@pytest.mark.parametrize(
    ("key", "option", "ages"),
    [("", (), "range"), ('ages = "one"\n', (), "one"), ('ages = "one"\n', ("--ages=range",), "range")],
)
def test_a_plan_says_how_old_people_are_and_the_option_overrules_it(
    here: Path, key: str, option: tuple[str, ...], ages: str
) -> None:
    limits = (CHECKOUT / "thresholds.toml").read_text(encoding="utf-8")
    (here / "t.toml").write_text(limits.replace("[plans.quick]\n", f"[plans.quick]\n{key}", 1), encoding="utf-8")
    run = open_run(settings_of(here, "--thresholds=t.toml", *option))
    assert [note["ages"] for each in run.benchmarks.all if "ages" in (note := each.note())] == [ages]
