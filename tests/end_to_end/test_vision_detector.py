"""A vision model as detector, over HTTP: it is shown the image, may say unknown, and is asked once more."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

import pytest
from PIL import Image

from fairgate.benchmarks.fact_or_fair.topics import Level, StatisticTopic, Task
from fairgate.core.domain import Form, Modality, Query
from fairgate.core.errors import CallFailed
from fairgate.ledger.images import ImageStore
from fairgate.providers.chat.openai import OpenAIChat
from fairgate.providers.endpoint import Server
from fairgate.providers.faces.factory import make
from fairgate.providers.faces.vision_detector import VisionDetector, questions, read_faces, read_people
from fairgate.providers.images.portraits import LABELS, draw
from tests.servers.chat import ChatStub

if TYPE_CHECKING:
    from pathlib import Path

    from fairgate.core.domain import Reply
    from fairgate.replies.faces import Reading

TOPIC = StatisticTopic("fact-or-fair", Modality.IMAGE, Task.SUBJECTIVE, "crime-rate", Level.HIGH)
PERSON = {"gender": "Female", "race": "Southeast Asian", "age": "30-39"}
OTHER = {"gender": "Male", "race": "Latino_Hispanic", "age": "70+"}


def portrait(*people: dict[str, str]) -> bytes:
    return draw(people, (256, 256), Random(1))  # noqa: S311 - draws people, guards nothing


async def read(
    stub: ChatStub, store: ImageStore, content: bytes, people: int = 1
) -> tuple[Reading | None, list[Query]]:
    """Drives the steps as the sampler does."""
    detector = VisionDetector(OpenAIChat("eyes", Server(stub.base_url), images=store), store)
    steps = read_faces(TOPIC, 3, store.add(content), questions(people))
    asked: list[Query] = []
    reply: Reply | None = None
    try:
        while True:
            query = next(steps) if not asked else steps.send(reply)
            asked.append(query)
            reply = await detector.ask(query)
    except StopIteration as end:
        return end.value, asked
    finally:
        await detector.close()


def read_with(stub: ChatStub, tmp_path: Path, content: bytes, people: int = 1) -> tuple[Reading | None, list[Query]]:
    return asyncio.run(read(stub, ImageStore(tmp_path / "ledger.sqlite"), content, people))


def test_a_vision_model_sees_the_image_itself(tmp_path: Path) -> None:
    """The stub reads what it is shown with the toy graphs: what was drawn comes back, through JSON and base64."""
    eyes = make("control/fairface")
    with ChatStub() as stub:

        def look(_: str) -> str:
            (face,) = eyes.read(stub.shown[0]).faces
            return json.dumps({name: max(of := face.attribute(name), key=of.__getitem__) for name in LABELS})

        stub.reply = look
        reading, asked = read_with(stub, tmp_path, portrait(PERSON))
    assert reading is not None
    assert reading.size == (256, 256)
    assert [{name: list(face.attribute(name)) for name in LABELS} for face in reading.faces] == [
        {name: [label] for name, label in PERSON.items()}
    ]
    assert [(query.step, query.form, query.again) for query in asked] == [
        ("faces", Form.FACES, False),
        ("person.1", Form.PERSON, False),
    ]
    assert stub.requests == 1


def test_what_is_unknown_is_asked_once_more_in_a_new_conversation_and_then_left_out(tmp_path: Path) -> None:
    said = iter(
        [{**PERSON, "race": "unknown", "age": "unknown"}, {"gender": "Male", "race": "White", "age": "unknown"}]
    )
    with ChatStub(reply=lambda _: f"Sure:\n```json\n{json.dumps(next(said))}\n```") as stub:
        reading, asked = read_with(stub, tmp_path, portrait(PERSON))
    assert reading is not None
    (face,) = reading.faces
    # The first answer to each question counts.
    assert (face.gender, face.race, face.age) == ({"Female": 1.0}, {"White": 1.0}, {})
    assert [(query.step, query.again) for query in asked[1:]] == [("person.1", False), ("person.1/again", True)]
    assert all(not query.before for query in asked)
    assert asked[1].text == asked[2].text


def test_nobody_to_be_seen_is_no_face(tmp_path: Path) -> None:
    with ChatStub(reply=lambda _: "I cannot tell anything about people in images.") as stub:
        reading, asked = read_with(stub, tmp_path, portrait())
    assert reading is not None
    assert (reading.faces, reading.problem, len(asked)) == ((), None, 3)


def test_what_cannot_be_opened_is_never_sent(tmp_path: Path) -> None:
    with ChatStub() as stub:
        reading, asked = read_with(stub, tmp_path, portrait(PERSON)[:300])
    assert reading is not None
    assert (reading.problem, len(asked), stub.requests) == ("truncated", 1, 0)


def test_of_two_people_the_left_one_comes_first(tmp_path: Path) -> None:
    with ChatStub(reply=lambda _: json.dumps({"left": {"gender": "male"}, "right": OTHER})) as stub:
        reading, asked = read_with(stub, tmp_path, portrait(PERSON, OTHER), people=2)
    assert reading is not None
    assert [dict(face.race) for face in reading.faces] == [{}, {"Latino_Hispanic": 1.0}]
    assert [query.step for query in asked] == ["faces", "persons.1", "persons.1/again"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (json.dumps(PERSON), PERSON),
        ('<think>{"gender": "Male"}</think> {"gender": "FEMALE", "race": "latino hispanic"}', {"gender": "Female"}),
        ('{"gender": "Female or Male", "race": ["White"], "age": 30}', {}),
        ('{"gender": {"gender": "Male"}}', {}),
        ('[{"gender": "Male"}, {"gender": "Female"}]', {}),
        ("{" * 5000, {}),
        ("", {}),
    ],
)
def test_replies_are_read_as_labels_or_not_at_all(text: str, found: dict[str, str]) -> None:
    (told,) = read_people(text)
    assert {name: told.get(name) for name in found} == found
    assert bool(told) == bool(found)


def test_unusual_images_are_packed_anew_for_the_model(tmp_path: Path) -> None:
    packed = BytesIO()
    Image.new("CMYK", (40, 30)).save(packed, "TIFF")
    with ChatStub() as stub:
        read_with(stub, tmp_path, packed.getvalue())
        assert Image.open(BytesIO(stub.shown[0])).format == "PNG"


def test_a_model_without_images_is_not_shown_any(tmp_path: Path) -> None:
    digest = ImageStore(tmp_path / "ledger.sqlite").add(portrait())

    async def ask(chat: OpenAIChat) -> None:
        try:
            await chat.ask(Query(TOPIC, 0, "Who?", images=(digest,)))
        finally:
            await chat.close()

    with ChatStub() as stub, pytest.raises(CallFailed, match="cannot be shown"):
        asyncio.run(ask(OpenAIChat("eyes", Server(stub.base_url))))


def test_the_prompts_list_every_label() -> None:
    for people in (1, 2):
        text = questions(people).text
        assert all(label.replace("_", " ") in text for labels in LABELS.values() for label in labels)
        assert "{gender}" not in text
