"""Profiles of the three hottest paths, drawn as flames: where the time goes, by py-spy's samples.

``python -m benchmarks.flames`` draws all, and keeps the shares of functions; ``python -m
benchmarks.flames --run chain`` is one of them as a program, for other profilers.
"""

from __future__ import annotations

import argparse
import html
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.machine import ROOT

PICTURES = ROOT / "docs" / "_static" / "benchmarks"
KEPT = ROOT / "benchmarks" / "results" / "flames.json"
WIDTH, HEIGHT, SMALLEST = 760, 17, 0.006
COLORS = {
    "chainrules_tape": "#f2a65a",
    "chainrules_py": "#7fb7e6",
    "chainrules_numpy": "#8fd19e",
    "numpy": "#c9b8ea",
    "benchmarks": "#dfe3e8",
}
"""By the package that a frame is of; what is inside of NumPy's C code belongs to who calls it."""


def _chain() -> Callable[[], Any]:
    from benchmarks import chain

    xs = chain.inputs("same shape")
    return lambda: chain.by_tape(*xs)


def _program(operation: str) -> Callable[[], Any]:
    from benchmarks.programs import OURS, PROGRAMS, engine

    program = next(p for name, p in PROGRAMS.items() if operation in name)
    return engine(OURS, program, program.inputs())


PATHS: dict[str, tuple[str, Callable[[], Callable[[], Any]]]] = {
    "chain": ("a deep chain of small operations", _chain),
    "perceptron": ("a perceptron: options, broadcasts, arguments", lambda: _program("MLP 10")),
    "slices": ("slices out of a long vector", lambda: _program("slices")),
}
"""What is drawn, and what runs meanwhile."""


@dataclass
class Frame:
    """A function on a stack: how often it was seen, and what it called."""

    name: str
    package: str = ""
    count: int = 0
    calls: dict[str, Frame] = field(default_factory=dict)

    def depth(self, least: float) -> int:
        """Count the frames that stand on each other, of those seen at least ``least`` times."""
        seen = [frame for frame in self.calls.values() if frame.count >= least]
        return 1 + max((frame.depth(least) for frame in seen), default=0)


def record(name: str, seconds: float) -> str:
    """Record the stacks that py-spy sees, one per line: their frames and how often."""
    spy = Path(sys.executable).with_name("py-spy")
    found = str(spy) if spy.exists() else shutil.which("py-spy")
    if found is None:
        msg = "py-spy is not installed: pip install py-spy"
        raise ImportError(msg)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw"
        run = [sys.executable, "-m", "benchmarks.flames", "--run", name, "--seconds", str(seconds)]
        subprocess.run(
            [found, "record", "--rate", "500", "--format", "raw", "--output", str(raw), "--", *run],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        return raw.read_text(encoding="utf-8")


def parsed(text: str, below: str) -> Frame:
    """Parse the stacks into a tree, from the function ``below`` on; lines of one function join."""
    root = Frame("all")
    for line in text.splitlines():
        stack, _, number = line.rpartition(" ")
        frames = stack.split(";")
        names = [frame.partition(" (")[0] for frame in frames]
        if below not in names:
            continue
        count, at = int(number), root
        root.count += count
        for name, frame in list(zip(names, frames, strict=True))[names.index(below) + 1 :]:
            package = frame.partition(" (")[2].partition("/")[0]
            at = at.calls.setdefault(f"{name} {package}", Frame(name, package))
            at.count += count
    return root


def shares(root: Frame) -> dict[str, float]:
    """Return the share of time of each function, largest first; callees are not counted."""
    found: dict[str, float] = {}

    def walk(frame: Frame) -> None:
        own = frame.count - sum(c.count for c in frame.calls.values())
        label = f"{frame.package}: {frame.name}"
        found[label] = found.get(label, 0.0) + own / max(1, root.count)
        for call in frame.calls.values():
            walk(call)

    for call in root.calls.values():
        walk(call)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def packages(own: dict[str, float], package: str) -> float:
    """Sum up the shares of time that a package's functions take themselves."""
    return sum(share for label, share in own.items() if label.startswith(f"{package}: "))


def svg(root: Frame, title: str) -> str:
    """Draw the tree as a picture: the wider, the more time; callers stand above what they call."""
    height = (root.depth(SMALLEST * root.count) - 1) * HEIGHT + 50
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif"',
        f' font-size="10.5" viewBox="0 0 {WIDTH} {height}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="6" y="16" font-size="13" fill="#1d2733">{html.escape(title)}</text>',
    ]
    x = 6
    for package, color in COLORS.items():
        lines.append(f'<rect x="{x}" y="25" width="10" height="10" fill="{color}"/>')
        lines.append(f'<text x="{x + 14}" y="34" fill="#4a5663">{package}</text>')
        x += 40 + 6 * len(package)
    lines += _drawn(root, 0.0, 0, root.count)
    return "\n".join([*lines, "</svg>", ""])


def _drawn(frame: Frame, x: float, level: int, total: int) -> Iterator[str]:
    for call in sorted(frame.calls.values(), key=lambda c: (-c.count, c.name)):
        share = call.count / total
        if share < SMALLEST:
            continue
        y, width = 44 + level * HEIGHT, WIDTH * share
        color = COLORS.get(call.package, "#eceff2")
        name = call.name.replace(".<locals>", "")
        said = html.escape(f"{call.package}: {name}, {share:.1%}")
        yield (
            f'<g><title>{said}</title><rect x="{WIDTH * x:.1f}" y="{y}" width="{width:.1f}" '
            f'height="{HEIGHT - 1}" fill="{color}" stroke="#ffffff" stroke-width="0.5"/>'
        )
        room = int(width / 6.4)
        if room >= 4:
            shown = name if len(name) <= room else name[: room - 1] + "…"
            shown = html.escape(shown)
            yield f'<text x="{WIDTH * x + 3:.1f}" y="{y + 12}" fill="#1d2733">{shown}</text>'
        yield "</g>"
        yield from _drawn(call, x, level + 1, total)
        x += share


def measured_body(run: Callable[[], Any], seconds: float) -> None:
    """Run nothing but calls for so many seconds: the profile is of this function."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(10):
            run()


def main(arguments: list[str] | None = None) -> int:
    """Draw, or run what is drawn."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flames", description=__doc__)
    parser.add_argument("--run", choices=tuple(PATHS), help="run one of them, and draw nothing")
    parser.add_argument("--seconds", type=float, default=8.0)
    given = parser.parse_args(arguments)
    if given.run:
        run = PATHS[given.run][1]()
        run()
        measured_body(run, given.seconds)
        return 0
    if reason := machine.noise():
        parser.error(reason)
    PICTURES.mkdir(parents=True, exist_ok=True)
    kept: dict[str, Any] = {**machine.describe(), "paths": {}}
    for name, (title, _) in PATHS.items():
        root = parsed(record(name, given.seconds), measured_body.__name__)
        (PICTURES / f"flame-{name}.svg").write_text(svg(root, title), encoding="utf-8")
        own = shares(root)
        kept["paths"][name] = {
            "title": title,
            "packages": {package: round(packages(own, package), 3) for package in COLORS},
            "functions": {label: round(share, 3) for label, share in list(own.items())[:15]},
        }
        print(f"\n{title}\n" + "-" * len(title))
        for label, share in list(own.items())[:15]:
            print(f"{share:6.1%}  {label}")
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    KEPT.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
