"""Objects that hold numbers, or make them, beside an array: no gradient leaves them out."""

from __future__ import annotations

import contextvars
import ctypes
import decimal
import functools
import itertools
import operator
import random
import statistics
import threading
import types

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.spatial
import scipy.stats

from chainrules_py import ChainRulesError, NoTangent, NotDifferentiableError, ZeroTangent
from chainrules_tape import grad, hvp, jvp, linearize, vjp

pd = pytest.importorskip("pandas")

W = np.array([1.5, 2.5, 3.5])
X, Y = np.arange(5.0), np.arange(5.0) ** 2 + 0.5
POINTS = np.random.default_rng(0).random((6, 2))
HALF = np.eye(2) * 0.5


class Slotted:
    """Slots, with a name that only the class knows."""

    __slots__ = ("__w",)

    def __init__(self):
        self.__w = W


class OfSlots(Slotted):
    """One whose slots are its base's."""

    __slots__ = ("v",)


class OfNumbers:
    """What has a dtype, and is no array."""

    dtype = np.dtype(float)

    def __init__(self):
        self.w = W


class LikeArrays(OfNumbers):
    """What has the attributes of an array."""

    shape = (3,)


def drawn():
    w = W.copy()
    yield w


def halved(xs):
    for x in xs:
        yield x / 2


async def awaited():
    return W


def _begun(generator):
    next(generator)
    return generator


def _in(kind):
    found = kind()
    found.put(W)
    return found


def _in_context():
    found = contextvars.ContextVar("found")
    found.set(W)
    return found


def _of_a_thread():
    found = threading.local()
    found.w = W
    return found


_interpolate, _spatial, _stats = scipy.interpolate, scipy.spatial, scipy.stats
_linalg, _signal, _integrate = scipy.sparse.linalg, scipy.signal, scipy.integrate
_rotation = _spatial.transform.Rotation
HOLDERS = {
    "interp1d": lambda: _interpolate.interp1d(X, Y),
    "cubic interp1d": lambda: _interpolate.interp1d(X, Y, "cubic"),
    "nearest": lambda: _interpolate.interp1d(X, Y, "nearest"),
    "krogh": lambda: _interpolate.KroghInterpolator(X, Y),
    "cubic spline": lambda: _interpolate.CubicSpline(X, Y),
    "pchip": lambda: _interpolate.PchipInterpolator(X, Y),
    "akima": lambda: _interpolate.Akima1DInterpolator(X, Y),
    "univariate": lambda: _interpolate.UnivariateSpline(X, Y),
    "b-spline": lambda: _interpolate.make_interp_spline(X, Y),
    "bivariate": lambda: _interpolate.RectBivariateSpline(X, X, np.outer(Y, Y)),
    "grid": lambda: _interpolate.RegularGridInterpolator((X,), Y),
    "radial": lambda: _interpolate.RBFInterpolator(X[:, None], Y),
    "triangles": lambda: _interpolate.LinearNDInterpolator(POINTS, POINTS[:, 0]),
    "nearest of many": lambda: _interpolate.NearestNDInterpolator(POINTS, POINTS[:, 0]),
    "polynomials": lambda: _interpolate.PPoly([[1.5], [2.0]], [0, 1]),
    "transfer function": lambda: _signal.TransferFunction([1.5], [1.0, 2.0]),
    "state space": lambda: _signal.StateSpace(HALF, HALF, HALF, HALF),
    "short times": lambda: _signal.ShortTimeFFT(np.ones(4) * 0.5, 2, 1.0),
    "bounds": lambda: scipy.optimize.Bounds([0.5], [1.0]),
    "hull": lambda: _spatial.ConvexHull(POINTS),
    "triangulation": lambda: _spatial.Delaunay(POINTS),
    "rotation": lambda: _rotation.from_rotvec([0.5, 0.0, 0.0]),
    "frozen": lambda: _stats.gamma(2.5),
    "frozen, of several": lambda: _stats.multivariate_normal(np.zeros(2) + 0.5),
    "density": lambda: _stats.gaussian_kde(Y),
    "histogram": lambda: _stats.rv_histogram(np.histogram(Y, 3)),
    "distribution": lambda: _stats.Normal(mu=0.5, sigma=1.5),
    "operator": lambda: _linalg.aslinearoperator(HALF),
    "solution": lambda: _integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.5], dense_output=True).sol,
    "solver": lambda: _integrate.RK45(lambda t, y: -y, 0, [1.5], 1),
    "integrator": lambda: _integrate.ode(lambda t, y: -y).set_initial_value([1.5], 0.0),
    "polynomial": lambda: np.poly1d([1.5, 2.0]),
    "series of Chebyshev": lambda: np.polynomial.Chebyshev([1.5, 2.0]),
    "elements": lambda: W.flat,
    "a Series in a namespace": lambda: types.SimpleNamespace(w=pd.Series(W)),
    "an index in a namespace": lambda: types.SimpleNamespace(w=pd.Index(W)),
    "an array of pandas in one": lambda: types.SimpleNamespace(w=pd.array(W)),
    "groups of a Series": lambda: pd.Series(W).groupby([0, 1, 1]),
    "windows": lambda: pd.Series(W).rolling(2),
    "slots": Slotted,
    "slots of a base": OfSlots,
    "a dtype, and no array": OfNumbers,
    "like an array": LikeArrays,
    "thread": _of_a_thread,
    "pointer": lambda: ctypes.pointer(ctypes.c_double(1.5)),
    "decimal": lambda: decimal.Decimal("1.5"),
    "normal": lambda: statistics.NormalDist(0.5, 1.5),
    "generator": drawn,
    "generator, begun": lambda: _begun(drawn()),
    "generator of halves": lambda: halved([1, 2]),
    "generator of roots": lambda: (abs(x) for x in (1, 2)),
    "mapped": lambda: map(float, [1, 2]),
    "mapped to several": lambda: itertools.starmap(operator.truediv, [(1, 2)]),
    "accumulated": lambda: itertools.accumulate([1, 2], operator.truediv),
    "counted": lambda: itertools.count(0, 0.5),
    "called": lambda: iter(random.Random(0).random, 2),
}
# SciPy 1.18 keeps their numbers one level deeper, in an object that computes for them.
if hasattr(HOLDERS["cubic spline"](), "_delegate_to"):
    for _name in ("cubic spline", "pchip", "akima", "b-spline", "polynomials"):
        del HOLDERS[_name]
OTHERS = {
    "day": lambda: pd.Timestamp("2020-01-01"),
    "period": lambda: pd.Period("2020"),
    "offset": lambda: pd.offsets.MonthEnd(),
    "draws": lambda: np.random.default_rng(0),
    "setting": lambda: types.SimpleNamespace(dtype=np.float32, f=np.sin),
    "partial": lambda: functools.partial(pow, 2.0),
    "places": lambda: types.SimpleNamespace(i=pd.Index([0, 1]), n=3),
}


def square(model):
    return np.sum(model["w"] ** 2)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what nobody awaits
@pytest.mark.parametrize("make", HOLDERS.values(), ids=list(HOLDERS))
def test_what_holds_numbers_is_no_constant_beside_an_array(make):
    for door in (
        lambda model: grad(square)(model),
        lambda model: vjp(square, model),
        lambda model: linearize(square, model),
        lambda model: hvp(square, (model,), (model,)),
        lambda model: jvp(square, (model,), (model,)),
        lambda model: jvp(lambda xs: square(xs[0]), ([model],), ([model],)),
    ):
        with pytest.raises(ChainRulesError, match=r"holds? numbers|cannot be perturbed"):
            door({"w": W, "h": make()})


@pytest.mark.parametrize("make", HOLDERS.values(), ids=list(HOLDERS))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_said_to_be_held_fixed_is(make):
    for zero in (NoTangent(), ZeroTangent()):
        assert jvp(square, ({"w": W, "h": make()},), ({"w": W, "h": zero},))[1] == 2 * np.sum(W**2)


@pytest.mark.parametrize("make", OTHERS.values(), ids=list(OTHERS))
def test_what_holds_none_is_left_alone(make):
    model = {"w": W, "h": make()}
    np.testing.assert_array_equal(grad(square)(model)["w"], 2.0 * W)
    assert jvp(square, (model,), (model,))[1] == linearize(square, model)[1](model)


def test_along_the_parameters_themselves():
    """Euler's identity, with weights in what is no structure: they were left out."""
    f = lambda p: np.sum((p["a"] * p["h"].w) ** 2)
    p = {"a": np.array([1.0, 2.0, 3.0]), "h": types.SimpleNamespace(w=np.array([1.0, 2.0, 3.0]))}
    with pytest.raises(ChainRulesError, match="stands for its own tangent"):
        jvp(f, (p,), (p,))
    assert jvp(f, (p,), ({**p, "h": NoTangent()},))[1] == 196.0


def test_a_dtype_of_no_hash_is_asked_for_once():
    with pytest.raises(NotDifferentiableError, match="holds numbers"):
        grad(square)({"w": W, "h": pd.Series(W).groupby([0, 1, 1])})
