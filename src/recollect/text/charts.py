"""Draw small charts as SVG: growth over time as stacked columns, and rows of bars.

The colours follow the reader's theme, dark or light; every figure is there as text too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from ..fast_typing import NamedTuple

WIDTH = 720
_LEFT, _LINE = 220, 22
_MOST_COLUMNS = 60
_COLOURS = (
    *("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2"),
    *("#b279a2", "#eeca3b", "#9d755d", "#ff9da6", "#bab0ac"),
)
_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328; } .t { font-weight: bold; }
.n { fill: #59636e; } .g { stroke: #d1d9e0; } .track { fill: #eaeef2; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .n { fill: #9198a1; } .g { stroke: #3d444d; } .track { fill: #2a313c; }
}"""


class Bar(NamedTuple):
    """One row: a label, its share from 0 to 1, and the figure in words."""

    label: str
    share: float
    figure: str


class Chart(NamedTuple):
    """A part of a picture, and its height."""

    svg: str
    height: int


def draw_bars(title: str, rows: Sequence[Bar]) -> Chart:
    """Return rows of bars under a title."""
    lines = [_text(0, 16, title, "t")]
    room = WIDTH - _LEFT - 160
    for place, row in enumerate(rows):
        y = 28 + place * _LINE
        share = min(max(row.share, 0.0), 1.0)
        lines += [
            _text(0, y + 13, row.label),
            f'<rect class="track" x="{_LEFT}" y="{y + 2}" width="{room}" height="14" rx="2"/>',
            f'<rect x="{_LEFT}" y="{y + 2}" width="{room * share:.1f}" height="14" rx="2" '
            f'fill="{_COLOURS[0]}"/>',
            _text(_LEFT + room + 8, y + 13, row.figure, "n"),
        ]
    if not rows:
        lines.append(_text(0, 41, "nothing to show yet", "n"))
    return Chart("\n".join(lines), 44 + max(len(rows), 1) * _LINE)


def draw_growth(
    title: str, counts: Mapping[str, Mapping[int, int]], labels: Sequence[str]
) -> Chart:
    """Return stacked columns with the running total of each name.

    counts: for each name, the number added in each column
    labels: the names of the columns
    """
    height, top = 160, 28
    totals = {name: sum(parts.values()) for name, parts in counts.items()}
    names = sorted(totals, key=lambda name: (-totals[name], name))
    highest = max(sum(totals.values()), 1)
    wide = (WIDTH - 60) / max(len(labels), 1)
    lines = [_text(0, 16, title, "t"), _text(0, top + 8, str(highest), "n")]
    lines.append(f'<line class="g" x1="44" x2="{WIDTH}" y1="{top + height}" y2="{top + height}"/>')
    reached = dict.fromkeys(names, 0)
    for column in range(len(labels)):
        base = float(top + height)
        for name in names:
            reached[name] += counts[name].get(column, 0)
            tall = height * reached[name] / highest
            base -= tall
            colour = _COLOURS[names.index(name) % len(_COLOURS)]
            lines.append(
                f'<rect x="{48 + column * wide:.1f}" y="{base:.1f}" width="{wide - 1:.1f}" '
                f'height="{tall:.1f}" fill="{colour}"/>'
            )
    if labels:
        lines.append(_text(48, top + height + 18, labels[0], "n"))
        last = _text(WIDTH, top + height + 18, labels[-1], "n")
        lines.append(last.replace("<text ", '<text text-anchor="end" ') if len(labels) > 1 else "")
    for place, name in enumerate(names):
        x, y = 48 + place % 4 * 165, top + height + 40 + place // 4 * _LINE
        colour = _COLOURS[place % len(_COLOURS)]
        lines.append(f'<rect x="{x}" y="{y - 11}" width="12" height="12" fill="{colour}"/>')
        lines.append(_text(x + 18, y, f"{name} {totals[name]}"))
    return Chart("\n".join(lines), top + height + 48 + (len(names) + 3) // 4 * _LINE)


def draw_page(charts: Sequence[Chart]) -> str:
    """Return one SVG with the charts below each other."""
    margin, y, parts = 20, 20, []
    for chart in charts:
        parts.append(f'<g transform="translate({margin} {y})">\n{chart.svg}\n</g>')
        y += chart.height + 12
    width = WIDTH + 2 * margin
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" '
            f'width="{width}" height="{y}" role="img">',
            f"<style>{_STYLE}</style>",
            *parts,
            "</svg>",
            "",
        ]
    )


def bin_days(first: int, last: int) -> tuple[int, int]:
    """Return the days that a column spans, and the number of columns."""
    span = max(last - first + 1, 1)
    step = -(-span // _MOST_COLUMNS)
    return step, -(-span // step)


def _text(x: float, y: float, text: str, name: str = "") -> str:
    named = f' class="{name}"' if name else ""
    return f'<text x="{x:g}" y="{y:g}"{named}>{escape(text)}</text>'
