"""Programs that ask for types take the branch that they take by themselves."""

import numbers
from collections import deque
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from chainrules_py import TracerError
from chainrules_tape import grad, jvp, vjp
from tests.fuzz.questions import sample, verdict


def judge(draws):
    """Raise on draws whose answers are not those of the plain program."""
    wrong = [f"{draw}: {said}" for draw in draws if (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.filterwarnings("ignore")
def test_some_of_them():
    judge(sample(0, 1200))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_all_of_them():
    judge(sample(0))


LIBRARIES = ("dask.array.core", "jax._src.core", "torch.overrides", "scipy.sparse._base", "xarray")
PROGRAMS = ("__main__", "numpy.linalg", "sklearn.base", "chainrules_py.rules.linalg", "daskish.x")


@pytest.mark.parametrize("x", [3.0, np.float64(3.0), np.array([3.0]), 3.0 + 1.0j])
def test_a_library_with_a_dispatch_of_its_own_sees_what_is_traced(x):
    """Else JAX and Dask would take what they do not know for an array of NumPy's."""
    code, answers = "def is_one(x, classes): return isinstance(x, classes)", {}
    places: dict[str, dict[str, Any]] = {name: {"__name__": name} for name in LIBRARIES + PROGRAMS}

    def program(x):
        for module, place in places.items():
            for classes in ((float, str), (str, np.ndarray), numbers.Complex, np.generic):
                answers[module, classes] = place["is_one"](x, classes)
        return x

    for place in places.values():
        exec(code, place)
    vjp(program, x)
    for (module, classes), answer in answers.items():
        assert answer == (module in PROGRAMS and isinstance(x, classes)), (module, classes)


SAID = {"config", "home", "level", "payload", "place", "state", "tape", "tape_name", "value"}
"""Attributes of a tracer that no number has."""
SAID |= {"exp", "log10", "sqrt"}  # NumPy calls them on elements of an array of objects
MEMBERS = sorted(
    {
        name
        for cls in (
            *(list, dict, str, set, range, float, Path, Decimal, Fraction, deque),
            *(pd.Series, pd.DataFrame, pd.Index, np.ma.MaskedArray, np.matrix),
        )
        for name in dir(cls)
        if not name.startswith("_")
    }
    | {
        *dir(pd.Series),
        *dir(pd.DataFrame),
        *dir(pd.Index),
        *dir(np.ma.MaskedArray),
        *dir(np.matrix),
    }
    | {"config", "id", "key", "label", "level", "payload", "place", "state", "tape", "tape_name"}
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("x", [np.ones(3), np.ones((2, 3)), 1.5, np.float64(1.5), 1.5j], ids=repr)
def test_members_of_other_classes_are_not_there(x):
    """Code tells a table, a list or a layer from a number by them."""
    found = set()

    def ask(y):
        for name in MEMBERS:
            try:
                if hasattr(y, name) and not hasattr(x, name):
                    found.add(name)
            except (ValueError, TracerError):  # of a matrix transpose; in our words
                pass
        return np.sum(abs(y) ** 2)

    grad(ask)(x)
    jvp(ask, (x,), (x,))
    assert {name for name in found if not name.startswith("_")} <= SAID
