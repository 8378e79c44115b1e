"""Draws what was measured as SVG, on white so that it reads on a dark page as well."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

COLOURS = ("#1f6feb", "#c2410c", "#15803d")
GREY = "#8c959f"
INK = "#1f2328"
FAINT = "#d8dee4"


def text(x: float, y: float, words: str, anchor: str = "start", fill: str = INK) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"'
    return f"<text {place}>{escape(words)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, colour: str = FAINT) -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}"/>'


def svg(width: int, height: int, parts: Iterable[str]) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    body = "\n".join([f'<rect width="{width}" height="{height}" fill="#fff"/>', *parts])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n{body}\n</svg>\n'


def bars(title: str, values: Mapping[str, float], highlight: str) -> str:
    """A horizontal bar for each value, the longest first, one of them in colour."""
    left, length, step = 265, 400, 24
    scale = length / max(values.values())
    parts = [text(12, 22, title)]
    for row, name in enumerate(sorted(values, key=lambda name: -values[name])):
        y, wide = 38 + row * step, values[name] * scale
        colour = COLOURS[0] if name == highlight else GREY
        parts += [
            text(left - 8, y + 13, name, "end"),
            f'<rect x="{left}" y="{y}" width="{wide:.1f}" height="17" fill="{colour}"/>',
            text(left + wide + 6, y + 13, f"{values[name]:.2f}"),
        ]
    return svg(left + length + 50, 46 + len(values) * step, parts)


class Panel(NamedTuple):
    """Lines over a logarithmic x axis; y begins at 0. Each line is its points, by its name."""

    title: str
    across: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


def round_up(value: float) -> float:
    """The next number that is easy to read off an axis."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * power >= value)


def short(number: float) -> str:
    return f"{number:g}" if number < 1000 else f"{number / 1000:g}k"


def draw(panel: Panel, left: float, top: float, width: float, height: float) -> Iterable[str]:
    points = [point for each in panel.lines.values() for point in each]
    last = max(x for x, _ in points)
    limit = round_up(max(y for _, y in points))

    def place(x: float, y: float) -> tuple[float, float]:
        return left + width * math.log(x) / math.log(last), top + height * (1 - y / limit)

    yield text(left - 40, top - 26, panel.title)
    for part in (0, 0.5, 1):
        _, y = place(1, limit * part)
        yield line(left, y, left + width, y)
        yield text(left - 6, y + 4, f"{limit * part:,g}", "end")
    for x in sorted({x for x, _ in points}):
        yield text(place(x, 0)[0], top + height + 16, short(x), "middle")
    yield text(left + width / 2, top + height + 33, panel.across, "middle", GREY)
    for number, (name, each) in enumerate(panel.lines.items()):
        colour = COLOURS[number]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in each))
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, y in (place(*point) for point in each):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        yield text(left + 10 + number * width / 2, top - 8, name, "start", colour)


def panels(every: Sequence[Panel]) -> str:
    """Two in a row."""
    wide, high = 400, 240
    parts: list[str] = []
    for number, panel in enumerate(every):
        left, top = number % 2 * wide + 62, number // 2 * high + 44
        parts += draw(panel, left, top, wide - 92, high - 96)
    return svg(2 * wide, math.ceil(len(every) / 2) * high, parts)
