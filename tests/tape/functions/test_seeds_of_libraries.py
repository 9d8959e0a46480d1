"""Seeds of one library at values of another, at each door: what is right, or an error of ours."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from chainrules_py import ProjectionError, frule, rrule
from chainrules_py import ops as v
from chainrules_py.extend import Library, register_array_type
from chainrules_tape import jvp, linearize, vjp


class Listed:
    """An array over a Python list, whose dtype is NumPy's; it knows of no other array."""

    def __init__(self, numbers):
        self.numbers = list(numbers)

    shape = property(lambda self: (len(self.numbers),))
    ndim = 1
    dtype = np.dtype(float)

    def __add__(self, other):
        return _Lists.add(self, other) if isinstance(other, (Listed, float)) else NotImplemented

    def __mul__(self, other):
        return (
            _Lists.multiply(self, other) if isinstance(other, (Listed, float)) else NotImplemented
        )

    def __neg__(self):
        return _Lists.negative(self)


class Counted:
    """NumPy's array in another class, beside which its library takes any array."""

    def __init__(self, data):
        self.data = np.asarray(data)

    shape = property(lambda self: self.data.shape)
    ndim = property(lambda self: self.data.ndim)
    dtype = property(lambda self: self.data.dtype)
    __add__ = lambda self, other: COUNTS.add(self, other)
    __mul__ = lambda self, other: COUNTS.multiply(self, other)
    __neg__ = lambda self: COUNTS.negative(self)


def _elementwise(f):
    def computed(*xs):
        rows = [x.numbers if isinstance(x, Listed) else x for x in xs]
        n = next(len(row) for row in rows if isinstance(row, list))
        return Listed(map(f, *[row if isinstance(row, list) else [row] * n for row in rows]))

    return computed


class _Lists:
    float64 = np.dtype(float)
    isdtype = staticmethod(np.isdtype)
    sin, cos, negative = (staticmethod(_elementwise(f)) for f in (math.sin, math.cos, operator.neg))
    add = staticmethod(_elementwise(operator.add))
    multiply = staticmethod(_elementwise(operator.mul))
    asarray = staticmethod(lambda x, dtype=None, copy=None: Listed(x.numbers))


class _Counts:
    float64 = np.dtype(float)
    isdtype = staticmethod(np.isdtype)

    def __getattr__(self, name):
        bare = lambda x: x.data if isinstance(x, Counted) else x
        return lambda *xs, **options: Counted(getattr(np, name)(*map(bare, xs), **options))


COUNTS = _Counts()
register_array_type(Listed, Library(_Lists))
register_array_type(Counted, Library(COUNTS))


def _strict(device):
    strict = pytest.importorskip("array_api_strict")
    return lambda xs: strict.asarray(xs, device=strict.Device(device))


def _torch(xs):
    torch = pytest.importorskip("torch")
    return torch.tensor(xs, dtype=torch.float64)


MAKE = {
    "numpy": np.array,
    "lists": Listed,
    "counted": Counted,
    "strict": lambda xs: _strict("CPU_DEVICE")(xs),
    "strict, elsewhere": lambda xs: _strict("device1")(xs),
    "torch": _torch,
    "jax": lambda xs: pytest.importorskip("jax.numpy").asarray(xs),
    "dask": lambda xs: pytest.importorskip("dask.array").asarray(np.array(xs)),
}
TAKEN = {("jax", "numpy"), ("dask", "numpy"), ("strict", "strict, elsewhere")}
TAKEN |= {(seed, x) for x, seed in TAKEN if "strict" in x}
BESIDE = {("numpy", "dask"), ("numpy", "jax")}  # forward: what comes of it is the seed's library's

DOORS = {
    "rrule": lambda f, x, s: rrule(f, x)[1](s)[0],
    "frule": lambda f, x, s: frule((s,), f, x)[1],
    "vjp": lambda f, x, s: vjp(f, x)[1](s)[0],
    "jvp": lambda f, x, s: jvp(f, (x,), (s,))[1],
    "linearize": lambda f, x, s: linearize(f, x)[1](s),
    "vjp of a part": lambda f, x, s: vjp(lambda x: (f(x), 1), x)[1]((s, 0))[0],
    "jvp of a part": lambda f, x, s: jvp(lambda p: f(p["x"]), ({"x": x},), ({"x": s},))[1],
    "vjp in jvp": lambda f, x, s: jvp(lambda t: vjp(f, x)[1](t)[0], (s,), (s,))[1],
}
X, SEED = [0.5, 1.0, 2.0], [1.0, 2.0, -3.0]
FUNCTIONS = {
    "sin": (v.sin, [math.cos(x) * s for x, s in zip(X, SEED, strict=True)]),
    "negative": (v.negative, [-s for s in SEED]),
    "twice": (lambda x: v.add(x, x), [2 * s for s in SEED]),
    "identity": (lambda x: x, SEED),
}


def numbers(x):
    if isinstance(x, Listed):
        return x.numbers
    x = x.data if isinstance(x, Counted) else x
    return [float(x[i]) for i in range(3)]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("x_of", MAKE)
def test_a_seed_of_another_library_is_brought_or_refused(x_of, door):
    x, wrong = MAKE[x_of](X), []
    for seed_of, make in MAKE.items():
        try:
            seed = make(SEED)
        except pytest.skip.Exception:
            continue
        for name, (f, truth) in FUNCTIONS.items():
            if door in ("rrule", "frule") and name in ("twice", "identity"):
                continue
            taken = x_of == seed_of or (x_of, seed_of) in TAKEN
            homes = [x, seed] if (x_of, seed_of) in BESIDE and door != "vjp" else [x]
            try:
                found = DOORS[door](f, x, seed)
            except ProjectionError as error:
                right = not taken and "tangent of" in str(error)
            except Exception:
                right = False
            else:
                right = type(found) in map(type, homes)
                right = right and getattr(found, "device", 0) in [
                    getattr(home, "device", 0) for home in homes
                ]
                right = right and np.allclose(numbers(found), truth, rtol=1e-6)
            if not right:
                wrong.append((seed_of, name))
    assert wrong == []


def test_a_direction_of_dask_at_numbers_of_numpy_stays_lazy():
    """As the gradient of a loss of Dask's data is, which conjugate gradients go along."""
    dask = pytest.importorskip("dask.array")
    _, y_dot = jvp(lambda w: np.sin(w) * w, (np.array(X),), (dask.ones(3),))
    assert type(y_dot) is dask.Array
    with pytest.raises(ProjectionError, match=r"of dask is not a tangent of .* of numpy"):
        vjp(np.sin, np.array(X))[1](dask.ones(3))
