"""Plots as SVG text: points with intervals, joined into lines. Standard library only, and the same input gives the same bytes."""

import math
from html import escape

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 240, 34, 48
COLORS = ("#1f6feb", "#d1480f", "#1a7f37", "#8250df", "#9a6700", "#57606a", "#bf3989", "#0a3069")


def plot(title, x_label, y_label, lines, logarithmic=False):
    """Lines are (name, [(x, y, low, high)...]); an interval of None leaves its bar out."""
    points = [point for _, line in lines for point in line]
    across = [scale(x, logarithmic) for x, _, _, _ in points]
    up = [value for _, y, low, high in points for value in (y, low, high) if value is not None]
    x_range, y_range = padded(across, 0.03), padded(up, 0.06)
    place_x = lambda x: LEFT + (scale(x, logarithmic) - x_range[0]) / (x_range[1] - x_range[0]) * (WIDTH - LEFT - RIGHT)
    place_y = lambda y: HEIGHT - BOTTOM - (y - y_range[0]) / (y_range[1] - y_range[0]) * (HEIGHT - TOP - BOTTOM)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(LEFT, 20, title, "start", 'font-size="14"'),
        text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label),
        text(16, (TOP + HEIGHT - BOTTOM) / 2, y_label, "middle", f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2:.0f})"'),
    ]
    for y in ticks(*y_range):
        out.append(f'<path d="M{LEFT} {place_y(y):.1f}H{WIDTH - RIGHT}" stroke="#d0d7de"/>')
        out.append(text(LEFT - 6, place_y(y) + 4, number(y), "end"))
    for x in logarithmic_ticks(*x_range) if logarithmic else ticks(*x_range):
        out.append(f'<path d="M{place_x(x):.1f} {HEIGHT - BOTTOM}v5" stroke="#57606a"/>')
        out.append(text(place_x(x), HEIGHT - BOTTOM + 18, number(x)))
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#57606a"/>')
    for i, (name, line) in enumerate(lines):
        out += drawn(name, line, i, place_x, place_y)
    return "\n".join([*out, "</svg>", ""])


def drawn(name, line, i, place_x, place_y):
    """One line with its bars, dots and entry in the legend."""
    color = COLORS[i % len(COLORS)]
    out = []
    path = " ".join(f"{'ML'[j > 0]}{place_x(x):.1f} {place_y(y):.1f}" for j, (x, y, _, _) in enumerate(line))
    out.append(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="1.5"/>')
    for x, y, low, high in line:
        if low is not None:
            out.append(f'<path d="M{place_x(x):.1f} {place_y(low):.1f}V{place_y(high):.1f}" stroke="{color}"/>')
        out.append(f'<circle cx="{place_x(x):.1f}" cy="{place_y(y):.1f}" r="3" fill="{color}"/>')
    y = TOP + 10 + 18 * i
    out.append(f'<circle cx="{WIDTH - RIGHT + 16}" cy="{y}" r="4" fill="{color}"/>')
    out.append(text(WIDTH - RIGHT + 26, y + 4, name, "start"))
    return out


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{escape(words)}</text>'.replace(" >", ">")


def scale(x, logarithmic):
    return math.log(x) if logarithmic else x


def padded(values, share):
    """The range of some values with a margin, never empty."""
    low, high = min(values), max(values)
    margin = (high - low) * share or 1.0
    return low - margin, high + margin


def ticks(low, high):
    """Round numbers within a range, four to nine of them."""
    step = 10 ** math.floor(math.log10(high - low))
    while (high - low) / step < 4:
        step /= 2
    first = math.ceil(low / step)
    return [(first + i) * step for i in range(int((high - first * step) / step) + 1)]


def logarithmic_ticks(low, high):
    """1, 2 and 5 times powers of ten within a range of logarithms."""
    powers = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    marks = [digit * 10**power for power in powers for digit in (1, 2, 5)]
    return [mark for mark in marks if low <= math.log(mark) <= high]


def number(value):
    """Without a needless fraction."""
    return f"{value:.6g}"
