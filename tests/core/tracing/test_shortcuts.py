"""Formulas that a library takes where what is differentiated equals one number: none is followed.

``if p == 2: ...`` gives the value at that number, and no derivative in p: it was that of the
shortcut, which is zero most often, without an operation.
"""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import scipy.integrate
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats
from scipy.spatial import distance
from scipy.spatial.transform import Rotation

import chainrules_scipy
from chainrules_py import NotDifferentiableError
from chainrules_tape import grad, jvp
from tests.libraries.scipy.samples.judge import judged, samples

T, X, Y = np.linspace(0.0, 1.0, 5), np.array([0.3, 1.2, 2.5]), np.array([1.4, 0.2, 0.9])
A, B, C = np.array([[0.0, 1.0], [-2.0, -3.0]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]])
POINT = np.array([1.0, 0.0, 0.0])

# Of a number, or an array, and the numbers where a shortcut was taken.
CALLS = {
    "norm": (lambda p: np.linalg.norm(X, p), (1.0, 2.0)),
    "norm of scipy": (lambda p: scipy.linalg.norm(X, p), (1.0, 2.0)),
    "minkowski": (lambda p: distance.minkowski(X, Y, p), (1.0, 2.0, 3.0)),
    "cdist": (lambda p: distance.cdist([X], [Y], "minkowski", p=p)[0, 0], (1.0, 2.0)),
    "pdist": (lambda p: distance.pdist(np.stack([X, Y]), "minkowski", p=p)[0], (1.0, 2.0)),
    "minkowski_distance": (lambda p: scipy.spatial.minkowski_distance(X, Y, p), (1.0, 3.0)),
    "roots_jacobi": (lambda a: scipy.special.roots_jacobi(3, a, 0.5)[0][0], (0.5, 0.7)),
    "roots_gegenbauer": (lambda a: scipy.special.roots_gegenbauer(3, a)[0][0], (0.0, 0.7)),
    "power_divergence": (
        lambda p: scipy.stats.power_divergence([2.0, 4.0, 6.0], [3.0, 4.0, 5.0], lambda_=p)[0],
        (1.0, 0.0, -1.0, 0.7),
    ),
    "iqr": (lambda s: scipy.stats.iqr(X, scale=s), (1.0,)),
    "power of a rotation": (
        lambda n: (Rotation.from_rotvec([0.1, 0.2, 0.3]) ** n).as_quat()[0],
        (1.0, 0.0, -1.0),
    ),
    "geometric_slerp": (
        lambda s: scipy.spatial.geometric_slerp(POINT, [np.cos(s), np.sin(s), 0.0], T)[2, 1],
        (0.0, 0.3),
    ),
    "poly1d": (lambda c: np.poly1d(np.stack([c, 2.0, 1.0]))(1.3), (0.0, 0.5)),
    "polymul": (lambda c: np.polymul(np.stack([c, 2.0]), [1.0, 2.0])[-1] + c, (0.0, 0.5)),
    "residue": (lambda c: scipy.signal.residue(np.stack([c, 1.0]), [1.0, 3.0, 2.0])[0][0], (0.0,)),
    "cubature": (
        lambda b: scipy.integrate.cubature(lambda x: np.exp(x[:, 0]), [0.5], b).estimate,
        (np.array([0.5]), np.array([0.7])),
    ),
    "quad": (lambda b: scipy.integrate.quad(np.exp, 0.5, b)[0], (0.5, 0.7)),
    "dblquad": (lambda b: scipy.integrate.dblquad(lambda y, x: x + y, 0, b, 1, 2)[0], (0.0,)),
    "quad_vec": (lambda b: scipy.integrate.quad_vec(lambda x: X * x, 0.5, b)[0][1], (0.5,)),
    "step": (
        lambda b: scipy.signal.step((np.stack([b, 1.0, 2.0]), [1.0, 2.0, 3.0]), T=T)[1][2],
        (0.0, 0.5),
    ),
    "tf2ss": (lambda b: scipy.signal.tf2ss(np.stack([b, 1.0]), [1.0, 2.0])[2][0, 0], (0.0,)),
    "freqresp": (
        lambda d: scipy.signal.freqresp((A, B, C, np.reshape(d, (1, 1))), w=T + 0.1)[1][2].real,
        (0.0, 0.5),
    ),
    "cont2discrete": (
        lambda b: scipy.signal.cont2discrete((np.stack([b, 1.0]), [1.0, 2.0]), 0.1)[0][0, 1],
        (0.0,),
    ),
    "lsim": (lambda u: scipy.signal.lsim((A, B, C, [[0.0]]), u * T, T)[1][3], (0.0, 0.5)),
    "multinomial": (
        lambda p: scipy.stats.multinomial.logpmf([1, 3, 4], 8, np.stack([p, 0.2, 0.8 - p])),
        (0.3,),
    ),
    "lfilter_zi": (
        lambda a: scipy.signal.lfilter_zi([1.0, 2.0], np.stack([a, 0.5]))[0],
        (1.0, 2.0),
    ),
}  # fmt: skip
CASES = [(name, at) for name, (_, places) in CALLS.items() for at in places]


def _slope(f, at):
    h = 1e-5
    return (np.sum(f(at + h)) - np.sum(f(at - h))) / (2 * h)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name, at", CASES, ids=lambda x: str(x))
def test_a_derivative_is_that_of_all_numbers_around_or_refused(name, at, mode):
    f = CALLS[name][0]
    truth = _slope(f, at)
    with chainrules_scipy.install(), contextlib.suppress(NotDifferentiableError):
        if mode == "forward":
            found = np.sum(jvp(f, (at,), (np.ones_like(at)[()],))[1])
        else:
            found = np.sum(grad(lambda z: np.sum(f(z)))(at))
        assert abs(found - truth) < 1e-4 * (1 + abs(truth)), (found, truth)


RIGHT = ("quad", "dblquad", "quad_vec", "minkowski", "step", "freqresp", "lsim", "multinomial")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RIGHT)
def test_what_has_a_derivative_there_gives_it(name):
    f, places = CALLS[name]
    with chainrules_scipy.install():
        for at in places:
            assert np.isclose(grad(f)(at), _slope(f, at), rtol=1e-4)


def test_every_derivative_of_an_empty_integral_is_that_of_its_function():
    with chainrules_scipy.install():
        integral = lambda b, k: scipy.integrate.quad(lambda x: np.exp(k * x), 0.5, b)[0]
        assert np.isclose(grad(integral)(0.5, 2.0), np.exp(1.0))
        assert np.isclose(grad(grad(integral))(0.5, 2.0), 2 * np.exp(1.0))
        assert np.isclose(grad(grad(integral), 1)(0.5, 2.0), 0.5 * np.exp(1.0))
        assert grad(integral, 1, unused="zero")(0.5, 2.0) == 0.0


ASKED = "interpolate.KroghInterpolator interpolate.krogh_interpolate signal.ellipap signal.firwin"
ASKED += " stats.uniform signal.ellip"


@pytest.mark.parametrize("name", ASKED.split())
def test_texts_that_ask_and_take_no_shortcut_are_followed(name):
    """Nodes that are compared with themselves, ``x == x``, ``while change != 0``."""
    assert {judged(sample) for sample in samples()[name]} == {"right"}


def test_a_program_of_ones_own_may_ask():
    assert grad(lambda x: 3 * x if x == 2.0 else x)(2.0) == 3.0


def test_what_hulls_and_trees_tell_of_their_points_is_no_constant():
    points = np.random.default_rng(0).random((6, 2))
    tree = scipy.spatial.KDTree(points)
    with chainrules_scipy.install():
        for read in (
            lambda x: np.sum(scipy.spatial.ConvexHull(x).equations * 1.0),
            lambda x: sum(scipy.spatial.KDTree(x).sparse_distance_matrix(tree, 0.5).values()),
        ):
            with pytest.raises(NotDifferentiableError, match="derivative"):
                grad(read)(points)
        for read in (
            lambda x: np.sum(scipy.spatial.ConvexHull(x).max_bound),
            lambda x: np.sum(scipy.spatial.KDTree(x).maxes),
        ):
            assert np.sum(grad(read)(points)) == 2.0
        count = lambda x: 1.0 * scipy.spatial.KDTree(x).count_neighbors(tree, 0.5)
        assert not grad(count, unused="zero")(points).any()
