"""The first replies of a model: where next to none can be used, the run stops and says how to go on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairgate.core.domain import Answer, AnswerKind, Form, Reply, Role
from fairgate.core.errors import RunStopped
from fairgate.ledger.samples import Sample
from fairgate.sampling.canary import LOOKED_AT, USABLE, Canary
from tests.builders import chosen, no_answer, query


def watching() -> Canary:
    return Canary({Role.MODEL: "openai/tiny", Role.IMAGE_MODEL: "openai/painter"})


def look(canary: Canary, sample: Sample) -> None:
    """As many as are looked at."""
    for _ in range(LOOKED_AT):
        canary.look(sample)


def test_replies_none_of_which_can_be_read_stop_the_run_with_three_of_them_and_what_to_do() -> None:
    canary = watching()
    lost = replace(no_answer(query(), AnswerKind.UNREADABLE), reply=Reply("\x1b[2J<b>lorem</b>\n::error::ipsum " * 40))
    with pytest.raises(RunStopped) as stopped:
        look(canary, lost)
    said = str(stopped.value)
    assert said.startswith(f"openai/tiny: of the first {LOOKED_AT} replies next to none can be used")
    assert f"({LOOKED_AT} unreadable)" in said
    assert said.count("lorem") >= 3
    assert "--model-arg max_tokens=" in said
    assert "--system-prompt" in said
    assert "chat template" in said
    assert "--no-canary" in said
    assert said.isprintable()
    assert len(said) < 1500


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (AnswerKind.REFUSED, "--system-prompt"),
        (AnswerKind.NO_FACE, "--t2i-arg"),
        (AnswerKind.TRUNCATED, "Allow longer replies: --model-arg max_tokens="),
    ],
)
def test_what_to_do_depends_on_what_became_of_the_replies(kind: AnswerKind, told: str) -> None:
    canary = watching()
    with pytest.raises(RunStopped, match=told):
        look(canary, no_answer(query(), kind))


def test_a_few_usable_replies_among_the_first_let_the_run_go_on() -> None:
    canary = watching()
    for number in range(10 * LOOKED_AT):
        usable = number <= USABLE
        canary.look(chosen(query(), 0) if usable else no_answer(query(), AnswerKind.UNREADABLE))


def test_later_replies_stop_nothing() -> None:
    canary = watching()
    for number in range(10 * LOOKED_AT):
        canary.look(chosen(query(), 0) if number < LOOKED_AT else no_answer(query(), AnswerKind.REFUSED))


def test_a_model_that_is_not_watched_is_never_stopped() -> None:
    canary = Canary({})
    for _ in range(10 * LOOKED_AT):
        canary.look(no_answer(query(), AnswerKind.REFUSED))


def test_images_without_faces_are_laid_to_the_image_model_and_not_quoted() -> None:
    canary = watching()
    asked = replace(query(choices=()), to=Role.DETECTOR, form=Form.FACES)
    with pytest.raises(RunStopped, match=r"^openai/painter: .*no face.*no-face") as stopped:
        look(canary, Sample(asked, Reply('{"secret": 1}'), Answer(AnswerKind.NO_FACE, None, "no-face")))
    assert "secret" not in str(stopped.value)
