"""Storage of measurements: the folders they are written to and read from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.machine import ROOT

KEPT = ROOT / "benchmarks" / "results"
"""What the README and the documentation show: one file per day."""
LATEST = ROOT / ".asv"
"""What was measured last, on this machine."""


def keep(found: dict[str, Any], folder: Path = KEPT) -> Path:
    """Write a measurement into a file that is named by its date."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found['date']}.json"
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def latest(folder: Path = KEPT) -> dict[str, Any]:
    """Read the last measurement that was kept."""
    paths = sorted(folder.glob("????-??-??.json"))
    if not paths:
        msg = f"{folder} holds no measurement; `make bench ARGS=--keep` makes one"
        raise FileNotFoundError(msg)
    found: dict[str, Any] = json.loads(paths[-1].read_text(encoding="utf-8"))
    return found
