"""Plots as plain SVG files, drawn by hand; colours follow light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH = 640
LEFT, RIGHT, TOP, ROW = 150, 90, 34, 24
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #333 }
.title { font-weight: 600; font-size: 13px }
.bar, .dot { fill: #9aa5b1 } .ours { fill: #2f6fde }
.line { fill: none; stroke: #9aa5b1; stroke-width: 1.5 } .line.ours { stroke: #2f6fde; fill: none }
.grid { stroke: #ddd }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .grid { stroke: #444 } }
</style>"""
OURS = "bythebook"


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}">\n{STYLE}\n'
        f'<text class="title" x="8" y="18">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _kind(name: str, kind: str) -> str:
    return f"{kind} ours" if name == OURS else kind


def bars(title: str, values: Mapping[str, float], unit: str) -> str:
    """One bar a peer, from zero; shorter is better."""
    most = max(values.values())
    parts: list[str] = []
    for row, (name, value) in enumerate(values.items()):
        y = TOP + row * ROW
        width = (WIDTH - LEFT - RIGHT) * value / most
        parts.append(_text(LEFT - 8, y + 14, name, "end"))
        parts.append(
            f'<rect class="{_kind(name, "bar")}" x="{LEFT}" y="{y + 3}" width="{width:.1f}" '
            f'height="{ROW - 8}" rx="2"/>'
        )
        parts.append(_text(LEFT + width + 6, y + 14, f"{value:.3g} {unit}"))
    return _svg(title, TOP + len(values) * ROW + 8, parts)


def curves(title: str, series: Mapping[str, Sequence[tuple[float, float]]], unit: str) -> str:
    """Both axes logarithmic: a straight line up by one for one right is growth in proportion."""
    points = [point for line in series.values() for point in line]
    low_x, high_x = (log10(pick(x for x, _ in points)) for pick in (min, max))
    low_y, high_y = floor(log10(min(y for _, y in points))), ceil(log10(max(y for _, y in points)))
    height, left, right, bottom = 340, 70, 150, 36

    def across(value: float) -> float:
        return left + (WIDTH - left - right) * (log10(value) - low_x) / (high_x - low_x)

    def up(value: float) -> float:
        return height - bottom - (height - bottom - TOP) * (log10(value) - low_y) / (high_y - low_y)

    parts: list[str] = []
    for power in range(low_y, high_y + 1):
        y = up(10.0**power)
        parts.append(
            f'<line class="grid" x1="{left}" x2="{WIDTH - right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(left - 6, y + 4, f"{10.0**power:g} {unit}", "end"))
    for value in sorted({x for x, _ in points}):
        parts.append(_text(across(value), height - 14, f"{value:,.0f}", "middle"))
    # Names stand beside the ends of their lines, pushed apart where they would overlap.
    ends = sorted((up(line[-1][1]), name) for name, line in series.items())
    free = 0.0
    for y, name in ends:
        free = max(y, free + 13)
        parts.append(_text(WIDTH - right + 8, free + 4, name))
    for name, line in series.items():
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in line)
        parts.append(f'<polyline class="{_kind(name, "line")}" points="{path}"/>')
        parts += [
            f'<circle class="{_kind(name, "dot")}" cx="{across(x):.1f}" cy="{up(y):.1f}" r="3"/>'
            for x, y in line
        ]
    return _svg(title, height, parts)
