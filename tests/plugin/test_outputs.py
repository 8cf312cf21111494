"""Where pytest and its plug-ins write: no place that is the ledger's, and none where nothing can be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fairgate.cli.main import main
from fairgate.core.current_folder import check_inside
from fairgate.core.errors import ConfigError
from fairgate.core.files import LOCK
from fairgate.ledger.ledger import Ledger
from tests.running import PATIENCE, arguments, bench, bench_many, environment

pytestmark = pytest.mark.slow

SOME = ("--model=control/oracle", "-p", "no:xdist", "-k", "crime and base")


@pytest.mark.parametrize(
    "options",
    [
        ["--junitxml={ledger}"], ["--junitxml={ledger}-wal"], ["--log-file={ledger}"],
        # As in a checkout, where a conftest.py names the plugin, and as the command starts it.
        ["--debug={ledger}"], ["--debug={ledger}", "-p", "fairgate.suite"],
        ["--junitxml={ledger}.images/aa/x.xml"],
        ["--alluredir={folder}", "--clean-alluredir"], ["--alluredir={ledger}.images"], ["--basetemp={folder}"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_output_takes_the_place_of_the_ledger(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, options: list[str]
) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with Ledger(ledger) as made:
        made.runs.start("r")
    before = ledger.read_bytes()
    given = [each.format(ledger=ledger, folder=tmp_path) for each in options]
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    [run] = bench_many(elsewhere, [arguments(tmp_path, *SOME, *given)])
    assert run.code == 4, run.output
    assert f"{options[0].partition('=')[0]}: " in run.output
    assert "ledger" in run.output
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(
    "option",
    [
        *("--junitxml=report/junit.xml", "--report-dir=report/page", "--alluredir=report/all", "--debug=report/d.txt"),
        *("--save-baseline=report/base.json", "--log-file=report/log.txt"),
        *("--basetemp=report/temp", "--debug"),
    ],
)
def test_no_output_leads_out_of_the_current_folder_by_a_link(tmp_path: Path, option: str) -> None:
    elsewhere, here = tmp_path / "elsewhere", tmp_path / "here"
    (here / "report").mkdir(parents=True)
    place = here / (option.partition("=")[2] or "pytestdebug.log")
    if place.suffix:
        elsewhere.write_text("precious")
    else:
        elsewhere.mkdir()
    place.symlink_to(elsewhere)
    [run] = bench_many(here, [arguments(here, *SOME, option)])
    assert run.code == 4, run.output
    assert "is a link, or lies behind one" in " ".join(run.output.split())
    assert elsewhere.read_text() == "precious" if place.suffix else list(elsewhere.iterdir()) == []


def test_a_link_to_the_current_folder_leads_out_of_it_no_more_than_its_name(tmp_path: Path) -> None:
    """A shell names its folder by way of links; what lies in it may also be a link to another file there."""
    here = tmp_path / "real" / "clone"
    here.mkdir(parents=True)
    (tmp_path / "home").symlink_to(tmp_path / "real")
    (here / "sub").symlink_to(tmp_path)
    (here / ".env").write_text("precious")
    (here / "junit.xml").symlink_to(here / ".env")
    for path in (tmp_path / "home" / "clone" / "sub" / "j.xml", here / "junit.xml", Path("junit.xml")):
        with pytest.raises(ConfigError, match="is a link, or lies behind one"):
            check_inside(here, path, "--junitxml")
    for path in (
        tmp_path / "home" / "clone" / "j.xml",
        tmp_path / "home" / "j.xml",
        Path("j.xml"),
        Path("/dev/stdout"),
    ):
        check_inside(here, path, "--junitxml")


@pytest.mark.parametrize(
    "command",
    [
        "ledger l.sqlite export --output e/f.jsonl", "compare l.sqlite l.sqlite --plot e/p.svg",
        "evidence l.sqlite --output e/f", "merge e/m.sqlite l.sqlite", "calibrate faces --output e/c.json",
    ],
)  # fmt: skip
def test_no_command_writes_out_of_the_current_folder_by_a_link(tmp_path: Path, command: str) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    bench_many(here, [arguments(here, *SOME, f"--ledger={here / 'l.sqlite'}")])
    (here / "e").symlink_to(elsewhere)
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "fairgate", *command.split()],
        cwd=here, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert (done.returncode, "lies behind one" in done.stderr) == (4, True), done.stderr
    assert list(elsewhere.iterdir()) == []


def test_links_in_folders_of_reports_are_replaced_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    links = {
        *("allure/environment.properties", "allure/categories.json", "allure/allurerc.json", "allure/plots"),
        *("report/summary.json", "report/plots", "evidence/evidence.md", "clone/.eval_results"),
    }
    for number, name in enumerate(sorted(links)):
        kept = elsewhere / f"{number}.txt"
        kept.write_text("kept")
        link = tmp_path / name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(elsewhere if name.endswith(("plots", "results")) else kept)
    run = bench(tmp_path, *SOME, f"--report-dir={tmp_path / 'report'}", f"--alluredir={tmp_path / 'allure'}")
    assert run.code in (0, 6), run.output
    main(["evidence", str(tmp_path / "ledger.sqlite"), "--output", str(tmp_path / "evidence")])
    task = "x=fact-or-fair-text-subjective-base-race-preference"
    exported = ["export", "--to=hf", f"--output={tmp_path / 'clone'}", "--dataset=a/b", f"--task={task}"]
    assert main([*exported, str(tmp_path / "report")]) != 0
    assert (tmp_path / "evidence" / "evidence.md").stat().st_size > 1000
    assert {each.read_text() for each in elsewhere.iterdir()} == {"kept"}
    assert len(list(elsewhere.iterdir())) == len(links)


def test_emptying_the_cache_of_pytest_empties_no_folder_of_a_ledger(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ledger = tmp_path / "d" / "ledger.sqlite"
    ledger.parent.mkdir()
    with Ledger(ledger) as made:
        made.runs.start("r")
    given = arguments(tmp_path / "d", *SOME, "--cache-clear", "-o", f"cache_dir={tmp_path}")
    given.remove("no:cacheprovider")
    given.remove("-p")
    [run] = bench_many(tmp_path_factory.mktemp("elsewhere"), [given])
    assert run.code == 4, run.output
    assert "--cache-clear: " in run.output
    assert ledger.exists()


def test_no_setting_of_pytest_takes_the_place_of_the_ledger(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    with Ledger(ledger) as made:
        made.runs.start("r")
    before = ledger.read_bytes()
    run = bench(tmp_path, *SOME, "-o", f"log_file={ledger}")
    assert run.code == 4, run.output
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("option", ["--junitxml={file}/x.xml", "--alluredir={file}", "--alluredir={file}/allure"])
def test_a_place_that_cannot_be_written_is_named_before_anything_is_asked(tmp_path: Path, option: str) -> None:
    file = tmp_path / "file"
    file.touch()
    [run] = bench_many(tmp_path, [arguments(tmp_path, *SOME, option.format(file=file))])
    assert run.code == 4, run.output
    assert "cannot be written" in run.output
    assert "Traceback" not in run.output
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_file_that_cannot_be_written_at_the_end_is_trouble_and_the_verdict_stands(tmp_path: Path) -> None:
    run = bench(tmp_path, *SOME, "--junitxml=/dev/full")
    assert run.code == 7, run.output
    assert "Traceback" not in run.output
    assert "No space left on device" in run.output
    assert "The verdict stands" in run.output
    assert run.summary["verdict"] == "pass"


def test_a_run_that_ends_in_an_error_takes_the_place_of_no_baseline(tmp_path: Path) -> None:
    kept = tmp_path / "release.json"
    kept.write_text("of the last release")
    run = bench(tmp_path, *SOME, "--budget-calls=3", f"--save-baseline={kept}")
    assert run.code == 7, run.output
    assert "release.json is not saved" in run.output
    assert kept.read_text() == "of the last release"


def test_a_program_is_told_what_could_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / LOCK).symlink_to("nowhere")
    script = (
        "import fairgate; r = fairgate.run('control/oracle', select='crime and base', report_dir='report');"
        "print(r.verdict, r.exit, r.unwritten)"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    assert "error" not in done.stdout.split()[0]
    assert done.stdout.split()[1] == "7"
    assert "cannot be written" in done.stdout


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_folder_that_is_lost_in_mid_run_is_trouble_and_the_verdict_stands(tmp_path: Path, workers: str) -> None:
    folder = tmp_path / "allure"
    some = ("--model=control/oracle", "-n", workers, "-k", "crime and base")
    run = bench(tmp_path, *some, f"--alluredir={folder}", "-p", "tests.plugin.lost_folder", env={"LOST": str(folder)})
    assert run.code == 7, run.output
    assert "cannot be written: Not a directory" in " ".join(run.output.split())
    assert "The verdict stands" in run.output
    assert run.summary["verdict"] == "pass"
