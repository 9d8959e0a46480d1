"""Programs that ask for types take the branch that they take by themselves."""

import numbers
from typing import Any

import numpy as np
import pytest

from chainrules_tape import vjp
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
