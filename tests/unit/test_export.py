"""`fairgate export`: figures of a report's folder, on the real client of each tracker where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import yaml

from fairgate.cli.main import main
from fairgate.exporters.figures import name_of, read_figures
from fairgate.reports.folder import FILES, write
from tests.builders import entry, gate, report
from tests.running import LIMITS, bench, environment

if TYPE_CHECKING:
    from collections.abc import Iterator

SCORES = (
    entry("TV", value=12.0, estimate=10.5, ci=(8.0, 13.0)),
    entry("S_fact", value=None, estimate=None, ci=(None, None)),
    entry("S_E@change", value=40.0, estimate=None, ci=(None, None), group="a b/²"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "report"
    write(report(entries=SCORES, gates=(gate(),)), path, ())
    return path


def test_nothing_is_sent_to_which_a_link_leads(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "private").write_text("private")
    (folder / "index.html").unlink()
    (folder / "index.html").symlink_to(tmp_path / "private")
    assert {each.name for each in read_figures(folder).files} == {"summary.json", "summary.md"}


def test_a_score_without_a_value_has_no_number(folder: Path) -> None:
    figures = read_figures(folder)
    names = {score.score: name_of(score) for score in figures.report.scores}
    assert {name: figures.metrics[name] for name in figures.metrics if not name.startswith("gates.")} == {
        f"{names['TV']}.value": 12.0,
        f"{names['TV']}.estimate": 10.5,
        f"{names['TV']}.low": 8.0,
        f"{names['TV']}.high": 13.0,
        f"{names['S_E@change']}.value": 40.0,
    }
    assert figures.metrics["gates.pass"] == 1.0
    assert names["S_E@change"].isascii()
    assert not set(names["S_E@change"]) & set(" /@")
    assert figures.tags["fairgate.model"] == "openai/tiny"
    assert [path.name for path in figures.files] == list(FILES)


@pytest.mark.parametrize("scores_only", [False, True])
def test_mlflow_holds_scores_verdict_and_report(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, scores_only: bool
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    address = (tmp_path / "mlruns").as_uri()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    mlflow.set_tracking_uri(address)
    more = ["--scores-only"] if scores_only else []
    assert main(["export", str(folder), "--to=mlflow", "--project=release", *more]) == 0
    client = mlflow.MlflowClient()
    [run] = client.search_runs([client.get_experiment_by_name("release").experiment_id])
    assert run.data.metrics == read_figures(folder).metrics
    assert run.data.tags["fairgate.verdict"] == "pass"
    held = {each.path for each in client.list_artifacts(run.info.run_id, "fairgate")}
    assert held == (set() if scores_only else {f"fairgate/{name}" for name in FILES})


@pytest.mark.parametrize("address", [None, ""])
def test_nothing_is_sent_to_mlflow_where_no_address_is_given(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    address: str | None,
) -> None:
    """The client would take `mlruns` or `mlflow.db` of the current folder, which says where artifacts are written."""
    client = ModuleType("mlflow")
    client.__spec__ = ModuleSpec("mlflow", None)
    monkeypatch.setitem(sys.modules, "mlflow", client)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    if address is not None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.chdir(tmp_path)
    experiment = tmp_path / "mlruns" / "123456789012345678"
    experiment.mkdir(parents=True)
    (experiment / "meta.yaml").write_text(f"name: fairgate\nartifact_location: {(tmp_path / 'elsewhere').as_uri()}\n")
    assert main(["export", str(folder), "--to=mlflow"]) == 4
    assert "MLFLOW_TRACKING_URI" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


def test_wandb_reads_no_settings_of_the_current_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = dict[str, Path]()

    class Settings(SimpleNamespace):
        """Those of a client that looks for settings where it is made."""

        def __init__(self, **given: object) -> None:
            seen["looked in"] = Path.cwd()
            seen["written below"] = Path(str(given["root_dir"]))
            assert not list(Path.cwd().iterdir())
            super().__init__(**given)

    class Artifact(SimpleNamespace):
        def add_file(self, path: str) -> None:
            assert Path(path).is_file()

    @contextmanager
    def init(**_: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(summary={}, id="1", offline=True, log_artifact=lambda _: None)

    client = ModuleType("wandb")
    client.__dict__.update(
        Settings=Settings,
        init=init,
        Artifact=lambda *_, **__: Artifact(),
        Error=ValueError,
        __spec__=ModuleSpec("w", None),
    )
    monkeypatch.setitem(sys.modules, "wandb", client)
    monkeypatch.delenv("WANDB_DIR", raising=False)
    monkeypatch.setenv("WANDB_SILENT", "false")
    monkeypatch.setenv("WANDB_CACHE_DIR", "cache")
    monkeypatch.chdir(tmp_path)
    assert main(["export", "report", "--to=wandb"]) == 0
    assert seen["looked in"] != tmp_path
    assert not seen["looked in"].exists()
    assert seen["written below"] == tmp_path == Path.cwd()
    assert os.environ["WANDB_CACHE_DIR"] == str(tmp_path / "cache")
    monkeypatch.setenv("WANDB_DIR", "elsewhere")
    assert main(["export", str(folder), "--to=wandb"]) == 0
    assert seen["written below"] == tmp_path / "elsewhere"


@pytest.mark.parametrize("name", ["wandb", ".wandb"])
def test_wandb_writes_through_no_link_of_the_current_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    client = ModuleType("wandb")
    client.__spec__ = ModuleSpec("wandb", None)
    monkeypatch.setitem(sys.modules, "wandb", client)
    monkeypatch.delenv("WANDB_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).symlink_to(folder)
    assert main(["export", str(folder), "--to=wandb"]) == 4
    assert f"{name} is a link, which is not followed" in capsys.readouterr().err


def test_wandb_holds_scores_and_report_offline(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    # A clone's, which is not obeyed.
    (tmp_path / "wandb").mkdir()
    (tmp_path / "wandb" / "settings").write_text(
        "[default]\nrun_group = planted-group\nbase_url = http://127.0.0.1:1\n"
    )
    own = {f"WANDB_{name}_DIR": str(tmp_path / name) for name in ("CACHE", "DATA", "CONFIG")}
    # In a process of its own: the client writes from a second one, which ends with the first.
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "fairgate", "export", folder, "--to=wandb", "--project=release"],
        cwd=tmp_path,
        env=environment({"WANDB_MODE": "offline", **own}),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "project release" in done.stdout
    [run] = (tmp_path / "wandb").glob("offline-run-*")
    [log] = run.glob("run-*.wandb")
    content = log.read_bytes()
    for name in read_figures(folder).metrics:
        assert name.encode() in content
    assert b"fairgate-report" in content
    assert b"planted-group" not in content
    # Nothing of the machine goes along.
    assert not [path for path in (run / "files").rglob("*") if path.is_file()]


PLANTED = "swordfish-4417"


@pytest.mark.parametrize("address", [f"http://me:{PLANTED}@127.0.0.1:1", f"postgresql://me:{PLANTED}/x@db/runs"])
def test_no_trouble_with_a_tracking_server_shows_its_password(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    class Client(ModuleType):
        """One that cannot reach its server, and says of which address."""

        @staticmethod
        def get_tracking_uri() -> str:
            return address

        @staticmethod
        def set_experiment(_: str) -> None:
            raise OSError(f"API request to {address}/api failed; the token was {PLANTED[::-1]}")

    client = Client("mlflow")
    client.__spec__ = ModuleSpec("mlflow", None)
    monkeypatch.setitem(sys.modules, "mlflow", client)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", PLANTED[::-1])
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "false")
    assert main(["export", str(folder), "--to=mlflow", "--project=release"]) == 7
    said = capsys.readouterr()
    assert "MLflow did not take the run: OSError: API request to" in said.err
    assert not [each for each in (PLANTED, PLANTED[::-1]) if each in said.out + said.err]
    assert os.environ["MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT"] == "true"


def test_the_hub_reads_what_is_written_for_it(folder: Path, tmp_path: Path) -> None:
    name = name_of(read_figures(folder).report.scores[0])
    given = ["--dataset=me/bench", f"--task=tv={name}", "--source=https://example.org/run", f"--output={tmp_path}"]
    assert main(["export", str(folder), "--to=hf", *given]) == 0
    [entry] = yaml.safe_load((tmp_path / ".eval_results" / "fairgate.yaml").read_text())
    assert entry["dataset"] == {"id": "me/bench", "task_id": "tv"}
    assert entry["value"] == 10.5
    assert "interval 8.0 to 13.0" in entry["notes"]
    hub = pytest.importorskip("huggingface_hub")
    [read] = hub.parse_eval_result_entries([entry])
    assert (read.dataset_id, read.task_id, read.value) == ("me/bench", "tv", 10.5)
    assert hub.eval_result_entries_to_yaml([read]) == [entry]


@pytest.mark.parametrize(
    ("task", "said"),
    [("tv", "is not TASK=SCORE"), ("tv=nothing", "no such score"), ("fact=EMPTY", "has no value in this run")],
)
def test_a_task_that_has_no_number_is_no_result(
    folder: Path, tmp_path: Path, task: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = name_of(read_figures(folder).report.scores[1])
    given = ["--dataset=me/bench", f"--task={task.replace('EMPTY', empty)}", f"--output={tmp_path}"]
    assert main(["export", str(folder), "--to=hf", *given]) == 4
    assert said in capsys.readouterr().err
    assert not (tmp_path / ".eval_results").exists()


def test_a_tracker_that_is_not_installed_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("fairgate.cli.export.find_spec", lambda _: None)
    assert main(["export", str(folder), "--to=wandb"]) == 7
    assert "pip install 'fairgate[wandb]'" in capsys.readouterr().err


def test_a_ledgers_run_is_exported_like_its_report(tmp_path: Path) -> None:
    outcome = bench(tmp_path, "--model=control/oracle", "-k", "crime and base", "-n", "0")
    assert outcome.code == 0, outcome.output
    score = next(each for each in outcome.summary["scores"] if each["estimate"] is not None)
    name = "-".join(
        score[key] for key in ("benchmark", "modality", "task", "context", "attribute", "group", "score") if score[key]
    )
    for source, place in ((tmp_path / "ledger.sqlite", "a"), (tmp_path / "report", "b")):
        given = ["--dataset=me/bench", f"--task=x={name}", f"--output={tmp_path / place}"]
        assert main(["export", str(source), "--to=hf", f"--thresholds={LIMITS}", *given]) == 0
    written = [(tmp_path / place / ".eval_results" / "fairgate.yaml").read_text() for place in "ab"]
    assert written[0] == written[1]
    assert json.loads(json.dumps(yaml.safe_load(written[0])))[0]["value"] == score["estimate"]
