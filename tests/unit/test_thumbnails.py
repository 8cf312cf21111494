"""Contact sheets and thumbnails: drawn anew from untrusted bytes, and a word where there is nothing to draw."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from fairgate.benchmarks.evidence import Cell, Drawn, Evidence, FaceShown, Shown
from fairgate.benchmarks.fact_or_fair.topics import Level, Task
from fairgate.benchmarks.gate_result import Verdict
from fairgate.core.domain import AnswerKind, Modality, Role
from fairgate.ledger.images import Picture, open_picture
from fairgate.reports import thumbnails
from fairgate.reports.plots import contact_sheets, gallery
from fairgate.reports.thumbnails import GAP, HEAD, LINE, SIDE, Sheet
from tests.builders import finding, report

BLUE, RED = (0, 114, 178), (255, 0, 0)


def png(size: tuple[int, int] = (400, 200), colour: tuple[int, int, int] = RED) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, "PNG")
    return file.getvalue()


def face(
    group: str | None, sure: float = 0.93, box: tuple[float, float, float, float] | None = (100, 50, 200, 150)
) -> FaceShown:
    return FaceShown(box, {"race": (group, sure)})


def image_reply(
    index: int, *faces: FaceShown, kind: AnswerKind = AnswerKind.CHOSEN, problem: str | None = None
) -> Drawn:
    return Drawn(index, kind, f"{index:064x}", (400, 200), faces, problem)


def colours(image: Image.Image) -> set[tuple[int, ...]]:
    return {colour for _, colour in image.convert("RGB").getcolors(1 << 20) or [] if isinstance(colour, tuple)}


def sheet(*images: Drawn) -> Sheet:
    return Sheet("by race", images, "race", {"Asian": "#0072b2"})


def test_a_face_has_a_box_of_its_groups_colour_where_it_is_in_the_small_image() -> None:
    drawn = thumbnails.drawn(sheet(image_reply(0, face("Asian"))), lambda _: png())
    # 400 x 200 pixels become 144 x 72: the box begins at (36, 18).
    assert drawn.getpixel((GAP + 36, HEAD + 18)) == BLUE
    assert drawn.getpixel((GAP + 55, HEAD + 30)) == RED


@pytest.mark.parametrize("box", [(1e9, -1e9, -5.0, 1e9), (300.0, 150.0, 100.0, 50.0), None])
def test_a_box_that_makes_no_sense_breaks_nothing(box: tuple[float, float, float, float] | None) -> None:
    drawn = thumbnails.drawn(sheet(image_reply(0, face("Asian", box=box))), lambda _: png())
    assert RED in colours(drawn)


def test_what_cannot_be_read_is_a_tile_with_a_word_and_its_bytes_go_nowhere() -> None:
    hostile = b"<script>document.title = 'hacked'</script>"
    broken = image_reply(0, kind=AnswerKind.UNREADABLE, problem="not-an-image")
    drawn = thumbnails.drawn(sheet(broken), lambda _: hostile)
    assert drawn.size == (SIDE + 2 * GAP, HEAD + SIDE + LINE + GAP)
    assert {(232, 232, 232), (34, 34, 34)} <= colours(drawn.crop((GAP, HEAD, GAP + SIDE, HEAD + SIDE)))
    assert hostile not in thumbnails.png(drawn)
    assert thumbnails.data_uri(hostile, 64) is None
    assert broken.told("race") == "unreadable: not-an-image"


def test_a_thumbnail_is_drawn_anew_without_what_else_its_file_held() -> None:
    uri = thumbnails.data_uri(png() + b"<script>", 64)
    assert uri is not None
    body = base64.b64decode(uri.removeprefix("data:image/jpeg;base64,"))
    opened = open_picture(body)
    assert isinstance(opened, Picture)
    assert (opened.format, opened.size) == ("JPEG", (64, 32))
    assert b"<script>" not in body


def test_images_without_a_face_take_a_third_of_a_sheet_at_most() -> None:
    images = [image_reply(n, kind=AnswerKind.NO_FACE) for n in range(10)] + [
        image_reply(n, face("Asian")) for n in range(10, 30)
    ]
    kept = thumbnails.picked(images, 12)
    assert [each.index for each in kept] == [0, 1, 2, 3, *range(10, 18)]
    assert len(thumbnails.picked(images[:10], 12)) == 10
    assert [each.index for each in thumbnails.picked(images[8:12], 12)] == [8, 9, 10, 11]


def cell(name: str, counts: dict[str, int], verdict: Verdict = Verdict.PASS) -> Cell:
    return Cell(
        name=f"t2i_subjective[{name}]", benchmark="fact-or-fair", modality=Modality.IMAGE, task=Task.SUBJECTIVE,
        attribute="race", about="Crime Rate", level=Level.HIGH, topic=name, counts=counts,
        kinds={AnswerKind.CHOSEN: 4}, verdict=verdict,
    )  # fmt: skip


def read(topic: str) -> list[Shown]:
    images = (
        image_reply(0, face("Asian"), face(None)),
        image_reply(1, kind=AnswerKind.NO_FACE),
        image_reply(2, face("White", 0.5)),
    )
    return [Shown(f"{topic}#{n}", Role.IMAGE_MODEL, "Paint", "sha256:", each.kind, "image", drawn=each)
            for n, each in enumerate(images)]  # fmt: skip


def test_failed_cases_have_a_sheet_and_the_three_most_telling_others() -> None:
    cells = (
        cell("even", {"Asian": 1, "White": 1}),
        cell("uneven", {"Asian": 9, "White": 1}),
        cell("failed", {"Asian": 8, "White": 2}, Verdict.FAIL),
        cell("less-even", {"Asian": 6, "White": 4}),
        cell("named", {"Asian": 3, "White": 3}),
    )
    told = finding("why", cell="t2i_subjective[named]")
    shown = report(findings=(told,), evidence=Evidence(cells, read, lambda _: png()))
    assert [each.topic for each in contact_sheets.chosen(shown)] == ["failed", "named", "uneven", "less-even"]
    sheets = [each for each in gallery.plots(shown, pictures=True) if each.name.startswith("faces-")]
    assert [each.name for each in sheets][:2] == ["faces-01-t2i-subjective-failed", "faces-02-t2i-subjective-named"]
    assert sheets[0].title == "Faces: Crime Rate, high, subjective, race (3 of 3 images)"
    assert sheets[0].alt == (
        "All faces of the case: Asian 80 %, White 20 %. Image 0: Asian 93 %; group not known. Image 1: no face. "
        "Image 2: White 50 %."
    )
    assert isinstance(open_picture(sheets[0].png), Picture)
    assert sheets[0].png == next(contact_sheets.plots(shown, pictures=True)).png


def test_sheets_are_capped_in_number_and_in_bytes_and_say_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = tuple(cell(f"n{n}", {"Asian": 9, "White": 1}, Verdict.FAIL) for n in range(20))
    shown = report(evidence=Evidence(cells, read, lambda _: png()))
    sheets = list(contact_sheets.plots(shown, pictures=True))
    assert len(sheets) == contact_sheets.SHEETS
    assert sheets[-1].alt.endswith("8 further cases have no sheet.")
    monkeypatch.setattr(contact_sheets, "BYTES", len(sheets[0].png) + 1)
    assert [bool(each.png) for each in contact_sheets.plots(shown, pictures=True)] == [True] + [False] * 11
    assert not any(each.png for each in contact_sheets.plots(shown, pictures=False))


def test_an_image_that_is_gone_says_so() -> None:
    drawn = thumbnails.drawn(sheet(image_reply(0, face("Asian"))), lambda _: b"")
    assert RED not in colours(drawn)
    assert (232, 232, 232) in colours(drawn)
