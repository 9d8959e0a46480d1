"""Builds wheel and sdist, and installs and uses both in clean environments: ``make test-matrix``.

``python -m tests.house.matrix 3.11 3.13`` chooses Pythons; without a choice all that are found, on
the path or among pyenv's. The wheel is used with the newest NumPy and with the oldest that is
supported and has a build for that Python, the sdist with the newest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
OLDEST = {"3.11": "2.2.0", "3.12": "2.2.0", "3.13": "2.2.0", "3.14": "2.3.2"}
"""NumPy's first release that is supported here and that has a wheel for that Python."""
USE = """\
import numpy as np
from chainrules_py import primitive, rrule, scalar_rule
from chainrules_py.testing import check_rule
from chainrules_tape import grad, hessian
@primitive
def softplus(x):
    return np.logaddexp(0.0, x)
scalar_rule(softplus, lambda y, x: np.exp(x - y))
assert grad(lambda x: np.sum(softplus(x)))(np.zeros(2)).tolist() == [0.5, 0.5]
assert check_rule(softplus, np.array([0.3, -0.7])).passed
assert hessian(lambda x: np.prod(x))(np.ones(2)).tolist() == [[0.0, 1.0], [1.0, 0.0]]
"""


def run(*command: str, cwd: Path = ROOT) -> None:
    """Run a command; raise with what it printed."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def pythons(wanted: list[str]) -> list[str]:
    """The interpreters that are there, of the versions that are wanted."""
    found = [_python(version) for version in wanted or VERSIONS]
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return [p for p in found if p is not None] or [
        sys.executable for version in [here] if version in (wanted or VERSIONS)
    ]


def _python(version: str) -> str | None:
    """The first interpreter of a version that starts: a shim of pyenv's may not."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    builds = sorted(home.glob(f"{version}.*/bin/python{version}"), reverse=True)
    for python in [shutil.which(f"python{version}"), *map(str, builds)]:
        if python is not None and _works(python):
            return python
    return None


def _works(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def main(wanted: list[str]) -> int:
    """Build, install, use; one line for each."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "dist"
        run(sys.executable, "-m", "hatchling", "build", "-d", str(made))
        wheel, sdist = sorted(made.iterdir(), key=lambda path: path.suffix != ".whl")
        for python in pythons(wanted):
            version = Path(python).name.removeprefix("python")
            oldest = OLDEST.get(version, "2.2.0")
            for built, numpy in ((wheel, "numpy"), (wheel, f"numpy=={oldest}"), (sdist, "numpy")):
                place = Path(folder) / f"{version}-{built.suffix[1:]}-{numpy}"
                if python == sys.executable:
                    venv.create(place, with_pip=True)
                else:
                    run(python, "-m", "venv", str(place))
                inside = str(place / "bin" / "python")
                run(inside, "-m", "pip", "install", "--quiet", numpy, f"{built}[cli]")
                run(inside, "-W", "error", "-c", USE, cwd=place)
                run(str(place / "bin" / "chainrules"), "doctor", cwd=place)
                run(str(place / "bin" / "chainrules"), "explain", "numpy.matmul", cwd=place)
                print(f"{python}: {built.name} with {numpy} installed and used", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
