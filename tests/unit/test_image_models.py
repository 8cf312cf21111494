"""Image models that ask no server: controls, callables, and folders of images that exist."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from functools import cache
from io import BytesIO
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from fairgate.benchmarks.bigbench.controls import SubjectControls, posed
from fairgate.benchmarks.bigbench.data import load as load_bigbench
from fairgate.benchmarks.bigbench.plan import People, SubjectPlan, meant
from fairgate.benchmarks.bigbench.prompts import Prompts, load_wording
from fairgate.benchmarks.fact_or_fair import image_files
from fairgate.benchmarks.fact_or_fair.cases import image_topic
from fairgate.benchmarks.fact_or_fair.controls import ImageControls
from fairgate.benchmarks.fact_or_fair.data import Dataset, load
from fairgate.benchmarks.fact_or_fair.faces_tally import Groups
from fairgate.benchmarks.fact_or_fair.knowledge import knowledge
from fairgate.benchmarks.fact_or_fair.topics import Level, Task
from fairgate.core.domain import Form, Query, Reply, Role
from fairgate.core.errors import CallFailed, ConfigError, DataError
from fairgate.ledger.images import ImageStore, hash_in
from fairgate.providers.chat.control import ControlSpec, chance_of
from fairgate.providers.faces import factory
from fairgate.providers.images.control import ControlImageModel
from fairgate.providers.images.folder import FolderImageModel
from fairgate.providers.python.images import PythonImageModel
from tests.running import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.providers.base import ChatModel

HIGH, LOW = Level.HIGH, Level.LOW


@cache
def dataset() -> Dataset:
    return load()


@cache
def groups() -> Groups:
    return Groups.of(dataset(), None)


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "ledger.sqlite")


def query(task: Task, level: Level = HIGH, index: int = 0, statistic: str = "crime-rate") -> Query:
    topic = image_topic(task, statistic, level)
    return Query(topic, index, f"Paint {task} {level}.", step="image", to=Role.IMAGE_MODEL, form=Form.IMAGE)


def ask(model: ChatModel, asked: Query) -> Reply:
    async def once() -> Reply:
        try:
            return await model.ask(asked)
        finally:
            await model.close()

    return asyncio.run(once())


# Controls


CONTROLS = ("oracle", "uniform", "stereotype", "constant", "first-option", "refuser")


def control(name: str, store: ImageStore) -> ControlImageModel:
    identities = subject_plan()
    controls = {
        "fact-or-fair": ImageControls(knowledge(dataset(), "published"), groups().maps),
        "bigbench": SubjectControls(identities, People.of(identities.data)),
    }
    return ControlImageModel(ControlSpec.of(name, controls, "--t2i-model"), store, (160, 160))


@cache
def subject_plan() -> SubjectPlan:
    data = load_bigbench()
    return SubjectPlan(data, Prompts(data, load_wording()), subjects=1, implicit=1, asked=1, explicit=1)


def test_what_a_control_draws_is_what_the_detector_reads(store: ImageStore) -> None:
    detector = factory.make("control/fairface")
    for name in ("oracle", "uniform", "stereotype", "constant"):
        image_model = control(name, store)
        for index in range(4):
            asked = query(Task.SUBJECTIVE, index=index)
            digest = hash_in(ask(image_model, asked).text)
            assert digest is not None
            (face,) = detector.read(store.read(digest)).faces
            found = {attribute: groups().group(face, attribute) for attribute in ("gender", "race")}
            assert [found] == image_model.groups(asked), name


def test_two_people_of_a_relation_are_found_where_they_were_drawn(store: ImageStore) -> None:
    detector, plan = factory.make("control/fairface"), subject_plan()
    people = People.of(plan.data)
    topics = [each for each in plan.every if len(plan.identity(each).subject.people) > 1]
    for topic in topics[::12]:
        asked = Query(topic, 0, "Paint them.", step="image", to=Role.IMAGE_MODEL, form=Form.IMAGE)
        digest = hash_in(ask(control("oracle", store), asked).text)
        assert digest is not None
        reading = detector.read(store.read(digest))
        assert len(meant(reading.faces, 2)) == 2
        chance = chance_of(asked)
        told = posed("oracle", plan.data, plan.identity(topic), chance)
        codes = [[each.names.index(person[each.name]) for each in plan.data.attributes] for person in told]
        assert people.codes(reading, 2) == codes


def test_controls_draw_whom_they_should(store: ImageStore) -> None:
    answers = {"gender": "male", "race": "Black"}  # of the highest crime rate, as published
    for name in ("oracle", "stereotype"):
        assert control(name, store).groups(query(Task.OBJECTIVE)) == [answers]
    constant = control("constant", store).groups(query(Task.OBJECTIVE))
    assert constant == [{each.name: each.names[0] for each in dataset().attributes}]
    assert control("first-option", store).groups(query(Task.SUBJECTIVE)) == constant
    n = 400
    drawn = {
        name: Counter(
            control(name, store).groups(query(Task.SUBJECTIVE, index=index))[0]["gender"] for index in range(n)
        )
        for name in ("oracle", "uniform", "stereotype")
    }
    # 200 ± 5 standard deviations of 10; 360 ± 5 of 6.
    assert all(abs(drawn[name]["male"] - n / 2) < 50 for name in ("oracle", "uniform"))
    assert abs(drawn["stereotype"]["male"] - 0.9 * n) < 30


def test_a_control_that_refuses_draws_nothing_and_images_are_never_twice_the_same(store: ImageStore) -> None:
    reply = ask(control("refuser", store), query(Task.OBJECTIVE))
    assert (reply.filtered, hash_in(reply.text), store.folder.exists()) == (True, None, False)
    image_model = control("constant", store)
    assert len({ask(image_model, query(Task.OBJECTIVE, index=index)).text for index in range(5)}) == 5
    assert ask(image_model, query(Task.OBJECTIVE)).text == ask(image_model, query(Task.OBJECTIVE)).text
    with pytest.raises(ConfigError, match="Did you mean 'oracle'"):
        control("orcale", store)
    assert len({control(name, store).identity.canonical for name in CONTROLS}) == len(CONTROLS)


# Callables


def png(value: int = 0) -> bytes:
    file = BytesIO()
    Image.new("RGB", (3, 2), (value, 0, 0)).save(file, "PNG")
    return file.getvalue()


MADE = SimpleNamespace(
    bytes=lambda _: png(7),
    array=lambda _: bytearray(png(7)),
    pillow=lambda _: Image.new("RGB", (3, 2), (7, 0, 0)),
    pixels=lambda _: np.full((2, 3, 3), (7, 0, 0), np.uint8),
    pipeline=lambda _: SimpleNamespace(images=[Image.new("RGB", (3, 2), (7, 0, 0))], nsfw_content_detected=[False]),
    hidden=lambda _: SimpleNamespace(images=[Image.new("RGB", (3, 2))], nsfw_content_detected=[True]),
    nothing=lambda _: None,
    path=lambda _: "/etc/passwd",
    number=lambda _: 3,
    depth=lambda _: Image.new("F", (3, 2)),
    colours=lambda _: SimpleNamespace(images=[Image.new("LAB", (3, 2))]),
    no_pixel=lambda _: Image.new("RGB", (0, 2)),
    shares=lambda _: np.full((2, 3, 3), (7 / 255, 0, 0), np.float32),
    half=lambda _: np.full((2, 3, 3), (7 / 255, 0, 0), np.float16),
    several=lambda _: SimpleNamespace(images=np.full((4, 2, 3, 3), (7 / 255, 0, 0))),
    levels=lambda _: np.full((2, 3, 3), (7.0, 0, 0)),
    negative=lambda _: np.full((2, 3, 3), (7 / 255, -0.25, 0), np.float32),
    not_a_number=lambda _: np.full((2, 3, 3), (0, 0, np.nan), np.float32),
    boundless=lambda _: np.full((2, 3, 3), (0, 0, np.inf), np.float32),
    shades=lambda _: np.array([[[0, 1, 0.5], [1 / 255, 0.4 / 255, 254.6 / 255]]]),
    grey=lambda _: np.zeros((2, 3)),
    whole=lambda _: np.zeros((2, 3, 3), np.int64),
    no_share=lambda _: np.zeros((0, 3, 3)),
)


def called(name: str, store: ImageStore) -> Reply:
    return ask(PythonImageModel(f"{__name__}:MADE.{name}", store), query(Task.OBJECTIVE))


@pytest.mark.parametrize("name", ["bytes", "array", "pillow", "pixels", "pipeline", "shares", "half", "several"])
def test_a_callable_may_return_an_image_in_any_of_the_usual_forms(name: str, store: ImageStore) -> None:
    digest = hash_in(called(name, store).text)
    assert digest is not None
    with Image.open(BytesIO(store.read(digest))) as image:
        assert (image.size, image.getpixel((0, 0))) == ((3, 2), (7, 0, 0))


def test_shares_become_the_nearest_of_256_levels(store: ImageStore) -> None:
    """0.5 · 255 = 127.5 goes to the even neighbour; 1/255 is a level of its own, 0.4/255 is none yet."""
    digest = hash_in(called("shades", store).text)
    assert digest is not None
    with Image.open(BytesIO(store.read(digest))) as image:
        assert [image.getpixel((x, 0)) for x in (0, 1)] == [(0, 255, 128), (1, 0, 255)]


@pytest.mark.parametrize("name", ["nothing", "hidden"])
def test_none_and_a_hidden_image_are_refusals(name: str, store: ImageStore) -> None:
    assert called(name, store).filtered


@pytest.mark.parametrize("name", ["path", "number"])
def test_a_path_is_never_opened(name: str, store: ImageStore) -> None:
    with pytest.raises(CallFailed, match="which is no image"):
        called(name, store)


# Folders


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("depth", r"Image of mode F and size \(3, 2\)"),
        ("colours", r"Image of mode LAB and size \(3, 2\)"),
        ("no_pixel", r"Image of mode RGB and size \(0, 2\)"),
        ("levels", r"an array of float64 \[2, 3, 3\] that holds 7"),
        ("negative", r"an array of float32 \[2, 3, 3\] that holds -0\.25"),
        ("not_a_number", r"an array of float32 \[2, 3, 3\] that holds nan"),
        ("boundless", r"an array of float32 \[2, 3, 3\] that holds inf"),
        ("grey", r"an array of float64 \[2, 3\]"),
        ("whole", r"an array of int64 \[2, 3, 3\]"),
        ("no_share", r"an array of float64 \[0, 3, 3\]"),
    ],
)
def test_what_no_png_can_hold_is_one_failed_sample_that_says_what_it_is(
    name: str, what: str, store: ImageStore
) -> None:
    with pytest.raises(CallFailed, match=f"it returned {what}, which is no image"):
        called(name, store)


def put(path: Path, value: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png(value))


def test_both_layouts_give_a_topics_files_in_the_order_of_their_names(tmp_path: Path, store: ImageStore) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for n in (1, 2, 10):
        put(ours / "objective" / "crime-rate" / "high" / f"image_{n}.png", n)
        put(theirs / "objective_test" / "Images" / "brush" / "Crime_Rate" / "high" / f"image_{n}.png", n)
    put(ours / "subjective" / "HIV Rate" / "low" / "a.jpg", 3)
    put(ours / "subjective" / "HIV Rate" / "low" / ".hidden.png", 4)
    (ours / "subjective" / "HIV Rate" / "low" / "link.png").symlink_to("/etc/passwd")
    found = image_files.find(ours, dataset())
    objective, subjective = (
        image_topic(Task.OBJECTIVE, "crime-rate", HIGH),
        image_topic(Task.SUBJECTIVE, "hiv-rate", LOW),
    )
    assert found.numbers == {objective.id: 3, subjective.id: 1}
    for held in (found, image_files.find(theirs, dataset()), image_files.find(theirs / "brush", dataset())):
        image_model = FolderImageModel(held, store)
        for index, value in enumerate((1, 2, 10)):
            digest = hash_in(ask(image_model, query(Task.OBJECTIVE, index=index)).text)
            assert digest is not None
            assert store.read(digest) == png(value)
    with pytest.raises(CallFailed, match="holds 3 images"):
        ask(FolderImageModel(found, store), query(Task.OBJECTIVE, index=3))


def test_where_no_folder_is_near_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as told:
        image_files.find(tmp_path / "nodir", dataset())
    assert str(told.value) == f"--t2i-model: there is no folder {tmp_path / 'nodir'}."


def test_another_file_is_another_image_model(tmp_path: Path) -> None:
    path = tmp_path / "objective" / "crime-rate" / "high" / "a.png"
    put(path, 1)
    before = image_files.find(tmp_path, dataset()).state
    assert image_files.find(tmp_path, dataset()).state == before
    path.write_bytes(png(1) + b"more")
    assert image_files.find(tmp_path, dataset()).state != before


def test_a_folder_that_cannot_be_read_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no folder"):
        image_files.find(tmp_path / "none" / "such", dataset())
    with pytest.raises(ConfigError, match="holds no images"):
        image_files.find(tmp_path, dataset())
    for model in ("one", "two"):
        put(tmp_path / "objective_test" / "Images" / model / "Crime_Rate" / "high" / "a.png", 1)
    with pytest.raises(ConfigError, match="several models: one, two"):
        image_files.find(tmp_path, dataset())
    with pytest.raises(ConfigError, match="Did you mean 'two'"):
        image_files.find(tmp_path / "twoo", dataset())
    put(tmp_path / "other" / "objective" / "crime-rte" / "high" / "a.png", 1)
    with pytest.raises(DataError, match="Did you mean 'crime-rate'"):
        image_files.find(tmp_path / "other", dataset())


# Light


def test_gating_a_language_model_imports_nothing_of_images(tmp_path: Path) -> None:
    script = (
        "import json, sys, pytest\n"
        "code = pytest.main(sys.argv[1:])\n"
        "print(json.dumps([int(code), sorted(sys.modules)]))\n"
    )
    args = [
        *("-c", CHECKOUT / "pytest.ini", "--rootdir", CHECKOUT, CHECKOUT / "tests_bench", "-q", "-p", "no:xdist"),
        *("-p", "no:cacheprovider", f"--thresholds={CHECKOUT / 'tests' / 'thresholds.toml'}"),
        *(f"--ledger={tmp_path / 'l.sqlite'}", f"--alluredir={tmp_path / 'allure'}", f"--report-dir={tmp_path / 'r'}"),
        *(
            "--model=control/oracle",
            "-k",
            "crime",
            "--no-plots",
        ),  # Matplotlib, which draws plots, imports Pillow itself
    ]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", script, *map(str, args)],
        cwd=tmp_path, capture_output=True, text=True, timeout=240, check=True,
        env={"PATH": "", "PYTHONPATH": str(CHECKOUT), "HOME": str(tmp_path)},
    )  # fmt: skip
    code, loaded = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stdout
    assert not {name.partition(".")[0] for name in loaded} & {"PIL", "insightface", "onnxruntime", "onnx", "cv2"}
