"""Small ONNX graphs in the very shapes of SCRFD and FairFace that find and read the portraits of control image models.

`python -m fairgate.providers.faces.toy_graphs` writes them to `data/faces/control`.
The code that runs real weights runs them, and cannot tell them apart: loader, onnxruntime, alignment, label maps.

Detection: a sum of each pixel's channels is positive on the discs' three colours alone. Sums over cells of 8, 16 and 32
pixels hold each colour's mass and first moments. A convolution over 8 by 8 cells adds them up in a window around every
anchor, eyes and corners of the mouth in its left and right half. Moment by mass is where a disc is. A face is where a
nose is within half a cell and all five masses are alike and fit its size, which in a window with parts of
another face they do not.

Attributes: the mean colour of each patch of the aligned chip, and for each code minus its squared distance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fairgate.providers.images.portraits import CODES, DISC, EYE_DISTANCE, PATCH, PATCHES
from fairgate.replies.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import onnx
    from numpy.typing import NDArray

FOLDER = ROOT / "control"
STRIDES = (8, 16, 32)
OPSET, IR_VERSION = 17, 8
SHARPNESS = 100.0  # of the softmax over squared distances of colours between 0 and 1

# Of one colour minus the others' amount, above which a pixel counts as the disc's: 3 is pure, 2 a third diluted.
COLOURS = {"eye": (-1.0, -1.0, 1.0), "nose": (1.0, -1.0, 1.0), "mouth": (1.0, -1.0, -1.0)}
PURE = 2.0
FILL = math.pi * (DISC / EYE_DISTANCE) ** 2  # of the squared distance of the eyes, by one disc
LEFT, BOTH, RIGHT = slice(0, 4), slice(0, 8), slice(4, 8)
WINDOWS = (("eye", LEFT), ("eye", RIGHT), ("nose", BOTH), ("mouth", LEFT), ("mouth", RIGHT))


class _Graph:
    """A graph in the making: nodes in order, each named after what it computes, and their constants."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, values: object, kind: type[np.generic] = np.float32) -> str:
        from onnx import numpy_helper

        if all(each.name != name for each in self.constants):
            self.constants.append(numpy_helper.from_array(np.asarray(values, kind), name))
        return name

    def add(self, operator: str, name: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, list(inputs), [name], name, **attributes))
        return name

    def model(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> onnx.ModelProto:
        from onnx import checker, helper

        graph = helper.make_graph(self.nodes, name, list(inputs), list(outputs), self.constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="fairgate")
        checker.check_model(model, full_check=True)
        return model


def detection_graph() -> onnx.ModelProto:
    """The graph in SCRFD's shape: nine outputs, two anchors a cell, of which the second never scores."""
    from onnx import TensorProto, helper

    g = _Graph()
    # A product of matrices, for a convolution would first lay all pixels out anew.
    pixels = g.add("Reshape", "pixels", "input", g.constant("three_rows", [3, -1], np.int64))
    colour = g.add("MatMul", "colour", g.constant("colours", list(COLOURS.values())), pixels)
    pure = g.add("Relu", "pure", g.add("Sub", "beyond_pure", colour, g.constant("limit", PURE)))
    discs = g.add("Reshape", "discs", pure, g.add("Shape", "shape", "input"))
    cells = g.add("Conv", "cells_8", discs, g.constant("sums", _sums()), strides=[8, 8], group=3)
    found: dict[str, list[str]] = {"score": [], "box": [], "points": []}
    for stride in STRIDES:
        if stride > STRIDES[0]:
            cells = g.add("Conv", f"cells_{stride}", cells, g.constant("four_cells", _four_cells()), strides=[2, 2])
        for what, name in _anchors(g, cells, stride).items():
            found[what].append(name)
    widths = {"score": 1, "box": 4, "points": 10}
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"anchors_{stride}", widths[what]])
        for what, names in found.items()
        for name, stride in zip(names, STRIDES, strict=True)
    ]
    image = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, "height", "width"])
    return g.model("control detection", [image], outputs)


def _sums() -> NDArray[np.float32]:
    """Mass and moments of one colour over a cell of 8 pixels: [3 colours · 3, 1, 8, 8], moments in cells."""
    along = np.broadcast_to((np.arange(8) + 0.5) / 8, (8, 8))
    return np.tile(np.stack([np.ones((8, 8)), along, along.T])[:, None], (3, 1, 1, 1)).astype(np.float32)


def _four_cells() -> NDArray[np.float32]:
    """From cells to cells of twice the side: masses add up, moments are moved and counted in the larger cell."""
    weights = np.zeros((9, 9, 2, 2), np.float32)
    for colour in range(3):
        mass, x, y = 3 * colour, 3 * colour + 1, 3 * colour + 2
        weights[mass, mass] = 1
        weights[x, x] = weights[y, y] = 0.5
        weights[x, mass, :, 1] = weights[y, mass, 1, :] = 0.5
    return weights


def _windows() -> NDArray[np.float32]:
    """From cells to windows of 8 by 8 cells around each anchor: five masses, five moments along x, five along y."""
    weights = np.zeros((15, 9, 8, 8), np.float32)
    away = np.arange(8) - 4
    for point, (colour, columns) in enumerate(WINDOWS):
        mass = 3 * list(COLOURS).index(colour)
        weights[point, mass, :, columns] = 1
        weights[5 + point, mass + 1, :, columns] = 1
        weights[5 + point, mass, :, columns] = away[columns]
        weights[10 + point, mass + 2, :, columns] = 1
        weights[10 + point, mass, :, columns] = away[:, None]
    return weights


def _box() -> NDArray[np.float32]:
    """From five points to left, top, right, bottom as distances: the head's outline, in distances of the eyes."""
    weights = np.zeros((4, 10), np.float32)
    x0, y0, x1, y1, x2, y3, y4 = 0, 1, 2, 3, 4, 7, 9
    weights[0, [x2, x0, x1]] = -1, -1.2, 1.2
    weights[1, [y0, y1, x0, x1]] = -0.5, -0.5, -1, 1
    weights[2, [x2, x0, x1]] = 1, -1.2, 1.2
    weights[3, [y3, y4, x0, x1]] = 0.5, 0.5, -0.6, 0.6
    return weights.reshape(4, 10, 1, 1)


def _eyes() -> NDArray[np.float32]:
    """From five points to the distance of the eyes."""
    weights = np.zeros((1, 10, 1, 1), np.float32)
    weights[0, [0, 2]] = [[[-1]], [[1]]]
    return weights


def _anchors(g: _Graph, cells: str, stride: int) -> dict[str, str]:
    def add(operator: str, name: str, *inputs: str, **attributes: Any) -> str:
        return g.add(operator, f"{name}_{stride}", *inputs, **attributes)

    window = add("Conv", "window", cells, g.constant("windows", _windows()), pads=[4, 4, 3, 3])
    at = {name: g.constant(name, [start], np.int64) for name, start in {"from0": 0, "to5": 5, "to15": 15}.items()}
    channel = g.constant("channel", [1], np.int64)
    mass = add("Slice", "mass", window, at["from0"], at["to5"], channel)
    some = add("Add", "some", mass, g.constant("speck", 1e-3))
    moments = add("Slice", "moments", window, at["to5"], at["to15"], channel)
    places = add("Div", "places", moments, add("Concat", "twice_some", some, some, axis=1))
    turns = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]  # all x, then all y -> x and y by turns
    points = add("Gather", "in_turns", places, g.constant("turns", turns, np.int64), axis=1)
    box = add("Conv", "outline", points, g.constant("box", _box()))

    least = add("ReduceMin", "least", mass, axes=[1])
    alike = add("Div", "alike", least, add("ReduceMax", "most", some, axes=[1]))
    nose = add("Gather", "nose", points, g.constant("nose_at", [4, 5], np.int64), axis=1)
    away = add("ReduceMax", "away", add("Abs", "distance", nose), axes=[1])
    none, whole = g.constant("none", 0.0), g.constant("whole", 1.0)
    steep = add("Mul", "steep", add("Sub", "nearness", g.constant("just_beyond", 0.7), away), g.constant("five", 5.0))
    near = add("Clip", "near", steep, none, whole)
    enough = add("Clip", "enough", add("Sub", "beyond_two", least, g.constant("two", 2.0)), none, whole)
    # Two faces in one window are alike too, but far apart for their discs.
    apart = add("Conv", "apart", points, g.constant("eyes", _eyes()))
    expected = add(
        "Mul", "expected", add("Mul", "squared", apart, apart), g.constant(f"per_{stride}", FILL * stride**2)
    )
    larger = add("Max", "larger", least, add("Add", "expected_some", expected, g.constant("speck", 1e-3)))
    fits = add("Div", "fits", add("Min", "smaller", least, expected), larger)
    good = add("Min", "good", alike, fits)
    score = add("Mul", "likely", add("Mul", "good_and_near", good, near), enough)
    second = add("Mul", "second", score, none)
    return {
        what: _flat(g, add("Concat", f"{what}_of_both", *both, axis=1), f"{what}_{stride}", width)
        for what, both, width in (
            ("score", (score, second), 1),
            ("box", (box, box), 4),
            ("points", (points, points), 10),
        )
    }


def _flat(g: _Graph, name: str, output: str, width: int) -> str:
    """[1, 2 · width, rows, columns] -> [anchors, width], both anchors of a cell one after the other."""
    last = g.add("Transpose", f"{output}_last", name, perm=[0, 2, 3, 1])
    return g.add("Reshape", output, last, g.constant(f"by_{width}", [-1, width], np.int64))


def attributes_graph(*, outputs: int = 1) -> onnx.ModelProto:
    """The graph in FairFace's shape: 18 logits in one output, or race, gender and age in three."""
    from onnx import TensorProto, helper

    g = _Graph()
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    logits = {}
    for attribute in ("race", "gender", "age"):
        x, y = PATCHES[attribute]
        start, stop = [int(y - PATCH / 2), int(x - PATCH / 2)], [int(y + PATCH / 2), int(x + PATCH / 2)]
        corners = (g.constant(f"{attribute}_{name}", at, np.int64) for name, at in (("start", start), ("stop", stop)))
        patch = g.add("Slice", f"{attribute}_patch", "input", *corners, g.constant("plane", [2, 3], np.int64))
        colour = g.add("ReduceMean", f"{attribute}_colour", patch, axes=[2, 3], keepdims=0)
        codes = np.array(CODES[attribute]) / 255 - mean  # what the chip's normalisation takes off
        weights = g.constant(f"{attribute}_codes", 2 * SHARPNESS * (codes * std).T)
        lengths = g.constant(f"{attribute}_lengths", -SHARPNESS * (codes**2).sum(1))
        logits[attribute] = g.add("Gemm", attribute, colour, weights, lengths)
    if outputs == 1:
        logits = {"logits": g.add("Concat", "logits", *logits.values(), axis=1)}
    widths = {attribute: len(codes) for attribute, codes in CODES.items()} | {"logits": 18}
    chips = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", 3, 224, 224])
    told = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", widths[name]]) for name in logits.values()]
    return g.model("control attributes", [chips], told)


def build(folder: Path = FOLDER) -> None:
    """Write both graphs, laid out as weights are (see `fairgate/providers/faces/weights.py`)."""
    for path, model in (
        (folder / "detection" / "scrfd.onnx", detection_graph()),
        (folder / "fairface" / "fairface.onnx", attributes_graph()),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model.SerializeToString(deterministic=True))


if __name__ == "__main__":
    build()
