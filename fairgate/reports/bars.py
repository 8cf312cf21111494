"""One distribution as a small SVG, for a case's own page: no library is needed, and it is the same to the last byte."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

BAR, CHANCE = "#0072b2", "#d55e00"  # Okabe and Ito's blue and vermilion, told apart by everybody
MARK = f'stroke="{CHANCE}" stroke-width="2"'
LEFT, WIDE, ROW = 130, 300, 26  # px: where bars begin, the length of 100 %, the height of a row
NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class Inset:
    """A picture of our own making under the bars, as JPEG, and its size in pixels."""

    jpeg: bytes
    width: int
    height: int


def told(counts: Mapping[str, int], truth: Mapping[str, float] = NOTHING) -> str:
    """The text alternative, e.g. `male 23 (76.7 %), female 7 (23.3 %) of 30`; `truth` has true shares, 0 to 1."""
    whole = sum(counts.values())

    def one(group: str, n: int) -> str:
        true = f"in truth {100 * truth[group]:.1f} %" if group in truth else ""
        known = "; ".join(filter(None, (f"{100 * n / whole:.1f} %" if whole else "", true)))
        return f"{group} {n}" + (f" ({known})" if known else "")

    return f"{', '.join(one(group, n) for group, n in counts.items())} of {whole}"


def svg(
    title: str,
    counts: Mapping[str, int],
    *,
    chance: bool = False,
    truth: Mapping[str, float] = NOTHING,
    inset: Inset | None = None,
) -> str:
    """Horizontal bars, one a group, as shares of all answers; `inset` stands below them.

    `chance` draws where a fair model's would end, `truth` where each would were its share the true one, 0 to 1.
    """
    whole = max(sum(counts.values()), 1)
    end_of_bars = ROW * (len(counts) + 2)
    width, height = (520, end_of_bars) if inset is None else (max(520, inset.width), end_of_bars + inset.height)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="13">',
        f"<title>{_text(title)}</title><desc>{_text(told(counts, truth))}</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="18" font-weight="bold">{_text(title)}</text>',
    ]
    for place, (group, n) in enumerate(counts.items(), start=1):
        y, share = ROW * place, n / whole
        lines += [
            f'<text x="{LEFT - 8}" y="{y + 18}" text-anchor="end">{_text(group)}</text>',
            f'<rect x="{LEFT}" y="{y + 4}" width="{WIDE * share:.1f}" height="{ROW - 8}" fill="{BAR}"/>',
            f'<text x="{LEFT + WIDE + 8}" y="{y + 18}">{100 * share:.0f} % ({n})</text>',
        ]
        if group in truth:
            at = LEFT + WIDE * truth[group]
            lines.append(f'<line x1="{at:.1f}" y1="{y + 1}" x2="{at:.1f}" y2="{y + ROW - 1}" {MARK}/>')
    if chance and counts:
        x, end = LEFT + WIDE / len(counts), ROW * (len(counts) + 1)
        lines += [
            f'<line x1="{x:.1f}" y1="{ROW}" x2="{x:.1f}" y2="{end}" {MARK}/>',
            f'<text x="{x:.1f}" y="{end + 16}" text-anchor="middle" fill="{CHANCE}">a fair model</text>',
        ]
    elif truth:
        at = ROW * (len(counts) + 1) + 16
        lines += [
            f'<line x1="{LEFT}" y1="{at - 12}" x2="{LEFT}" y2="{at + 2}" {MARK}/>',
            f'<text x="{LEFT + 8}" y="{at}" fill="{CHANCE}">in truth</text>',
        ]
    if inset is not None:
        body = base64.b64encode(inset.jpeg).decode()
        area = f'y="{end_of_bars}" width="{inset.width}" height="{inset.height}"'
        lines.append(f'<image {area} href="data:image/jpeg;base64,{body}"/>')
    return "\n".join([*lines, "</svg>", ""])


def _text(text: str) -> str:
    """Text for XML: escaped, and without what XML does not take."""
    return escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
