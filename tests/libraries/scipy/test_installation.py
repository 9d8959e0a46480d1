"""Functions of ours under SciPy's own names."""

from __future__ import annotations

import functools
import inspect
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

import chainrules_scipy
from chainrules_py import TracerError, rrule
from chainrules_scipy import installation
from chainrules_tape import grad, hvp, jvp, vjp

X = np.array([0.3, 1.0, 2.0])
PROGRAMS = {
    "special": lambda x: scipy.special.logsumexp(x),
    "linalg": lambda x: scipy.linalg.expm(np.outer(x, x))[0, 1],
    "fft": lambda x: scipy.fft.dct(x)[1],
    "stats": lambda x: np.sum(scipy.stats.norm(x[0], x[1]).logpdf([0.1, 0.4])),
    "integrate": lambda x: scipy.integrate.quad(lambda t: np.exp(-x[0] * t), 0.0, 1.5)[0],
    "interpolate": lambda x: scipy.interpolate.CubicSpline(np.arange(3.0), x)(0.4),
    "signal": lambda x: np.sum(scipy.signal.lfilter([1.0], [1.0, 0.5], x) ** 2),
    "ndimage": lambda x: np.sum(scipy.ndimage.gaussian_filter(x, 1.0) ** 2),
    "optimize": lambda x: scipy.optimize.minimize_scalar(lambda t: (t - x[0]) ** 2 + t**4).x,
    "distance": lambda x: scipy.spatial.distance.euclidean(x, [1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(f):
    """What SciPy computes of traced numbers one by one is right; the rest is refused, or ours."""
    way, h = np.array([0.5, -0.2, 0.3]), 1e-6
    plain = f(X)
    truth = (f(X + h * way) - f(X - h * way)) / (2 * h)

    def alone():
        try:
            g = grad(f)(X)
        except TracerError as error:
            return "chainrules_scipy" in str(error)
        return abs(np.sum(g * way) - truth) < 1e-6 * (1 + abs(truth))

    assert alone()
    with chainrules_scipy.install():
        assert f(X) == plain
        g = grad(f)(X)
    assert abs(np.sum(g * way) - truth) < 1e-6 * (1 + abs(truth))
    assert alone()


HOLDERS = {
    "dict": lambda a: {"constraints": {"type": "ineq", "fun": lambda x: a - x.sum()}},
    "list": lambda a: {
        "constraints": [{"type": "ineq", "fun": lambda x, b: b - x.sum(), "args": (a,)}]
    },
    "LinearConstraint": lambda a: {
        "constraints": scipy.optimize.LinearConstraint(np.ones(2), -np.inf, a)
    },
    "NonlinearConstraint": lambda a: {
        "constraints": scipy.optimize.NonlinearConstraint(lambda x: x.sum() - a, -np.inf, 0.0)
    },
    "Bounds": lambda a: {"bounds": scipy.optimize.Bounds([0.0, 0.0], np.stack([a, 2.0]))},
}


@pytest.mark.parametrize("name", HOLDERS)
def test_a_traced_value_in_bounds_or_constraints_alone_is_seen(name):
    """The minimum is where the sum, or the first number, is the traced value."""
    bowl = lambda x: np.sum((x - 1) ** 2)
    f = lambda a: np.sum(scipy.optimize.minimize(bowl, np.zeros(2), **HOLDERS[name](a)).x)
    with chainrules_scipy.install():
        assert grad(f)(0.5) == pytest.approx(1.0)


def _standing():
    return {at: getattr(p.owner, p.name) for at, p in installation._places.items()}


def test_removed_in_any_order():
    chainrules_scipy.install().remove()  # which imports the modules with functions for SciPy's
    before = _standing()
    first, second = chainrules_scipy.install(), chainrules_scipy.install()
    during = _standing()
    first.remove()
    first.remove()
    assert _standing() == during
    assert during != before
    second.remove()
    after = _standing()
    constructors = {at for at in before if at[1] == "__new__"}
    assert {k: v for k, v in after.items() if k not in constructors} == {
        k: v for k, v in before.items() if k not in constructors
    }
    assert not [f for f in sys.meta_path if f is installation._finder]


def test_what_stands_is_what_it_was():
    native = scipy.linalg.expm
    with chainrules_scipy.install():
        assert scipy.linalg.expm is not native
        assert pickle.loads(pickle.dumps(scipy.linalg.expm)) is scipy.linalg.expm
        assert pickle.loads(pickle.dumps(native)) is native
        assert inspect.signature(scipy.linalg.expm) == inspect.signature(native)
        assert np.array_equal(rrule(scipy.linalg.expm, np.eye(2))[0], native(np.eye(2)))
        spline = scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], X)
        assert type(spline) is scipy.interpolate.CubicSpline
        assert type(pickle.loads(pickle.dumps(spline))) is scipy.interpolate.CubicSpline
        assert grad(spline)(0.4) == pytest.approx(float(spline(0.4, 1)))

        class Own(scipy.interpolate.CubicSpline):
            pass

        assert type(Own([0.0, 1.0, 2.0], X)) is Own
    assert scipy.linalg.expm is native
    assert float(spline(0.4)) == float(scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], X)(0.4))


M = np.array([[2.0, 0.3], [0.1, 1.5]])
GIVEN = {
    "jvp": lambda f: jvp(f, (M,), (M,)),
    "vjp": lambda f: vjp(f, M),
    "hvp": lambda f: hvp(f, M, M),
    "grad": lambda f: grad(f)(M),
}


@pytest.mark.parametrize("name", ["det", "expm", "inv", "pinv"])
@pytest.mark.parametrize("run", GIVEN.values(), ids=GIVEN)
def test_a_function_that_is_given_to_an_engine_is_taken_from_us(run, name):
    line = f"use {name}, which takes the same, after 'from chainrules_scipy.linalg import {name}'"
    with pytest.raises(TracerError, match=line):
        run(getattr(scipy.linalg, name))


def test_one_place_in_the_code_calls_many_functions():
    total = lambda f, a: np.sum(f(a))
    for name in ("pinv", "cosm"):
        with pytest.raises(TracerError, match=f"use {name}"):
            grad(functools.partial(total, getattr(scipy.linalg, name)))(M)


def test_methods_of_a_distribution_that_an_object_holds():
    """A constant would lose the derivative of a density that has one."""
    prior, log_density = scipy.stats.norm(0.0, 1.0), scipy.stats.norm.logpdf
    for f in (lambda x: prior.logpdf(x), lambda x: log_density(x), log_density):
        with pytest.raises(TracerError, match=r"call chainrules_scipy\.install\(\) first"):
            grad(f)(0.3)
    with chainrules_scipy.install():
        assert grad(lambda x: prior.logpdf(x))(0.3) == pytest.approx(-0.3)
        assert grad(scipy.stats.norm.logpdf)(0.3) == pytest.approx(-0.3)


def test_ufuncs_stay():
    before = {n: f for n, f in vars(scipy.special).items() if isinstance(f, np.ufunc)}
    with chainrules_scipy.install():
        assert {n: vars(scipy.special)[n] for n in before} == before


def test_somebody_else_may_put_something_there():
    native = scipy.linalg.inv
    installed = chainrules_scipy.install()
    try:
        scipy.linalg.inv = other = lambda a: a
        installed.remove()
        assert scipy.linalg.inv is other
    finally:
        scipy.linalg.inv = native


def test_other_code_has_replaced_functions_before_ours_are_imported():
    """A counter or a logger is no function of SciPy: it stays, and all others are traced."""
    program = """
import numpy as np, scipy.linalg, scipy.optimize, chainrules_scipy
from chainrules_tape import grad
solve, minimize, a = scipy.linalg.solve, scipy.optimize.minimize, np.array([[2.0, 1.0], [0.5, 3.0]])
scipy.linalg.solve = counted = lambda *args: solve(*args)
scipy.optimize.minimize = lambda *args: minimize(*args)
with chainrules_scipy.install():
    assert np.allclose(grad(scipy.linalg.det)(a), 5.5 * np.linalg.inv(a).T)
    f = lambda p: scipy.optimize.minimize_scalar(lambda x: (x - p) ** 2).x
    assert abs(grad(f)(0.5) - 1.0) < 1e-6
assert scipy.linalg.solve is counted
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_from_threads():
    failed = []

    def run():
        for _ in range(30):
            with chainrules_scipy.install():
                try:
                    grad(PROGRAMS["fft"])(X)
                except TracerError as error:
                    failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed
    assert not installation._standing


def test_what_is_imported():
    program = """
import sys, chainrules_scipy
from chainrules_scipy.installation import OURS
assert not [m for m in OURS if m in sys.modules], "at once"
with chainrules_scipy.install():
    import scipy.fft
    assert scipy.fft.dct.__module__ == "scipy.fft", scipy.fft.dct
    assert "chainrules_scipy.fft" in sys.modules
    assert "scipy.signal" not in sys.modules
    from scipy import signal
    assert signal.convolve.__module__ == "scipy.signal"
assert signal.convolve.__module__ == "scipy.signal._signaltools"
"""
    subprocess.run([sys.executable, "-c", program], check=True)


SLOW = pytest.mark.slow  # a process each
FIRST = ["stats", "spatial.transform"] + [
    pytest.param(name, marks=SLOW)
    for name in (
        "cluster",
        "fft",
        "integrate",
        "interpolate",
        "io",
        "linalg",
        "ndimage",
        "odr",
        "optimize",
        "signal",
        "sparse",
        "sparse.linalg",
        "spatial",
        "spatial.distance",
        "special",
    )
]


@pytest.mark.parametrize("name", FIRST)
def test_a_module_of_scipys_is_imported_first_where_ours_are_installed(name):
    """Modules of SciPy's import each other: ours come when none is half made, and all of them."""
    program = f"""
import sys, chainrules_scipy
from chainrules_scipy.installation import OURS
with chainrules_scipy.install():
    import scipy.{name}
    assert not [m for m, ours in OURS.items() if m in sys.modules and ours not in sys.modules]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize(
    "name", ["sparse", *[pytest.param(n, marks=SLOW) for n in ("spatial", "ndimage")]]
)
def test_a_module_of_scipys_is_imported_before_install(name):
    """Ours for it imports other modules of SciPy: functions in these are replaced, too."""
    program = f"""
import sys, scipy.{name}, chainrules_scipy
from chainrules_tape import grad
with chainrules_scipy.install():
    from chainrules_scipy.installation import OURS
    assert not [m for m, ours in OURS.items() if m in sys.modules and ours not in sys.modules]
    from scipy import optimize
    root = grad(lambda a: optimize.brentq(lambda x: x * x - a, 0.0, 5.0))(4.0)
    assert abs(root - 0.25) < 1e-12, root
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_scipys_modules_are_imported_while_ours_look_up_a_rule():
    program = """
import numpy as np, scipy.linalg, chainrules_scipy
from chainrules_tape import grad
with chainrules_scipy.install():
    found = grad(lambda x: scipy.linalg.expm(x)[0, 1])(np.zeros((2, 2)))
assert found.tolist() == [[0.0, 1.0], [0.0, 0.0]], found
"""
    subprocess.run([sys.executable, "-c", program], check=True)


FOUND = """
import importlib, sys
import chainrules_scipy
from chainrules_scipy import installation

def load():
    for theirs in installation.OURS:
        importlib.import_module(theirs)

if sys.argv[1] == "installed":
    with chainrules_scipy.install():
        load()
else:
    load()
    chainrules_scipy.install().remove()
for at in sorted(installation._places.values(), key=lambda at: (at.owner.__name__, at.name)):
    put = getattr(at.put, "__func__", at.put)
    ours = dict(zip(put.__code__.co_freevars, put.__closure__ or ())).get("function")
    ours, codes = getattr(ours, "cell_contents", None), []
    while ours is not None:
        inner = [c.cell_contents for c in getattr(ours, "__closure__", None) or ()]
        codes += [c.__code__.co_firstlineno for c in (ours, *inner) if hasattr(c, "__code__")]
        ours = getattr(ours, "__wrapped__", None)
    print(at.owner.__name__, at.name, codes)
"""


def test_our_functions_are_the_same_where_scipy_is_imported_while_they_are_installed():
    found = [
        subprocess.run(
            [sys.executable, "-c", FOUND, when], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        for when in ("installed", "before")
    ]
    assert len(found[0]) > 500
    assert found[0] == found[1]


def test_a_filter_is_differentiated_where_scipy_is_imported_while_ours_is_installed():
    """Its state at rest divides by the first coefficient, also where that is 1."""
    program = """
import numpy as np, chainrules_scipy
from chainrules_tape import grad
chainrules_scipy.install()
from scipy import signal
x = np.cos(np.arange(20.0))
f = lambda a: np.sum(x * signal.filtfilt(np.array([0.2, 0.3]), a, x))
a, h = np.array([1.0, -0.4]), 1e-6
truth = [(f(a + h * e) - f(a - h * e)) / (2 * h) for e in np.eye(2)]
print(np.abs(grad(f)(a) - truth).max() < 1e-6)
"""
    run = [sys.executable, "-c", program]
    assert subprocess.run(run, check=True, capture_output=True, text=True).stdout == "True\n"


OF_OBJECTS = {
    "solve": lambda p: np.sum(scipy.linalg.solve(np.eye(2), b=np.array([p[1], 1.0]))),
    "logpdf": lambda p: scipy.stats.norm.logpdf(0.3, loc=np.array([p[0], 1.0])).sum(),
    "CubicSpline": lambda p: scipy.interpolate.CubicSpline(
        np.arange(4.0), np.array([p[0], p[1], 1.0, 2.0])
    )(1.5),
    "quad": lambda p: scipy.integrate.quad(
        lambda x, q: x * q[0] * q[1], 0, 1, args=(np.array([p[0], p[1]]),)
    )[0],
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_arrays_of_objects_are_taken_as_keywords_and_by_classes(name):
    f, p = OF_OBJECTS[name], np.array([0.7, 1.3])
    wanted = [(f(p + e) - f(p - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
    with chainrules_scipy.install():
        np.testing.assert_allclose(grad(f)(p), wanted, rtol=1e-6, atol=1e-8)
