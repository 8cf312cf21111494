"""How plots are drawn: the palette, a canvas without a screen, and pictures that are the same on every run."""

from __future__ import annotations

import io
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fairgate.core.current_folder import apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType
    from typing import Any

    from fairgate.benchmarks.plot_spec import Sketch

# Okabe and Ito's palette, which every kind of colour vision tells apart; Source: Color Universal Design (2008).
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")
HATCHES = ("", "//", "..", "xx", "--", "||", "++", "oo")  # groups differ without colour too
OWN, OTHERS, BEST, FAINT = "#d55e00", "#0072b2", "#009e73", "#777777"
MARKERS = ("s", "^", "v", "D", "P", "X", "<", ">", "*", "h")
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: small files that can be searched and read aloud
    "svg.hashsalt": "fairgate",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # a name with dollar signs is a name
}


@dataclass(frozen=True)
class Plot:
    """A picture by its file's name, and its text alternative.

    `svg` and `png` are empty where matplotlib is not installed. A contact sheet is of pixels: it has no `svg`.
    """

    name: str
    title: str
    alt: str
    svg: bytes = b""
    png: bytes = b""


def has_matplotlib() -> bool:
    """Whether pictures can be drawn at all: matplotlib is an extra."""
    from importlib.util import find_spec

    return find_spec("matplotlib") is not None


def has_pillow() -> bool:
    """Whether contact sheets can be drawn: Pillow is an extra."""
    from importlib.util import find_spec

    return find_spec("PIL") is not None


def drawn(sketches: Sequence[Sketch], *, pictures: bool) -> Iterator[Plot]:
    """The pictures with their texts, or the texts alone."""
    if not pictures:
        yield from (Plot(each.name, each.title, each.alt) for each in sketches)
        return
    for sketch in sketches:
        with canvas(sketch.size) as figure:
            sketch.draw(figure)
            figure.suptitle(sketch.title, fontsize=11)
            # The layout is found once, not once for each format.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            files = {kind: _saved(figure, kind) for kind in ("svg", "png")}
        yield Plot(sketch.name, sketch.title, sketch.alt, files["svg"], files["png"])


@contextmanager
def canvas(size: tuple[float, float]) -> Iterator[Any]:
    """A figure of its own: nothing global, no window, and no style but ours. Needs matplotlib."""
    mpl = _matplotlib()
    from matplotlib.figure import Figure

    # A group's name in a script that the font lacks is drawn as boxes: the text alternative has it.
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield Figure(figsize=size, layout="constrained")


def _matplotlib() -> ModuleType:
    """matplotlib, imported where no settings lie: it evaluates those of the current folder."""
    if "matplotlib" in sys.modules or not Path("matplotlibrc").exists():
        return import_module("matplotlib")
    with apart():
        return import_module("matplotlib")


def _saved(figure: Any, kind: str) -> bytes:
    # Neither the time nor the version of the library: the same report gives the same bytes.
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata, dpi=120)
    return buffer.getvalue()
