"""Whole runs over images: known truth comes back, what shows no face is counted as that, and errors are corrected."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from fairgate.benchmarks.fact_or_fair.cases import image_topic
from fairgate.benchmarks.fact_or_fair.controls import ImageControls
from fairgate.benchmarks.fact_or_fair.data import load
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
from fairgate.benchmarks.fact_or_fair.knowledge import knowledge
from fairgate.benchmarks.fact_or_fair.portraits import PortraitPlan
from fairgate.benchmarks.fact_or_fair.topics import Level, Task
from fairgate.core.domain import Form, Query, Role
from fairgate.ledger.images import ImageStore
from fairgate.providers.chat.control import ControlSpec
from fairgate.providers.faces import factory
from fairgate.providers.faces.calibration import Calibration, Confusion
from fairgate.providers.images import portraits
from fairgate.providers.images.control import ControlImageModel
from tests.running import Outcome, arguments, bench, bench_many
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SMALL = "--image-size=256x256"
IMAGES = {Task.OBJECTIVE: 2, Task.SUBJECTIVE: 3}


def drawn(task: Task, store: ImageStore) -> Counter[str]:
    """Whom control/stereotype draws for crime, as it says itself."""
    dataset = load()
    controls = ImageControls(knowledge(dataset, "published"), Groups.of(dataset, None).maps)
    spec = ControlSpec.of("stereotype", {"fact-or-fair": controls}, "--t2i-model")
    control = ControlImageModel(spec, store, (256, 256))
    shown: Counter[str] = Counter()
    plan = PortraitPlan(dataset, IMAGES[Task.OBJECTIVE], IMAGES[Task.SUBJECTIVE])
    for level in Level:
        topic = image_topic(task, "crime-rate", level)
        for index in range(IMAGES[task]):
            query = Query(
                topic, index, plan.prompt(topic), step="image", to=Role.IMAGE_MODEL, form=Form.IMAGE, leads_to=1
            )
            shown[" ".join(control.groups(query)[0].values())] += 1
    return shown


def of(run: Outcome, score: str, task: str, attribute: str | None = None) -> dict[str, object]:
    (found,) = (
        each
        for each in run.summary["scores"]
        if (each["score"], each["task"], each["attribute"], each["scoring"]) == (score, task, attribute, "definition")
    )
    return dict(found)


def test_with_a_control_the_shares_found_are_those_drawn(tmp_path: Path) -> None:
    run = bench(
        tmp_path, "-p", "no:xdist", "-k", "crime", SMALL, "--t2i-model=control/stereotype",
        f"--alluredir={tmp_path / 'allure'}",
    )  # fmt: skip
    for task, n in IMAGES.items():
        expected = drawn(task, ImageStore(tmp_path / "none.sqlite"))
        assert run.summary["shares"][f"images {task}"] == {
            groups: pytest.approx(100 * count / (2 * n)) for groups, count in expected.items()
        }
    # It draws the published answer wherever a fact is asked for.
    assert of(run, "S_fact", "objective", "race")["value"] == 100
    # An ideal model's evenness is nothing to hold facts against.
    assert {of(run, score, "objective", "race")["ceiling"] for score in ("S_fact", "S_E", "TV")} == {None}
    assert of(run, "S_E", "subjective", "race")["ceiling"] is not None
    summary = run.summary
    assert (summary["model"], summary["t2i_model"], summary["detector"]) == (
        None, "control/stereotype", "control/fairface",
    )  # fmt: skip
    assert summary["control"]
    assert "(a built-in model of known behaviour)" in summary["headline"]
    assert "faces read by control/fairface" in " ".join(run.output.split())
    assert "no text model was named" in " ".join(run.output.split())
    results = [json.loads(path.read_text()) for path in (tmp_path / "allure").glob("*-result.json")]
    cases = [each for each in results if "t2i" in each["fullName"]]
    assert len(cases) == 8
    for case in cases:
        attached = {each["name"]: tmp_path / "allure" / each["source"] for each in case["attachments"]}
        (table,) = (path for name, path in attached.items() if name.startswith("images, the telling ones"))
        rows = list(csv.DictReader(io.StringIO(table.read_text())))
        assert {row["faces"] for row in rows} == {"1"}
        assert all(len(row["sha256"]) == 64 for row in rows)
        # The first few images stand on one sheet below the bars, in the same picture.
        (picture,) = (path for path in attached.values() if path.suffix == ".svg")
        (sheet,) = re.findall(r'"data:image/jpeg;base64,([^"]+)"', picture.read_text(encoding="utf-8"))
        assert base64.b64decode(sheet, validate=True).startswith(b"\xff\xd8")
        assert len(sheet) < 50_000


def test_a_model_that_draws_one_person_fails_every_test_of_images(tmp_path: Path) -> None:
    """All images of a topic are the same one, which is no reason to know less of it."""
    given = ("-p", "no:xdist", "-k", "crime and subjective", SMALL, "--per-topic=20")
    run = bench(tmp_path / "constant", *given, "--t2i-model=control/constant")
    said = " ".join(run.output.split())
    assert "male people are shown beyond an equal share by +50 points (limit 5)" in said
    assert "Asian people are shown beyond an equal share by +75 points (limit 5)" in said
    assert "4 of 4 tests fail by themselves." in said
    fair = bench(tmp_path / "oracle", *given, "--t2i-model=control/oracle")
    assert "test_t2i_subjective[" not in fair.output


def test_two_faces_count_twice_and_what_shows_none_is_counted_as_what_it_is(tmp_path: Path) -> None:
    image_model = "--t2i-model=python/tests.plugin.image_models:pairs_landscapes_and_scrap"
    run = bench(
        tmp_path, "-p", "no:xdist", "-k", "crime and subjective", "--per-topic=9", image_model,
        "--detector=control/fairface", "--max-in-flight=1", "-v",
    )  # fmt: skip
    outcomes = run.summary["outcomes"]["fact-or-fair"]
    assert (outcomes["samples"], outcomes["failed"]) == (18, 0)
    assert outcomes["refused"] + outcomes["unreadable"] + outcomes["no_face"] == 9
    assert min(outcomes["refused"], outcomes["unreadable"], outcomes["no_face"]) > 0
    assert run.summary["shares"] == {"images subjective": {"female Asian": 50, "male Black": 50}}
    # Nine images of two faces each; the level without a face has nothing to be compared with.
    s_e = of(run, "S_E", "subjective", "gender")
    assert (s_e["n"], s_e["value"], s_e["topics"]) == (18, 100, [1, 30])
    assert of(run, "TV", "subjective", "gender")["value"] is None
    hidden = outcomes["unreadable"] + outcomes["no_face"]
    assert of(run, "TV@worst", "subjective", "gender")["value"] == pytest.approx(50)
    assert of(run, "TV@best", "subjective", "gender")["value"] == pytest.approx(0, abs=1e-9)
    assert "unseen faces at worst" in run.output
    rate = of(run, "no_face", "subjective")
    assert rate["value"] == pytest.approx(100 * outcomes["no_face"] / 18)
    assert hidden
    calls = run.summary["calls"]
    assert calls["planned"] == calls["asked"] == 36 - outcomes["refused"]
    assert "(a built-in model of known behaviour)" not in run.summary["headline"]


def test_estimates_are_corrected_by_the_calibration_of_this_very_detector(tmp_path: Path) -> None:
    detector = factory.make("control/fairface").identity
    errs = ((90, 10), (30, 70))  # of 100 men 10 are called women, of 100 women 30 men
    found = Confusion("fact-or-fair", "gender", "default", ("male", "female"), errs, (0, 0))
    path = tmp_path / "calibration.json"
    path.write_text(Calibration(detector.canonical, (found,), 200, 0).to_json())
    given = ["-p", "no:xdist", "-k", "crime and subjective", SMALL, "--t2i-model=control/uniform", "--per-topic=20"]
    raw = bench(tmp_path, *given)
    before = {score: of(raw, score, "subjective", "gender") for score in ("S_E", "TV")}
    assert any("are uncorrected" in note for note in raw.summary["notes"])
    run = bench(tmp_path, *given, f"--calibration={path}")
    assert run.summary["calls"]["asked"] == 0
    for score, old in before.items():
        new = of(run, score, "subjective", "gender")
        assert new["value"] == old["value"]
        assert new["estimate"] != old["estimate"]
        corrected = of(run, f"{score}@corrected", "subjective", "gender")
        assert (corrected["value"], corrected["ci"]) == (new["estimate"], new["ci"])
    assert any("stimates by gender are corrected" in note for note in run.summary["notes"])
    path.write_text(Calibration("{}", (found,), 200, 0).to_json())
    (end,) = bench_many(tmp_path, [arguments(tmp_path, *given, f"--calibration={path}")])
    assert end.code == 4
    assert "is of another detector" in end.output


def test_a_calibration_that_cannot_be_used_is_found_before_anything_is_asked(tmp_path: Path) -> None:
    """Its part for another benchmark too, whose cases are not selected: what is reported at the end reads both."""
    detector = factory.make("control/fairface").identity
    same = ((50, 50), (50, 50))
    found = Confusion("bigbench", "gender", "default", ("male", "female"), same, (0, 0))
    path = tmp_path / "calibration.json"
    path.write_text(Calibration(detector.canonical, (found,), 200, 0).to_json())
    given = ["-p", "no:xdist", "-k", "crime and subjective", f"--calibration={path}", "--per-topic=2"]
    drawn, spoken = bench_many(
        tmp_path,
        [
            arguments(tmp_path, *given, SMALL, "--t2i-model=control/uniform"),
            arguments(tmp_path, *given, "--model=control/uniform"),
        ],
    )
    assert drawn.code == 4, drawn.output
    assert "nothing can be corrected" in drawn.output
    assert spoken.code == 4, spoken.output
    assert "no images are read that it could correct" in " ".join(spoken.output.split())
    assert not (tmp_path / "ledger.sqlite").exists()


def test_a_vision_model_may_read_the_faces(tmp_path: Path) -> None:
    told = '{"gender": "Female", "race": "Black", "age": "30-39"}'
    with ChatStub(reply=lambda _: told) as stub:
        run = bench(
            tmp_path, "-p", "no:xdist", "-k", "crime and subjective", SMALL, "--t2i-model=control/uniform",
            "--detector=openai/eyes", f"--detector-base-url={stub.base_url}",
        )  # fmt: skip
    assert run.summary["shares"] == {"images subjective": {"female Black": 100}}
    # An image is opened here, then shown: three samples each.
    calls = run.summary["calls"]
    assert (calls["planned"], calls["asked"], stub.requests) == (18, 18, 6)
    assert run.summary["detector"] == "openai/eyes"


def test_a_folder_of_images_is_read_as_it_is(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "none.sqlite")
    dataset = load()
    maps = Groups.of(dataset, None).maps
    drawn = Random(5)  # noqa: S311 - draws people
    for level, gender, n in (("high", "male", 3), ("low", "female", 2)):
        for number in range(n):
            person = portraits.shown({"gender": gender}, maps, drawn)
            path = tmp_path / "images" / "subjective" / "crime-rate" / level / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(portraits.draw([person], (200, 200), drawn))
    given = (
        "-p",
        "no:xdist",
        "-k",
        "crime",
        f"--t2i-model=folder/{tmp_path / 'images'}",
        "--detector=control/fairface",
    )
    run = bench(tmp_path, *given)
    assert of(run, "TV", "subjective", "gender")["value"] == 100
    assert (run.summary["calls"]["planned"], run.summary["t2i_model"]) == (10, "folder/images")
    # Of the objective topics there is nothing: nothing is said of them, and nothing passes.
    assert run.summary["cases"]["inconclusive"] == 4
    assert bench(tmp_path, *given).summary["calls"]["asked"] == 0
    assert not store.folder.exists()


@pytest.mark.parametrize("workers", ["-n=0", "-n=2"])
def test_without_weights_nothing_is_drawn_and_the_command_is_named(tmp_path: Path, workers: str) -> None:
    given = ["--t2i-model=python/tests.plugin.models:fails", f"--weights={tmp_path / 'none'}", workers, "-k", "crime"]
    (end,) = bench_many(tmp_path, [arguments(tmp_path, *given)])
    assert end.code == 7, end.output
    assert "fairgate weights pull" in end.output.replace("\n", " ")
