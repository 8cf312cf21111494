"""Images per second from file to reading, beside a plain loop over insightface and FairFace; threads beside processes.

`python benchmarks/faces.py` prints two tables. The networks are the toy graphs: what is measured is all that stands
around them, and with real weights the networks' own time is added to both columns. The first table counts processor
time of one thread, so that a busy machine disturbs it least; the second is by the clock.
"""

from __future__ import annotations

import statistics
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from io import BytesIO
from multiprocessing import get_context
from random import Random
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from PIL import Image

from fairgate.providers.faces import runtime, toy_graphs
from fairgate.providers.faces.factory import make
from fairgate.providers.images.portraits import draw, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairgate.providers.faces.detector import FaceDetector

IMAGES, ROUNDS, TOGETHER = 8, 5, 8
MEAN, STD = np.array((0.485, 0.456, 0.406)), np.array((0.229, 0.224, 0.225))


def images(number: int, form: str, people: int) -> list[bytes]:
    """Portraits of 1024 pixels, packed as models send them."""
    chance = Random(1)  # noqa: S311 - draws people
    drawn = [draw([shown({}, {}, chance) for _ in range(people)], (1024, 1024), chance) for _ in range(number)]
    return [_packed(each, form) for each in drawn]


def _packed(content: bytes, form: str) -> bytes:
    file, image = BytesIO(), Image.open(BytesIO(content)).convert("RGB")
    # Grain, as photographs have: flat colours pack and unpack faster than any real image.
    grain = np.random.default_rng(1).integers(0, 6, (image.height, image.width, 3), np.uint8)
    noisy = np.clip(np.asarray(image).astype(np.int16) + grain - 3, 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(file, form, **({"quality": 92} if form == "JPEG" else {"compress_level": 1}))
    return file.getvalue()


@cache
def detector() -> FaceDetector:
    """Ours, in the size that real weights are used with."""
    return make("control/fairface", arguments=("size=640",))


def ours(contents: Sequence[bytes]) -> int:
    """Faces found in these images."""
    parts = (contents[start : start + TOGETHER] for start in range(0, len(contents), TOGETHER))
    return sum(len(reading.faces) for part in parts for reading in detector().read_all(part))


@cache
def _loop_parts() -> tuple[Any, Any]:
    from insightface.app import FaceAnalysis

    app = FaceAnalysis(
        name=str(toy_graphs.FOLDER / "detection"), providers=[runtime.CPU], sess_options=runtime.options()
    )
    app.prepare(ctx_id=0, det_size=(640, 640))
    return app, runtime.session(toy_graphs.FOLDER / "fairface" / "fairface.onnx")


def loop(contents: Sequence[bytes]) -> int:
    """The same, as their documentation shows it: one image, one face after the other."""
    app, fairface = _loop_parts()
    found = 0
    for content in contents:
        pixels = np.asarray(Image.open(BytesIO(content)).convert("RGB"))
        for face in app.get(pixels[:, :, ::-1].copy()):
            large = _chip(pixels, face.kps)
            chip = np.asarray(Image.fromarray(large).resize((224, 224))) / 255
            fairface.run(None, {"input": ((chip - MEAN) / STD).transpose(2, 0, 1)[None].astype(np.float32)})
            found += 1
    return found


def _chip(pixels: Any, points: Any) -> Any:
    """A chip of 300 pixels, as FairFace's own program cuts it."""
    from skimage.transform import SimilarityTransform

    from fairgate.providers.faces.alignment import TARGETS

    moved = SimilarityTransform.from_estimate(points, TARGETS * 300 / 224).params[:2]
    return cv2.warpAffine(pixels, moved, (300, 300))


def processor_seconds(work: Callable[[Sequence[bytes]], int], contents: Sequence[bytes]) -> float:
    began = time.process_time()
    work(contents)
    return time.process_time() - began


def one_core() -> None:
    print("| images | ours, images/s | plain loop, images/s | ratio (lowest to highest round) |\n|---|---|---|---|")
    for form, people in (("PNG", 1), ("PNG", 2), ("JPEG", 1), ("JPEG", 2)):
        contents = images(IMAGES, form, people)
        if ours(contents[:TOGETHER]) != loop(contents[:TOGETHER]):
            raise RuntimeError("they find different faces")
        rounds = [(processor_seconds(ours, contents), processor_seconds(loop, contents)) for _ in range(ROUNDS)]
        ratios = sorted(plain / own for own, plain in rounds)
        fast, plain = (IMAGES / statistics.median(each) for each in zip(*rounds, strict=True))
        spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"| {form} 1024 x 1024, {people} faces | {fast:.0f} | {plain:.0f} | {spread} |", flush=True)


def several_cores() -> None:
    contents = images(IMAGES, "PNG", 1)
    parts = [contents[start : start + TOGETHER] for start in range(0, len(contents), TOGETHER)]
    ways: dict[str, Callable[[], Executor]] = {
        "1 thread": lambda: ThreadPoolExecutor(1),
        "2 threads": lambda: ThreadPoolExecutor(2),
        "2 processes": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    }
    print("\n| way | images/s | start, s |\n|---|---|---|")
    pools, starts = {}, {}
    for name, make_pool in ways.items():
        began = time.perf_counter()
        pools[name] = make_pool()
        list(pools[name].map(ours, parts[:4]))
        starts[name] = time.perf_counter() - began
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):  # by turns: a busy machine is busy for all of them
        for name, pool in pools.items():
            began = time.perf_counter()
            list(pool.map(ours, parts))
            rates[name].append(IMAGES / (time.perf_counter() - began))
    for name, pool in pools.items():
        pool.shutdown()
        print(f"| {name} | {statistics.median(rates[name]):.0f} | {starts[name]:.1f} |")


if __name__ == "__main__":
    cv2.setNumThreads(1)
    one_core()
    several_cores()
