"""Draws how time and memory grow from the last measurement that is kept, for the documentation.

``python -m benchmarks.pictures`` writes them into ``docs/_static/benchmarks``. The same measurement
gives the same bytes.
"""

from __future__ import annotations

import argparse
import math
import sys
from html import escape
from pathlib import Path
from typing import Any

from benchmarks import keeping
from benchmarks.machine import ROOT
from benchmarks.programs import OURS

PICTURES = ROOT / "docs" / "_static" / "benchmarks"
STYLES: dict[str, dict[str, Any]] = {
    "NumPy by hand": {"color": "#66737f", "linestyle": "--", "marker": "s"},
    OURS: {"color": "#1262b3", "linewidth": 2.6, "marker": "o", "zorder": 3},
    "autograd": {"color": "#d1782a", "marker": "^"},
    "MyGrad": {"color": "#3c9a5f", "marker": "v"},
    "PyTorch, 1 thread": {"color": "#b8433a", "marker": "D"},
}
TITLES = {
    "operations": ("Operations of a chain, arrays of length 4", "operations"),
    "elements": ("Elements of an array, 30 operations", "elements"),
    "parameters": ("Arrays that are differentiated in, of length 8", "parameters"),
    "workers": ("Threads that share the blocks of 40 000 × 200 numbers", "threads"),
}


def draw(scaling: dict[str, Any], into: Path = PICTURES) -> list[Path]:
    """Draw one picture for each thing that grows: time, and memory where it was measured."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    into.mkdir(parents=True, exist_ok=True)
    written = []
    settings = {"svg.hashsalt": "chainrules_py", "svg.fonttype": "path", "font.size": 9}
    with mpl.rc_context(settings):
        for name, found in scaling.items():
            engines = found["engines"].values()
            kinds = [kind for kind in ("seconds", "bytes") if any(kind in e for e in engines)]
            figure = Figure(figsize=(4.6 * len(kinds), 3.4), layout="constrained")
            FigureCanvasSVG(figure)
            title, label = TITLES[name]
            figure.suptitle(title, fontsize=10)
            panels = figure.subplots(1, len(kinds), squeeze=False)[0]
            for panel, kind in zip(panels, kinds, strict=True):
                _panel(panel, found, kind, workers=name == "workers")
                panel.set_xlabel(label)
            panels[0].legend(fontsize=8, frameon=False)
            path = into / f"scaling-{name}.svg"
            figure.savefig(path, metadata={"Date": None})
            written.append(path)
    return written


SUMMARY = "summary.svg"
"""The picture of the README."""
IN_SUMMARY = (
    "chain of 1000 operations, length 4",
    "LSTM 200 steps, hidden 32",
    "ADBench BA, 12 cameras, 800 observations",
    "Cholesky log-likelihood n = 500",
    "chain of 300 operations, length 10000",
)
"""Small and large, loops and matrices; the last is one that others lead."""
DOTS = {
    OURS: "#1262b3",
    "autograd": "#d1782a",
    "MyGrad": "#3c9a5f",
    "PyTorch, 1 thread": "#b8433a",
    "JAX, jit": "#7a5aa6",
}
WIDE, SIDE, ROW, TOP = 480, 24, 50, 84
TICKS = (0.05, 0.1, 0.5, 1, 2, 5, 10, 20)


def summary(found: dict[str, Any]) -> str:
    """Draw five of the programs, a dot for each engine, relative to hand-written NumPy.

    It is as narrow as a telephone. The same measurement gives the same text.
    """

    def at(ratio: float) -> float:
        low, high = math.log(TICKS[0] * 0.8), math.log(TICKS[-1] * 1.1)
        return SIDE + (WIDE - 2 * SIDE) * (math.log(ratio) - low) / (high - low)

    bottom = TOP + ROW * len(IN_SUMMARY)
    height = bottom + 58
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {height}" width="{WIDE}" '
            f'height="{height}" role="img" aria-labelledby="t" '
            "font-family=\"ui-sans-serif, system-ui, 'DejaVu Sans', sans-serif\">"
        ),
        '<title id="t">Value and gradient relative to hand-written NumPy; lower is better</title>',
        (
            f'<rect x="1" y="1" width="{WIDE - 2}" height="{height - 2}" rx="12" fill="#ffffff" '
            'stroke="#d5d9e0"/>'
        ),
        _text(SIDE, 26, "Value and gradient, relative to hand-written NumPy", 14, "#1f2a3d"),
    ]
    x = float(SIDE)
    for name, colour in DOTS.items():
        shown = {OURS: "chainrules_py", "PyTorch, 1 thread": "PyTorch"}.get(name, name)
        parts.append(f'<circle cx="{x + 6:.1f}" cy="45" r="6" fill="{colour}"/>')
        parts.append(_text(x + 17, 49, shown, 13, "#1f2a3d"))
        x += 36 + 7.1 * len(shown)
    for tick in TICKS:
        colour = "#66737f" if tick == 1 else "#e1e5ea"
        rows = (TOP + ROW * row for row in range(len(IN_SUMMARY)))
        path = " ".join(f"M{at(tick):.1f} {y + 5} V{y + 30}" for y in rows)
        parts.append(f'<path d="{path}" stroke="{colour}"/>')
        parts.append(_text(at(tick), bottom + 16, f"{tick:g}", 12, "#5b6472", "middle"))
    for row, name in enumerate(IN_SUMMARY):
        y = TOP + ROW * row
        parts.append(_text(SIDE, y, name, 13, "#1f2a3d"))
        for by, colour in DOTS.items():  # ours below: a peer that is as fast is seen in it
            entries = found["programs"][name]
            kinds = ("JAX, jit", "JAX, jit, scan") if by == "JAX, jit" else (by,)
            ratios = [r for kind in kinds if (r := entries.get(kind, {}).get("ratio"))]
            if ratios:
                radius = 8 if by == OURS else 5
                parts.append(
                    f'<circle cx="{at(min(ratios)):.1f}" cy="{y + 17}" r="{radius}" '
                    f'fill="{colour}" stroke="#ffffff"/>'
                )
    parts.append(_text(SIDE, bottom + 34, "← faster", 12, "#5b6472"))
    told = f"{found['date']}, {found['machine']['processor']}; NumPy and PyTorch on one thread"
    parts.append(_text(SIDE, bottom + 50, told, 12, "#5b6472"))
    parts.append(_text(WIDE - SIDE, bottom + 34, "slower →", 12, "#5b6472", "end"))
    return "\n".join([*parts, "</svg>", ""])


def _text(
    x: float,
    y: float,
    text: str,
    size: int,
    fill: str,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def summarise(found: dict[str, Any]) -> Path:
    """Write the picture of the README."""
    path = PICTURES / SUMMARY
    path.write_text(summary(found), encoding="utf-8")
    return path


def _panel(panel: Any, found: dict[str, Any], kind: str, *, workers: bool) -> None:
    for by, kept in found["engines"].items():
        points = [(x, y) for x, y in zip(found["sizes"], kept.get(kind, []), strict=True) if y]
        if points:
            xs, ys = zip(*points, strict=True)
            ys = [ys[0] / y for y in ys] if workers else ys
            panel.plot(xs, ys, label=by, markersize=4, **STYLES.get(by, {}))
    if workers:
        panel.plot(
            found["sizes"], found["sizes"], color="#c4ccd4", linestyle=":", label="one per thread"
        )
        panel.set_xticks(found["sizes"])
        panel.set_ylabel("times as fast as one thread")
    else:
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_ylabel("seconds per gradient" if kind == "seconds" else "bytes at the peak")
    panel.grid(visible=True, color="#e6eaee", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def main(arguments: list[str] | None = None) -> int:
    """Draw them all."""
    argparse.ArgumentParser(prog="python -m benchmarks.pictures", description=__doc__).parse_args(
        arguments
    )
    found = keeping.latest()
    for path in [summarise(found), *draw(found["scaling"])]:
        print(f"Wrote {path.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
