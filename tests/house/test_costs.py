"""What the page of costs shows is what is counted, and numbers are written on a quiet machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import costs, flames, machine, peers
finally:
    sys.path.pop(0)


def test_the_page_shows_what_is_counted():
    """In a process of its own, where no other test has made libraries known."""
    kept = json.loads(costs.KEPT.read_text(encoding="utf-8"))["calls"]
    if sys.version_info[:2] == (3, 11):  # later ones have fewer calls of comprehensions
        program = "import json; from benchmarks import costs; print(json.dumps(costs.counted()))"
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert json.loads(done.stdout) == kept
    assert kept.keys() == costs.OPERATIONS.keys() | costs.FUNCTIONS.keys()
    assert costs.PICTURE.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize(
    "command", [(peers, "--keep"), (flames,), (costs, "--times")], ids=["bench", "flames", "costs"]
)
def test_nothing_is_written_while_the_machine_does_other_things(monkeypatch, capsys, command):
    module, *arguments = command
    monkeypatch.setattr(os, "getloadavg", lambda: (3.2, 0.0, 0.0))
    with pytest.raises(SystemExit):
        module.main(arguments)
    assert "the load of this machine is 3.2" in capsys.readouterr().err
    monkeypatch.setattr(os, "getloadavg", lambda: (0.3, 0.0, 0.0))
    assert machine.noise() == ""
