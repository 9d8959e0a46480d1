"""The programs of docs/coming-from.md: they run, and give what the others give."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
CELL = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
HEAD = CELL.search(TEXT)[1]


def run(name):
    """The last value of a section's program, and its names."""
    (section,) = [s for s in SECTIONS if s.startswith(name)]
    *lines, last = CELL.search(section)[1].rstrip().splitlines()
    space = {"__name__": __name__}  # where a dataclass looks for its module
    exec(HEAD + "\n".join(lines), space)
    return eval(last, space), space


def test_each_section_has_a_table_and_a_program():
    assert [s.split("\n")[0] for s in SECTIONS] == [
        "autograd",
        "JAX",
        "PyTorch",
        "ChainRules.jl",
        "Thunder, FreeTensor",
        "Tapenade, Enzyme",
    ]
    assert all(["| here |" in s and CELL.search(s) for s in SECTIONS])


def test_every_name_of_ours_in_a_table_exists():
    import chainrules_kit.custom_derivatives
    import chainrules_py
    import chainrules_tape
    from chainrules_py import ops, testing
    from chainrules_tape import tools

    places = (
        chainrules_tape,
        tools,
        chainrules_py,
        chainrules_kit.custom_derivatives,
        testing,
        ops,
    )
    named = {
        call
        for line in TEXT.splitlines()
        if line.startswith("| ")
        for code in re.findall(r"`([^`]+)`", line.split(" | ")[-1])
        for call in re.findall(r"^([a-z_]+)\(", code)
    }
    known = {"compile", "with", "loc"}
    assert named
    assert not [n for n in named - known if not any([hasattr(place, n) for place in places])]


def test_from_autograd():
    w, space = run("autograd")
    assert np.max(np.abs(space["grad"](space["logistic"])(w))) < 0.2
    autograd = pytest.importorskip("autograd")
    import autograd.numpy as anp

    x, y = space["logistic"].__defaults__

    def theirs(w):
        p = 1.0 / (1.0 + anp.exp(-anp.dot(x, w)))
        return -anp.sum(y * anp.log(p) + (1.0 - y) * anp.log(1.0 - p))

    np.testing.assert_allclose(space["grad"](space["logistic"])(w), autograd.grad(theirs)(w))


def test_from_jax():
    slope, space = run("JAX")
    h, at = 1e-6, {"q": 1.0, "p": 0.3}
    for name in at:
        up, down = ({**at, name: at[name] + s * h} for s in (1, -1))
        difference = (space["leapfrog"](up) - space["leapfrog"](down)) / (2 * h)
        np.testing.assert_allclose(slope[name], difference, rtol=1e-7)


def test_from_pytorch():
    (fitted, slopes), space = run("PyTorch")
    np.testing.assert_allclose(fitted, space["y"], atol=0.01)
    np.testing.assert_array_equal(slopes[0], [3.0, 3.0])
    assert slopes[1] == 3.0


def test_from_chainrules_jl():
    (h, bars, (again, h_dot)), _ = run("ChainRules.jl")
    assert h == again == 5.0
    np.testing.assert_allclose([*bars, h_dot], [0.6, 0.8, 0.6])


def test_from_thunder_and_freetensor():
    np.testing.assert_array_equal(run("Thunder")[0], [1.0, 1.0, 1.0])


def test_from_tapenade():
    (value, slope), space = run("Tapenade")
    u, h = np.array([0.1, 1.0]), 1e-6
    f = lambda u: np.sum(space["march"](u))
    expected = [(f(u + h * e) - f(u - h * e)) / (2 * h) for e in np.eye(2)]
    assert value == f(u)
    np.testing.assert_allclose(slope, expected, rtol=1e-5)
