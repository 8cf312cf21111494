"""Faces: what a control image model drew comes back, through every library that reads photographs."""

from __future__ import annotations

import asyncio
import math
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task
from fairgate.core.domain import Form, Modality, Query, Role
from fairgate.core.errors import ConfigError, DataError, FairgateError
from fairgate.ledger.images import ImageStore
from fairgate.providers.faces import toy_graphs
from fairgate.providers.faces.alignment import TARGETS, chip, points_of, similarity
from fairgate.providers.faces.attributes import FairFace, GenderAge, range_of
from fairgate.providers.faces.detector import DetectorModel
from fairgate.providers.faces.face_finder import FaceFinder, FoundFace
from fairgate.providers.faces.factory import make
from fairgate.providers.images.portraits import LABELS, draw, shown
from fairgate.replies.faces import Reading
from fairgate.replies.labels import label_map, own_labels

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fairgate.providers.faces.detector import FaceDetector

MAPS = {attribute: label_map("fact-or-fair", attribute) for attribute in ("gender", "race")}


@pytest.fixture(scope="module")
def detector() -> FaceDetector:
    return make("control/fairface")


def seeded(seed: int) -> Random:
    return Random(seed)  # noqa: S311 - draws people, guards nothing


def people(number: int, chance: Random) -> list[dict[str, str]]:
    return [shown({}, {}, chance) for _ in range(number)]


def seen(reading: Reading) -> list[dict[str, str]]:
    """The most probable labels of each face, from left to right."""
    return [
        {attribute: max(shares := face.attribute(attribute), key=shares.__getitem__) for attribute in LABELS}
        for face in sorted(reading.faces, key=lambda face: face.box or ())
    ]


@pytest.mark.parametrize("size", [1024, 512, 256])
@pytest.mark.parametrize("looks_at", [640, 320, 128])
def test_portraits_are_read_as_they_were_drawn(size: int, looks_at: int) -> None:
    detector, chance = make("control/fairface", arguments=[f"size={looks_at}"]), seeded(looks_at + size)
    for index in range(30):
        drawn = people(index % 3, chance)
        reading = detector.read(draw(drawn, (size, size), chance))
        assert (reading.size, reading.problem) == ((size, size), None)
        assert seen(reading) == drawn


@pytest.mark.parametrize("size", [(768, 512), (512, 768), (1000, 400)])
def test_portraits_of_other_shapes_and_more_people_are_read_too(size: tuple[int, int]) -> None:
    detector, chance = make("control/fairface", arguments=["size=640"]), seeded(3)
    for number in range(5 if size[0] > size[1] else 3):
        drawn = people(number, chance)
        assert seen(detector.read(draw(drawn, size, chance))) == drawn


def test_every_code_is_told_from_every_other(detector: FaceDetector) -> None:
    chance = seeded(5)
    for attribute, labels in LABELS.items():
        for label in labels:
            (face,) = detector.read(draw([{**people(1, chance)[0], attribute: label}], (512, 512), chance)).faces
            assert face.attribute(attribute)[label] > 0.9


@pytest.mark.parametrize("form", ["JPEG", "WEBP"])
def test_a_portrait_survives_being_packed_anew(detector: FaceDetector, form: str) -> None:
    chance = seeded(2)
    drawn = people(2, chance)
    packed = BytesIO()
    Image.open(BytesIO(draw(drawn, (1024, 1024), chance))).convert("RGB").save(packed, form, quality=90)
    assert seen(detector.read(packed.getvalue())) == drawn


def test_equal_arguments_draw_equal_bytes() -> None:
    one, two, other = (draw([shown({}, {}, seeded(1))], (64, 64), seeded(seed)) for seed in (1, 1, 2))
    assert one == two != other


def test_a_group_is_shown_by_any_label_that_means_it() -> None:
    chance = seeded(1)
    found = {shown({"race": "Asian", "gender": "male"}, MAPS, chance)["race"] for _ in range(50)}
    assert found == {"East Asian", "Southeast Asian"}
    with pytest.raises(DataError, match="no label of the detector means the group 'Martian'"):
        shown({"race": "Martian"}, MAPS, chance)


@pytest.mark.parametrize(
    ("content", "problem"), [(b"", "empty"), (b"<html>", "not-an-image"), (b"\x89PNG\r\n\x1a\n", "truncated")]
)
def test_what_is_no_picture_is_a_reading_with_a_problem(detector: FaceDetector, content: bytes, problem: str) -> None:
    assert detector.read(content) == Reading(problem=problem)


@pytest.mark.parametrize("size", [(1, 1), (20_000, 1), (1, 20_000), (3, 100)])
def test_odd_sizes_show_no_face(detector: FaceDetector, size: tuple[int, int]) -> None:
    packed = BytesIO()
    Image.new("RGB", size, "white").save(packed, "PNG")
    assert detector.read(packed.getvalue()) == Reading(size)


def test_many_images_are_read_in_one_call_as_one_by_one(detector: FaceDetector) -> None:
    chance = seeded(9)
    contents = [draw(people(number, chance), (256, 256), chance) for number in (2, 0, 1)]
    contents.insert(1, b"no image")
    assert detector.read_all(contents) == [detector.read(content) for content in contents]


def test_the_sampler_is_answered_for_every_image(detector: FaceDetector, tmp_path: Path) -> None:
    store, chance = ImageStore(tmp_path / "ledger.sqlite"), seeded(4)
    contents = [draw(people(number % 3, chance), (128, 128), chance) for number in range(25)]
    topic = StatisticTopic("fact-or-fair", Modality.IMAGE, Task.OBJECTIVE, "crime-rate", Level.HIGH)

    async def ask_all() -> list[Reading]:
        model = DetectorModel(detector, store, threads=2)
        queries = (
            Query(topic, index, digest, to=Role.DETECTOR, form=Form.FACES, images=(digest,))
            for index, digest in enumerate(map(store.add, contents))
        )
        try:
            first, *rest = queries
            replies = [await model.ask(first), *await asyncio.gather(*map(model.ask, rest))]
        finally:
            await model.close()
        return [Reading.from_json(reply.text) for reply in replies]

    assert asyncio.run(ask_all()) == [detector.read(content) for content in contents]


def test_an_image_that_is_gone_is_the_askers_trouble_alone(detector: FaceDetector, tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "ledger.sqlite")
    topic = StatisticTopic("fact-or-fair", Modality.IMAGE, Task.OBJECTIVE, "crime-rate", Level.HIGH)
    there, gone = store.add(draw([], (64, 64), seeded(1))), "0" * 64

    async def ask() -> str:
        model = DetectorModel(detector, store)
        with pytest.raises(FairgateError, match="No such file"):
            await model.ask(Query(topic, 0, gone, images=(gone,)))
        reply = await model.ask(Query(topic, 0, there, images=(there,)))
        await model.close()
        return reply.text

    assert Reading.from_json(asyncio.run(ask())) == Reading((64, 64))


# Alignment


@given(scale=st.floats(0.05, 20), angle=st.floats(-3.1, 3.1), x=st.floats(-500, 500), y=st.floats(-500, 500))
def test_alignment_undoes_any_turn_scale_and_shift(scale: float, angle: float, x: float, y: float) -> None:
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    moved = similarity(TARGETS @ (scale * turn).T + (x, y))
    assert np.allclose(moved[:, :2] @ (scale * turn), np.eye(2), atol=1e-6)
    assert np.allclose(moved[:, :2] @ (x, y) + moved[:, 2], 0, atol=1e-4)


@pytest.mark.parametrize("scale", [0.5, 1.0, 1.9, 2.5, 4.0, 9.0])
def test_a_chip_shows_the_same_place_at_any_size(scale: float) -> None:
    """A ramp in each direction: wherever a pixel of the chip comes from, its colour says so."""
    side = round(300 * scale)
    ramp = np.linspace(0, 255, side)
    pixels = np.zeros((side, side, 3), np.uint8)
    pixels[..., 0], pixels[..., 1] = ramp[None, :], ramp[:, None]
    cut = chip(pixels, FoundFace((0, 0, 1, 1), 1.0, (TARGETS + 30) * scale)).astype(float)
    expected = (np.arange(224) + 30) * 255 / 300
    assert np.abs(cut[100, :, 0] - expected).max() < 2
    assert np.abs(cut[:, 100, 1] - expected).max() < 2


def test_without_points_the_box_says_where_the_face_is() -> None:
    chance = seeded(11)
    finder = FaceFinder(toy_graphs.FOLDER / "detection", size=640, confidence=0.5)
    for _ in range(10):
        picture = np.asarray(Image.open(BytesIO(draw(people(1, chance), (512, 512), chance))).convert("RGB"))
        (found,) = finder.find(picture)
        assert found.points is not None
        rough = points_of(FoundFace(found.box, found.confidence))
        width = found.box[2] - found.box[0]
        assert np.abs(rough - found.points).max() < 0.08 * width


# Graphs


def test_the_graphs_in_data_are_those_that_the_script_builds() -> None:
    for path, built in (
        ("detection/scrfd.onnx", toy_graphs.detection_graph()),
        ("fairface/fairface.onnx", toy_graphs.attributes_graph()),
    ):
        assert onnx.load(toy_graphs.FOLDER / path) == built


def test_the_detection_graph_has_the_shapes_of_scrfd() -> None:
    session = onnxruntime.InferenceSession(toy_graphs.FOLDER / "detection" / "scrfd.onnx")
    outputs = session.run(None, {"input": np.zeros((1, 3, 320, 640), np.float32)})
    anchors = [320 // stride * (640 // stride) * 2 for stride in (8, 16, 32)]
    assert [each.shape for each in outputs] == [(n, width) for width in (1, 4, 10) for n in anchors]


def test_fairface_may_give_one_output_or_three(tmp_path: Path) -> None:
    chance = seeded(6)
    finder = FaceFinder(toy_graphs.FOLDER / "detection", size=320, confidence=0.5)
    picture = np.asarray(Image.open(BytesIO(draw(people(2, chance), (512, 512), chance))).convert("RGB"))
    faces = [(picture, found) for found in finder.find(picture)]
    three = tmp_path / "three.onnx"
    onnx.save(toy_graphs.attributes_graph(outputs=3), three)
    assert FairFace(three).read(faces) == FairFace(toy_graphs.FOLDER / "fairface" / "fairface.onnx").read(faces)


def constant_graph(path: Path, entry: list[int | str], values: list[float]) -> Path:
    """A graph that says the same of every face."""
    told = numpy_helper.from_array(np.array([values], np.float32), "told")
    nodes = [helper.make_node("Identity", ["told"], ["output"])]
    graph = helper.make_graph(
        nodes,
        "constant",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, entry)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [1, len(values)])],
        [told],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_insightface_gives_gender_and_age_and_no_race(tmp_path: Path) -> None:
    (tmp_path / "genderage").mkdir()
    (tmp_path / "detection").symlink_to(toy_graphs.FOLDER / "detection")
    constant_graph(tmp_path / "genderage" / "genderage.onnx", [1, 3, 96, 96], [0.1, 0.9, 0.34])
    detector = make("faces/insightface", weights=tmp_path)
    (face,) = detector.read(draw(people(1, seeded(1)), (512, 512), seeded(1))).faces
    assert (face.gender, face.race, face.age) == ({"Male": 1.0}, {}, {"30-39": 1.0})


@pytest.mark.parametrize("age", [np.nan, np.inf])
def test_weights_that_give_no_numbers_are_an_error_that_names_them(tmp_path: Path, age: float) -> None:
    (tmp_path / "genderage").mkdir()
    (tmp_path / "fairface").mkdir()
    (tmp_path / "detection").symlink_to(toy_graphs.FOLDER / "detection")
    constant_graph(tmp_path / "genderage" / "genderage.onnx", [1, 3, 96, 96], [0.1, 0.9, age])
    constant_graph(tmp_path / "fairface" / "fairface.onnx", ["n", 3, 224, 224], [age] + [0.0] * 17)
    for name in ("insightface", "fairface"):
        detector = make(f"faces/{name}", weights=tmp_path)
        with pytest.raises(FairgateError, match=r"\.onnx: these weights cannot be used"):
            detector.read(draw(people(1, seeded(1)), (512, 512), seeded(1)))


def test_years_fall_into_the_range_that_holds_them() -> None:
    assert [range_of(years) for years in (-1, 0, 2, 3, 29, 30, 69, 70, 101)] == [
        *("0-2", "0-2", "0-2", "3-9", "20-29", "30-39", "60-69", "70+", "70+")
    ]


@pytest.mark.parametrize(
    ("entry", "values"), [(["n", 3, 224, 224], [0.0] * 17), (["n", 3, 112, 112], [0.0] * 18), (["n", 512], [0.0] * 18)]
)
def test_a_graph_of_other_shapes_is_not_taken_for_fairface(
    tmp_path: Path, entry: list[int | str], values: list[float]
) -> None:
    with pytest.raises(FairgateError, match="FairFace takes"):
        FairFace(constant_graph(tmp_path / "other.onnx", entry, values))


def test_weights_that_cannot_be_loaded_are_named(tmp_path: Path) -> None:
    for load, kind in ((FairFace, "fairface"), (GenderAge, "genderage")):
        broken = tmp_path / f"{kind}.onnx"
        broken.write_bytes(b"no graph")
        with pytest.raises(FairgateError, match=rf"{kind}\.onnx"):
            load(broken)
    with pytest.raises(FairgateError, match="does not load this detector"):
        FaceFinder(tmp_path, size=640, confidence=0.5)


def test_no_network_is_tried_for_weights_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FairgateError, match="fairgate weights pull"):
        FaceFinder(tmp_path / "buffalo_l", size=640, confidence=0.5)
    with pytest.raises(FairgateError, match="fairgate weights pull"):
        make("faces/fairface", weights=tmp_path)


# Detectors by name


@pytest.mark.parametrize(
    ("spec", "arguments", "told"),
    [
        ("faces/fairfase", [], r"Did you mean 'faces/fairface'"),
        ("control/fairface", ["size=100"], "multiple of 32"),
        ("control/fairface", ["size=many"], "From 64 to 2048"),
        ("control/fairface", ["confidence=0"], "From 0.05 to 0.99"),
        ("control/fairface", ["treshold=0.4"], "not known"),
    ],
)
def test_what_names_no_detector_is_said(spec: str, arguments: list[str], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        make(spec, arguments=arguments)


def test_the_identity_changes_with_all_that_changes_a_reading() -> None:
    def parameters(*arguments: str) -> Mapping[str, object]:
        return make("control/fairface", arguments=arguments).identity.parameters

    assert parameters()["fairface"] != parameters()["detection"]
    assert parameters("size=640") != parameters() == parameters("size=320")
    assert parameters("confidence=0.4") != parameters()


def test_own_labels_fill_the_eighteen_logits() -> None:
    widths = {attribute: len(labels) for attribute, labels in own_labels("fairface").items()}
    assert widths == {"race": 7, "gender": 2, "age": 9}
