"""Heat map of the difference of two matrices, as a self-contained SVG."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

_MOST = 32  # cells along a side; in a larger matrix, one cell covers several entries


def heat_map(
    have: Any, want: Any, excess: Any, rows: Sequence[str], columns: Sequence[str], title: str
) -> str:
    """Draw where a matrix differs from another: red where it is larger, blue where it is smaller.

    Parameters
    ----------
    have, want : matrix
        The two matrices; the tooltip of a cell shows an entry of both.
    excess : matrix
        The difference as a multiple of the allowed one: cells where it is at most 1 are white.
    rows, columns : sequence of str
        The labels of the rows and columns.
    title : str
        The title of the map.
    """
    with np.errstate(all="ignore"):
        apart = np.where(excess > 1.0, have - want, 0.0)
    largest = float(np.max(np.abs(apart), initial=0.0, where=np.isfinite(apart)))
    down, across = (np.array_split(np.arange(n), max(1, min(n, _MOST))) for n in have.shape)
    side = max(12.0, min(28.0, 480.0 / max(len(down), len(across))))
    left = 14.0 + 6.5 * max(map(len, rows), default=0)
    top = 40.0 + 4.6 * max(map(len, columns), default=0)
    legend = f"red: up to {largest:.3g}, blue: down to -{largest:.3g}, white: as allowed"
    drawn = [_text(4, 14, title), _text(4, 28, legend if np.any(apart) else "no difference")]
    for i, js in enumerate(across[:: 1 + len(across) // 16]):
        x = left + (i * (1 + len(across) // 16) + 0.6) * side
        drawn.append(
            _text(x, top - 4, columns[int(js[0])], f'transform="rotate(-45 {x} {top - 4})"')
        )
    for n, ks in enumerate(down):
        y = top + n * side
        if n % (1 + len(down) // 16) == 0:
            drawn.append(_text(left - 4, y + side / 2 + 4, rows[int(ks[0])], 'text-anchor="end"'))
        for i, js in enumerate(across):
            block = excess[np.ix_(ks, js)]
            a, b = np.unravel_index(np.argmax(block), block.shape)
            k, j = ks[a], js[b]
            told = f"{rows[k]} in {columns[j]}: {have[k, j]:.6g}, and {want[k, j]:.6g}"
            drawn.append(
                f'<rect x="{left + i * side:.1f}" y="{y:.1f}" width="{side:.1f}" height='
                f'"{side:.1f}" fill="{_shade(float(apart[k, j]), largest)}" stroke="#bbb">'
                f"<title>{html.escape(told)}</title></rect>"
            )
    width, height = max(left + len(across) * side + top / 2, 360.0), top + len(down) * side + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="11">{"".join(drawn)}</svg>'
    )


def _shade(x: float, largest: float) -> str:
    """Return the color of a number between the largest and its negative; black if not finite."""
    if not np.isfinite(x):
        return "#000"
    end = (178, 24, 43) if x > 0 else (33, 102, 172)
    part = 0.15 + 0.85 * abs(x) / largest if x else 0.0
    return "#" + "".join([f"{round(255 + part * (c - 255)):02x}" for c in end])


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor" {more}>{html.escape(text)}</text>'
