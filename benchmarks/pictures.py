"""Draws how time and memory grow from the last measurement that is kept, for the documentation.

``python -m benchmarks.pictures`` writes them into ``docs/_static/benchmarks``. The same measurement
gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
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
    for path in draw(keeping.latest()["scaling"]):
        print(f"Wrote {path.relative_to(ROOT)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
