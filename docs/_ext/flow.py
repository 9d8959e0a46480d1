"""Draws the first picture, ``_static/flow.svg``, from what the packages of the project announce.

``python docs/_ext/flow.py`` writes it. It is as narrow as a telephone, where it can be read.
"""

from __future__ import annotations

import sys
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "_static" / "flow.svg"
# In the order in which they are drawn; one that is missing is an error.
LABELS = {
    "tape": "our tape",
    "numpy": "NumPy",
    "scipy": "SciPy",
    "torch": "PyTorch",
    "jax": "JAX",
    "cupy": "CuPy",
    "dask": "Dask",
    "mlx": "MLX",
    "pandas": "pandas",
    "autograd": "autograd",
    "mygrad": "MyGrad",
    "pytensor": "PyTensor",
    "thunder": "Thunder",
    "tinygrad": "tinygrad",
    "array_api_strict": "array-api-strict",
    "c": "C programs",
}
# autograd brings an engine and no arrays; the arrays of JAX are of two modules.
NO_ARRAYS = {"autograd", "jaxlib"}
STATEMENT = ("scalar_rule(sin,", "    lambda y, x: cos(x),", '    complex="holomorphic")')
WIDTH, MARGIN, GAP, HEIGHT, PER_ROW = 480, 20, 8, 30, 4
BLUE, VIOLET = ("#eef3fb", "#7f9cc9", "#1f2a3d"), ("#f6eefb", "#a583c4", "#2c1d3a")
GREY = "#5b6472"


def announced() -> tuple[list[str], list[str]]:
    """The array libraries and the engines, as they are called; people's own come last."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    points = groups["entry-points"]
    libraries = [key for key in points["chainrules_py.backends"] if key not in NO_ARRAYS]
    libraries.sort(key=[*LABELS].index)
    first = [*points["chainrules_py.engines"]]
    others = sorted(points["chainrules_py.exporters"], key=[*LABELS].index)
    writers = ["compiled NumPy", *[LABELS[key] for key in points["chainrules_py.writers"]]]
    return (
        [*[LABELS[key] for key in libraries], "yours"],
        [*[LABELS[key] for key in first], *writers, *[LABELS[key] for key in others], "yours"],
    )


def chips(names: list[str], top: float, colours: tuple[str, str, str]) -> tuple[list[str], float]:
    """Boxes in rows, and where they end."""
    fill, stroke, ink = colours
    width = (WIDTH - 2 * MARGIN - (PER_ROW - 1) * GAP) / PER_ROW
    parts = []
    for index, name in enumerate(names):
        row, column = divmod(index, PER_ROW)
        column += (PER_ROW - min(PER_ROW, len(names) - row * PER_ROW)) / 2
        x, y = MARGIN + column * (width + GAP), top + row * (HEIGHT + GAP)
        size = 13 if len(name) < 13 else 11.5
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{HEIGHT}" rx="6" fill="{fill}" '
            f'stroke="{stroke}"/>'
            f'<text x="{x + width / 2:g}" y="{y + 20:g}" font-size="{size}" '
            f'fill="{ink}" '
            f'text-anchor="middle">{escape(name)}</text>'
        )
    rows = -(-len(names) // PER_ROW)
    return parts, top + rows * (HEIGHT + GAP) - GAP


def middle(text: str, y: float, size: int = 13, fill: str = GREY, weight: str = "normal") -> str:
    """A centred line."""
    return (
        f'<text x="{WIDTH / 2:g}" y="{y:g}" font-size="{size}" fill="{fill}" '
        f'font-weight="{weight}" text-anchor="middle">{escape(text)}</text>'
    )


def box(top: float, height: float, fill: str, stroke: str) -> str:
    """A box as wide as the picture."""
    return (
        f'<rect x="{MARGIN}" y="{top:g}" width="{WIDTH - 2 * MARGIN}" height="{height:g}" rx="8" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )


def arrow(start: float, end: float) -> str:
    """An arrow down the middle."""
    return (
        f'<path d="M{WIDTH / 2:g} {start:g} V{end:g}" stroke="{GREY}" stroke-width="1.6" '
        'fill="none" marker-end="url(#a)"/>'
    )


def drawn() -> str:
    """The picture."""
    libraries, engines = announced()
    parts = [middle("Any array library computes the operations", 30)]
    boxes, y = chips(libraries, 42, BLUE)
    parts += [*boxes, arrow(y + 6, y + 26)]
    top = y + 30
    parts += [
        box(top, 116, "#fdf6e6", "#c9a24a"),
        middle("One rule per function", top + 22, 14, "#3a2f12", "bold"),
        *[
            f'<text x="{WIDTH / 2 - 96:g}" y="{top + 44 + 19 * i:g}" font-size="13" '
            'xml:space="preserve" font-family="ui-monospace, \'DejaVu Sans Mono\', monospace" '
            f'fill="#3a2f12">{escape(line)}</text>'
            for i, line in enumerate(STATEMENT)
        ],
        middle("its value, and one linear map per operand", top + 105, 12, "#7a6a3a"),
        arrow(top + 118, top + 138),
    ]
    top += 142
    parts += [
        box(top, 52, "#eef7ef", "#6da878"),
        middle("both modes, zeros, projection, any order", top + 22, 13, "#1d3a24"),
        middle("found by the types of the arguments", top + 41, 12, "#1d3a24"),
        arrow(top + 54, top + 74),
    ]
    top += 94
    parts.append(middle("Any engine uses the rule", top))
    boxes, y = chips(engines, top + 12, VIOLET)
    parts += boxes
    height = y + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH}" height="{height:g}" role="img" aria-labelledby="t d" '
        "font-family=\"ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif\">\n"
        '<title id="t">One rule between the array libraries and the engines</title>\n'
        '<desc id="d">A rule is stated once in neutral operations. Array libraries carry out the '
        "operations; the machinery derives both modes; engines ask for what they need.</desc>\n"
        '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{GREY}"/></marker>'
        "</defs>\n"
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{height - 2:g}" rx="12" fill="#ffffff" '
        'stroke="#d5d9e0"/>'
    )
    return "\n".join([head, *parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
    sys.stdout.write(f"Wrote {PICTURE.relative_to(ROOT)}.\n")
