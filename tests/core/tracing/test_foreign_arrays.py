"""Arrays of other libraries beside differentiated NumPy arrays: refused, never another number."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from chainrules_compile import compile as compiled
from chainrules_py import ChainRulesError
from chainrules_tape import jvp, linearize, vjp
from tests.fuzz.beside import OTHERS, PROGRAMS, points, seed_of, setting

NAMES = list(PROGRAMS)
DIRECTION = np.array([0.3, -0.7, 1.1])


@pytest.fixture(autouse=True)
def _silent():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def plain(f: Any, x: Any, t: Any) -> Any:
    """Return what plain NumPy gives; None where it raises, or gives objects."""
    try:
        y = f(x.copy(), t)
    except Exception:
        return None
    return y if hasattr(y, "dtype") and np.asarray(y).dtype.kind in "fib" else None


def runs(f: Any, x: Any, t: Any, y: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """Differentiate a program in all modes: name, value, derivative, that with NumPy's alone."""

    def g(x):
        return f(x, t)

    def alone(x):
        return f(x, np.asarray(t))

    if np.asarray(y).dtype.kind != "f":
        yield "vjp", vjp(g, x)[0], None, None
        return
    x_dot = DIRECTION.astype(x.dtype)
    yield ("jvp", *jvp(g, (x,), (x_dot,)), jvp(alone, (x,), (x_dot,))[1])
    (value, pull), (known, pull_alone) = vjp(g, x), vjp(alone, x)
    y_bar = np.random.default_rng(3).standard_normal(np.shape(known)).astype(known.dtype)[()]
    yield "vjp", value, pull(seed_of(value, y_bar))[0], pull_alone(y_bar)[0]
    (value, push), push_alone = linearize(g, x), linearize(alone, x)[1]
    yield "linearize", value, push(x_dot), push_alone(x_dot)


def compare(name: str, program: str, dtype: str) -> str:
    """Compare a program with plain NumPy; say what became of it."""
    with setting(name):
        f, x, t = PROGRAMS[program], points()[dtype], OTHERS[name]()
        y = plain(f, x, t)
        if y is None:
            return "raises"
        try:
            found = list(runs(f, x, t, y))
        except ChainRulesError as error:
            assert "write np.asarray of it" in str(error)  # noqa: PT017
            return "refused"
        except (AttributeError, TypeError):  # of the other library, about NumPy's dtypes
            return "raises"
        for mode, value, derivative, expected in found:
            where = f"{mode} of {program} beside {name} at {dtype}"
            assert type(value) is type(y), where
            np.testing.assert_array_equal(np.asarray(value), np.asarray(y), where)
            if derivative is not None:
                np.testing.assert_allclose(derivative, expected, 3e-5, 1e-5, err_msg=where)
        return "right"


MODULES = {"torch": "torch", "jax": "jax", "mlx": "mlx.core", "strict": "array_api_strict"}
MODULES |= {"list": "numpy"}


@pytest.mark.parametrize("name", OTHERS)
def test_programs_are_refused_or_those_of_plain_numpy(name):
    k = list(OTHERS).index(name)
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    done = [
        compare(name, program, ("float64", "float32")[(i + k) % 2])
        for i, program in enumerate(NAMES)
        if (i + k) % 6 == 0
    ]
    assert done.count("right" if name == "list" else "refused") > len(done) // 2, done


@pytest.mark.slow
@pytest.mark.parametrize("dtype", points())
@pytest.mark.parametrize("name", OTHERS)
def test_all_programs_are_refused_or_those_of_plain_numpy(name, dtype):
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    for program in NAMES:
        compare(name, program, dtype)


@pytest.mark.parametrize("name", ["torch float64", "jax float64"])
@pytest.mark.parametrize("program", ["np.multiply", "mul left", "stack", "interp in it"])
def test_both_may_not_be_differentiated(name, program):
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    with setting(name), pytest.raises(ChainRulesError):
        vjp(PROGRAMS[program], points()["float64"], OTHERS[name]())


@pytest.mark.parametrize("name", ["torch float64", "jax float32"])
@pytest.mark.parametrize("program", ["stack", "set", "itruediv", "np.multiply", "mul left"])
def test_compiled_programs_give_the_same(name, program):
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    with setting(name):
        f, x, t = PROGRAMS[program], points()["float64"], OTHERS[name]()
        found, expected = compiled(lambda x: f(x, t))(x), f(x, t)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
