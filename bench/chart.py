"""Draw a bar chart as SVG without a library: groups of bars, one colour per engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_COLOURS = ("#5b8ff9", "#f6bd16", "#5ad8a6", "#e8684a", "#9270ca", "#6dc8ec", "#ff9d4d")
_BAR, _GAP, _HEIGHT, _LEFT, _TOP = 26, 34, 300, 70, 56


def bar_chart(
    title: str, groups: Mapping[str, Mapping[str, float]], unit: str, names: Sequence[str]
) -> str:
    """Return a chart with a group of bars per workload; an engine without a figure leaves a gap."""
    top = max((value for bars in groups.values() for value in bars.values()), default=1.0) or 1.0
    width = _LEFT + len(groups) * (len(names) * _BAR + _GAP) + 20
    size = f'width="{width}" height="{_HEIGHT + 110}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="15">{escape(title)}</text>',
        *_legend(names),
        *_scale(top, unit, width),
    ]
    for place, (group, bars) in enumerate(groups.items()):
        left = _LEFT + _GAP / 2 + place * (len(names) * _BAR + _GAP)
        parts += _group(group, bars, names, left, top)
    return "\n".join([*parts, "</svg>"])


def _legend(names: Sequence[str]) -> list[str]:
    parts, at = [], _LEFT
    for number, name in enumerate(names):
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f'<rect x="{at}" y="32" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{at + 17}" y="42">{escape(name)}</text>')
        at += 30 + 7 * len(name)
    return parts


def _scale(top: float, unit: str, width: int) -> list[str]:
    parts = [f'<text x="8" y="{_TOP + 4}">{escape(unit)}</text>']
    for quarter in range(5):
        y = _TOP + 10 + _HEIGHT * (4 - quarter) / 4
        parts.append(
            f'<line x1="{_LEFT}" x2="{width - 10}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_short(top * quarter / 4)}'
            "</text>"
        )
    return parts


def _group(
    group: str, bars: Mapping[str, float], names: Sequence[str], left: float, top: float
) -> list[str]:
    parts = []
    for number, name in enumerate(names):
        value = bars.get(name)
        if value is None:
            continue
        height = _HEIGHT * value / top
        x, y = left + number * _BAR, _TOP + 10 + _HEIGHT - height
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{_BAR - 4}" height="{height:.1f}"'
            f' fill="{colour}"><title>{escape(name)}: {_short(value)}</title></rect>'
        )
        parts.append(
            f'<text x="{x + (_BAR - 4) / 2:.1f}" y="{y - 4:.1f}" text-anchor="middle"'
            f' font-size="9">{_short(value)}</text>'
        )
    middle = left + len(names) * _BAR / 2
    base = _TOP + _HEIGHT + 30
    parts.append(f'<text x="{middle:.1f}" y="{base}" text-anchor="middle">{escape(group)}</text>')
    return parts


def _short(value: float) -> str:
    if value < 100:
        # Values this small are ratios or seconds.
        return f"{value:.2g}"
    return f"{value / 1000:.0f}k" if value >= 10_000 else f"{value:,.0f}"
