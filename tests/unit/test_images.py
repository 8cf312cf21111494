"""Images as untrusted input: each is opened for what it is, and nothing that was sent can do harm."""

from __future__ import annotations

import stat
import struct
import threading
import zlib
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from fairgate.core.errors import LedgerError
from fairgate.ledger.images import ImageLimits, ImageStore, Picture, Problem, hash_in, open_picture, said

if TYPE_CHECKING:
    from pathlib import Path

SIZE = 320, 200
RED, WHITE = (255, 0, 0), (255, 255, 255)


def written(image: Image.Image, form: str = "PNG", **more: object) -> bytes:
    file = BytesIO()
    image.save(file, form, **more)
    return file.getvalue()


def noise(mode: str = "RGB") -> Image.Image:
    depth = len(Image.new(mode, (1, 1)).getbands())
    pixels = np.random.default_rng(1).integers(0, 256, (SIZE[1], SIZE[0], depth), np.uint8)
    return Image.fromarray(pixels.squeeze(), mode)


def opened(content: bytes, limits: ImageLimits | None = None) -> Picture:
    found = open_picture(content, limits=limits)
    assert isinstance(found, Picture)
    assert found.pixels.dtype == np.uint8
    assert found.pixels.shape[2:] == (3,)
    return found


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_of(width: int, height: int, data: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_every_format_is_told_by_its_content(form: str) -> None:
    picture = opened(written(Image.new("RGB", SIZE, RED), form))
    assert (picture.size, picture.format, picture.notes) == (SIZE, form, ())
    assert np.abs(picture.pixels.astype(int) - RED).max() < 8


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_an_image_cut_at_any_kilobyte_is_truncated(form: str) -> None:
    content = written(noise(), form)
    assert len(content) > 20_000
    for cut in range(1024, len(content), 1024):
        assert open_picture(content[:cut]) is Problem.TRUNCATED, cut
    for cut in range(1, 1024):
        assert open_picture(content[:cut]) in (Problem.TRUNCATED, Problem.NOT_AN_IMAGE), cut


def test_a_format_without_an_end_is_cut_without_harm() -> None:
    content = written(noise(), "TIFF")
    for cut in range(0, len(content), 1024):
        found = open_picture(content[:cut])
        assert isinstance(found, Picture) or found in (Problem.TRUNCATED, Problem.EMPTY), cut


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_damaged_bytes_never_raise(form: str) -> None:
    content, random = written(noise("RGB").resize((64, 40)), form), np.random.default_rng(7)
    for _ in range(150):
        broken = np.frombuffer(content, np.uint8).copy()
        where = random.integers(0, min(len(broken), 4096), 8)
        broken[where] = random.integers(0, 256, 8, np.uint8)
        assert isinstance(open_picture(broken.tobytes(), limits=ImageLimits(pixels=10_000_000)), Picture | Problem)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", Problem.EMPTY),
        (b"<html>Please stand by</html>", Problem.NOT_AN_IMAGE),
        (b'{"error": "no image"}', Problem.NOT_AN_IMAGE),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", Problem.NOT_AN_IMAGE),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", Problem.NOT_AN_IMAGE),
        (png_of(30, 20, zlib.compress(b"\0" * 3)), Problem.DAMAGED),
        (b"\0\0\0\x20ftypavif\0\0\0\0avifmif1miaf", Problem.UNSUPPORTED),
    ],
    ids=["nothing", "html", "json", "eps", "svg", "png-of-too-few-pixels", "avif"],
)
def test_what_is_no_image_is_named(content: bytes, problem: Problem) -> None:
    assert open_picture(content) is problem


def test_a_decompression_bomb_is_refused_by_its_header() -> None:
    bomb = png_of(60_000, 60_000, zlib.compress(b"\0" * 100_000))
    assert open_picture(bomb) is Problem.TOO_LARGE
    # Between our limit and Pillow's, where only a warning would come.
    assert open_picture(png_of(10_000, 10_000, b"")) is Problem.TOO_LARGE


def test_limits_hold_for_bytes_and_pixels() -> None:
    content = written(Image.new("RGB", SIZE))
    assert open_picture(content, limits=ImageLimits(content=len(content) - 1)) is Problem.TOO_LARGE
    assert open_picture(content, limits=ImageLimits(pixels=SIZE[0] * SIZE[1] - 1)) is Problem.TOO_LARGE
    assert opened(content, ImageLimits(len(content), SIZE[0] * SIZE[1])).size == SIZE


def segment(kind: int, data: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, kind, len(data) + 2) + data


def jpeg_of_scans(scans: int) -> bytes:
    """A progressive JPEG, 8 x 8, whose last scan comes again and again."""
    whole = written(Image.effect_noise((8, 8), 60), "JPEG", progressive=True)
    last = whole[whole.rindex(b"\xff\xda") : -2]
    return whole[:-2] + last * (scans - whole.count(b"\xff\xda")) + whole[-2:]


def test_a_jpeg_of_hundreds_of_scans_is_not_decoded() -> None:
    assert opened(jpeg_of_scans(200)).size == (8, 8)
    assert open_picture(jpeg_of_scans(201)) is Problem.TOO_LARGE


def test_a_jpeg_with_exif_in_thousands_of_parts_is_not_opened() -> None:
    whole = written(Image.new("RGB", (8, 8)), "JPEG")
    part = segment(0xE1, b"Exif\0\0" + b"x" * 50)
    assert opened(whole[:2] + part * 100 + whole[2:]).size == (8, 8)
    assert open_picture(whole[:2] + part * 101 + whole[2:]) is Problem.TOO_LARGE


def gif_of(comment: bytes, times: int) -> bytes:
    whole = written(Image.new("RGB", (8, 8)), "GIF")
    at = whole.index(b"\x2c")
    return whole[:at] + comment * times + whole[at:]


MARKER, FILL, JPEG = segment(0xE5, b""), b"\xff", written(Image.new("RGB", (8, 8)), "JPEG")
CHUNK, PNG = chunk(b"aaAa", b""), written(Image.new("RGB", (8, 8)))


@pytest.mark.parametrize(
    ("few", "many"),
    [
        (JPEG[:2] + MARKER * 5_000 + JPEG[2:], JPEG[:2] + MARKER * 50_000 + JPEG[2:]),
        (JPEG[:2] + FILL * 5_000 + JPEG[2:], JPEG[:2] + FILL * 50_000 + JPEG[2:]),
        (gif_of(b"\x21\xfe\x01a\0", 3_000), gif_of(b"\x21\xfe\x01a\0", 50_000)),
        (PNG[:33] + CHUNK * 3_000 + PNG[33:], PNG[:33] + CHUNK * 50_000 + PNG[33:]),
        (PNG[:-12] + CHUNK * 3_000 + PNG[-12:], PNG[:-12] + CHUNK * 50_000 + PNG[-12:]),
    ],
    ids=["markers", "fill bytes", "comments", "chunks", "chunks at the end"],
)
def test_an_image_of_ten_thousands_of_empty_parts_is_not_opened(few: bytes, many: bytes) -> None:
    assert opened(few).size == (8, 8)
    assert open_picture(many) is Problem.TOO_LARGE


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP"])
def test_a_picture_of_noise_is_opened_in_any_format(form: str) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (600, 600, 3), np.uint8)
    assert opened(written(Image.fromarray(pixels), form)).size == (600, 600)


def tiff_of_tiles(side: int) -> bytes:
    """A TIFF of 16 x 16 pixels in one tile of far more, packed."""
    packed = zlib.compress(bytes(16 * side))
    fields = {
        256: 16,
        257: 16,
        258: 8,
        259: 8,
        262: 1,
        277: 1,
        322: 16,
        323: side,
        324: 8 + 2 + 12 * 10 + 4,
        325: len(packed),
    }
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in fields.items())
    return b"II*\0" + struct.pack("<IH", 8, len(fields)) + entries + bytes(4) + packed


def test_a_tiff_whose_tiles_are_larger_than_the_picture_is_not_decoded() -> None:
    assert open_picture(tiff_of_tiles(2**20)) is Problem.TOO_LARGE


def test_a_tiff_of_more_strips_than_rows_is_not_opened() -> None:
    whole = written(Image.new("L", (8, 8)), "TIFF")
    at = whole.index(struct.pack("<HH", 273, 4))
    assert open_picture(whole[: at + 4] + struct.pack("<I", 10**7) + whole[at + 8 :]) is Problem.TOO_LARGE
    assert open_picture(b"II+\0" + bytes(100)) is Problem.TOO_LARGE


@pytest.mark.parametrize("size", [(1, 1), (20_000, 1), (1, 20_000)])
def test_odd_sizes_are_images(size: tuple[int, int]) -> None:
    assert opened(written(Image.new("RGB", size))).size == size


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
def test_of_an_animation_the_first_frame_counts(form: str) -> None:
    frames = [Image.new("RGB", SIZE, colour) for colour in (RED, "blue", "green")]
    lossless = {"lossless": True} if form == "WEBP" else {}
    picture = opened(written(frames[0], form, save_all=True, append_images=frames[1:], **lossless))
    assert picture.notes == ("animated",)
    assert tuple(picture.pixels[50, 50]) == RED


def test_exif_orientation_is_applied() -> None:
    upright = Image.new("RGB", SIZE, WHITE)
    upright.paste(RED, (0, 0, 40, 40))
    for orientation, corner in {1: "tl", 2: "tr", 3: "br", 4: "bl", 5: "tl", 6: "tr", 7: "br", 8: "bl"}.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        picture = opened(written(upright, "PNG", exif=exif))
        assert picture.size == (SIZE if orientation < 5 else SIZE[::-1])
        assert picture.notes == (("turned",) if orientation > 1 else ())
        row, column = -5 if corner[0] == "b" else 5, -5 if corner[1] == "r" else 5
        assert tuple(picture.pixels[row, column]) == RED, orientation


def test_broken_exif_takes_nothing_from_the_picture() -> None:
    picture = opened(written(Image.new("RGB", SIZE, RED), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff"))
    assert picture.size == SIZE


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_alpha_is_laid_on_white(mode: str) -> None:
    image = Image.new("RGBA", SIZE, (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (0, 0, 100, 100))
    picture = opened(written(image.convert(mode)))
    assert picture.notes == ("alpha",)
    assert (tuple(picture.pixels[50, 50]), tuple(picture.pixels[150, 150])) == ((0, 0, 0), WHITE)


def test_sixteen_bits_of_grey_become_eight() -> None:
    image = Image.fromarray(np.full((20, 30), 0x8080, np.uint16))
    for form in ("PNG", "TIFF"):
        picture = opened(written(image, form))
        assert picture.notes == ("16-bit",)
        assert np.all(picture.pixels == 0x80)


def test_cmyk_becomes_rgb() -> None:
    picture = opened(written(Image.new("CMYK", SIZE, (0, 255, 255, 0)), "JPEG"))
    assert picture.notes == ("cmyk",)
    assert np.abs(picture.pixels.astype(int) - RED).max() < 8


@pytest.mark.parametrize("mode", ["1", "L", "P"])
def test_grey_and_palette_become_rgb(mode: str) -> None:
    assert opened(written(Image.new("RGB", SIZE, WHITE).convert(mode))).pixels.min() == 255


def test_colours_without_an_agreed_rgb_are_unsupported() -> None:
    assert open_picture(written(Image.new("F", SIZE), "TIFF")) is Problem.UNSUPPORTED


# The store


def test_what_was_kept_comes_back_and_is_private(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "run" / "ledger.sqlite")
    digest = store.add(b"one")
    assert store.read(digest) == b"one"
    assert store.path(digest) == tmp_path / "run" / "ledger.sqlite.images" / digest[:2] / digest
    assert stat.S_IMODE(store.path(digest).stat().st_mode) == 0o600
    assert {stat.S_IMODE(each.stat().st_mode) for each in (store.folder, store.path(digest).parent)} == {0o700}
    assert (hash_in(said(digest)), hash_in("I cannot draw that."), hash_in(said("../x"))) == (digest, None, None)


def test_the_same_image_is_kept_once_by_many_writers(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "ledger.sqlite")
    content = b"x" * 1_000_000
    threads = [threading.Thread(target=store.add, args=(content,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert [path.read_bytes() == content for path in store.folder.rglob("*") if path.is_file()] == [True]


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n", "/" + "a" * 63])
def test_only_a_hash_becomes_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(LedgerError, match="no hash of an image"):
        ImageStore(tmp_path / "ledger.sqlite").path(name)


def test_an_image_that_is_gone_or_changed_is_trouble(tmp_path: Path) -> None:
    store = ImageStore(tmp_path / "ledger.sqlite")
    digest = store.add(b"one")
    store.path(digest).write_bytes(b"two")
    with pytest.raises(LedgerError, match="another hash"):
        store.read(digest)
    store.path(digest).unlink()
    with pytest.raises(LedgerError, match="No such file"):
        store.read(digest)


def test_two_names_of_one_ledger_have_the_same_images(tmp_path: Path) -> None:
    (tmp_path / "link.sqlite").symlink_to(tmp_path / "ledger.sqlite")
    digest = ImageStore(tmp_path / "link.sqlite").add(b"one")
    assert ImageStore(tmp_path / "ledger.sqlite").read(digest) == b"one"
