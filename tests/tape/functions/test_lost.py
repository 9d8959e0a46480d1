"""Reports of what a function lost: refusals that it caught, results that depend on nothing."""

from __future__ import annotations

import contextlib
import io
import math
import pickle
import warnings

import numpy as np
import pytest

from chainrules_py import (
    ChainRulesError,
    LostDerivativeWarning,
    NotDifferentiableError,
    TracerError,
)
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, linearize, value_and_grad, vjp

X = np.array([0.5, 2.0])


def _line(f, k):
    return rf"{f.__code__.co_filename}:{f.__code__.co_firstlineno + k}\b"


# ----------------------------------------------------------------------- refusals that are caught


def _log(x):
    try:
        return math.log(x[0]) + np.sum(x**2)
    except Exception:
        return 1e25


def _float(x):
    try:
        return float(x[0]) * np.sum(x)
    except TracerError:
        return np.inf


def _bare(x):
    try:
        y = np.asarray(x, float)
    except:  # noqa: E722
        return 0.0
    return np.sum(y)


def _suppressed(x):
    y = 1e25
    with contextlib.suppress(Exception):
        y = sum(map(float, x))
    return y


def _text(x):
    try:
        return float(f"{x[0]:.9g}")
    except Exception:
        return 1e25


def _percent(x):
    try:
        return float("%.9g" % x[0])  # noqa: UP031
    except Exception:
        return 1e25


def _counted(x):
    try:
        return np.sum(np.ones(int(x[1])))
    except Exception:
        return 1e25


def _indexed(x):
    try:
        return [1.0, 2.0, 3.0][x[1]]
    except Exception:
        return 1e25


def _written(x):
    buffer = np.zeros(2)
    try:
        buffer[0] = x[0]
    except Exception:
        buffer[:] = 1.0
    return np.sum(buffer)


def _of_a_library(x):
    import statistics

    try:
        return statistics.fmean(x)
    except Exception:
        return 1e25


IDIOMS = [_log, _float, _bare, _suppressed, _text, _percent, _counted, _indexed, _written]
IDIOMS += [_of_a_library]
DOORS = {
    "grad": grad,
    "value_and_grad": value_and_grad,
    "vjp": lambda f: lambda x: vjp(f, x),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: linearize(f, x),
    "nested": lambda f: grad(lambda x: np.sum(grad(f)(x))),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("f", IDIOMS)
def test_a_handler_of_everything_is_no_result(f, door):
    with pytest.raises(TracerError, match=_line(f, 0) + rf".*{__file__}:\d+, and went on") as error:
        DOORS[door](f)(X)
    assert "caught" in str(error.value)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("f", IDIOMS)
def test_beside_what_depends_it_is_a_warning(f, door):
    whole = lambda x: f(x) + np.sum(x * x)
    with pytest.warns(LostDerivativeWarning, match=r"caught .* went on"):
        DOORS[door](whole)(X)
    with v.strict(), pytest.raises(TracerError, match="caught"):
        DOORS[door](whole)(X)


def _added(x):
    b = np.zeros(2)
    b += x


REFUSED = {
    "item": lambda x: x[0].item(),
    "list": lambda x: x.tolist(),
    "bytes": lambda x: x.tobytes(),
    "pickle": pickle.dumps,
    "sum in place": _added,
    "output": lambda x: np.sin(x, out=np.zeros(2)),
    "copyto": lambda x: np.copyto(np.zeros(2), x),
    "put": lambda x: np.put(np.zeros(2), [0], x[:1]),
    "key": lambda x: {x[0]: 1},
    "flat": lambda x: x.flat,
    "view": lambda x: x.view(np.int64),
    "ufunc.at": lambda x: np.multiply.at(x, [0], 2.0),
    "reduceat": lambda x: np.add.reduceat(x, [0, 1]),
    "frompyfunc": lambda x: np.frompyfunc(math.sin, 1, 1)(x),
    "file": lambda x: np.savetxt(io.StringIO(), x),
    "fraction": lambda x: x[0].as_integer_ratio(),
    "strides": lambda x: x.strides,
    "without a rule": lambda x: np.busday_count(x[0], x[1]),
    "keyword": lambda x: np.add(x, 1.0, signature="dd->d"),
    "modulus": lambda x: pow(x, 2, 2),
    "option": lambda x: np.linalg.norm(x, x[0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_refusal_is_reported_if_it_is_caught(name):
    def f(x):
        try:
            return np.sum(x) + REFUSED[name](x)
        except ChainRulesError:
            return np.sum(x)

    with pytest.warns(LostDerivativeWarning, match=rf"caught .*{__file__}:\d+, and went on"):
        grad(f)(X)


def test_what_people_write_for_other_errors_says_nothing():
    def f(x):
        try:
            y = x[7]
        except IndexError:
            y = x[0]
        with contextlib.suppress(ZeroDivisionError):
            y = y + 1 / 0
        try:
            y = y + np.linalg.inv(np.zeros((2, 2)))[0, 0]
        except np.linalg.LinAlgError:
            y = 2.0 * y
        if hasattr(x, "__array_interface__"):
            y = 0.0 * y
        for number in (float, int, complex):
            with contextlib.suppress(TypeError):
                y = 0.0 * number(x)
        assert isinstance(str(y), str)
        assert isinstance(y, (int, float, np.floating))
        return y * y

    assert grad(f)(X).tolist() == [4.0, 0.0]


def test_an_error_that_a_function_raises_is_not_reported():
    def f(x):
        try:
            return math.log(x[0])
        except TracerError:
            raise KeyError("another") from None

    with pytest.raises(KeyError, match="another"):
        grad(f)(X)
    assert grad(np.sum)(X).tolist() == [1.0, 1.0]  # and left nothing behind


# ------------------------------------------------------------------------- nothing that depends


class Cost:
    """A cost that keeps its last value, as solvers recommend."""

    def __init__(self, same):
        self.same, self.last, self.y = same, None, None

    def __call__(self, x):
        if self.last is None or not self.same(x, self.last):
            self.y = float(np.sum(getattr(x, "value", x) ** 2))
            self.last = np.array(getattr(x, "value", x))
        return self.y


CACHES = {
    "array_equal": np.array_equal,
    "allclose": np.allclose,
    "==": lambda x, last: (x == last).all(),
    "of numbers": lambda x, last: all([a == b for a, b in zip(x, last, strict=True)]),
}


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_that_is_hit_gives_a_warning_that_names_the_comparison(name):
    cost = Cost(CACHES[name])
    cost(X)
    with pytest.warns(LostDerivativeWarning, match=rf"{__file__}:\d+ compares .* a cache\?"):
        assert not grad(cost)(X).any()


@pytest.mark.parametrize("make", [grad, value_and_grad])
def test_what_a_result_without_any_record_is(make):
    f = lambda x: 1.0
    with pytest.warns(LostDerivativeWarning, match=r"<lambda> \(.*unused='zero'"):
        make(f)(X)
    make(f, unused="zero")(X)
    make(f, unused="none")(X)
    with pytest.raises(NotDifferentiableError, match="unused="):
        make(f, unused="raise")(X)
    with pytest.raises(NotDifferentiableError, match="'warn'"):
        make(f, unused="warning")


@pytest.mark.parametrize(
    "make",
    [np.zeros_like, np.ones_like, np.empty_like, lambda x: np.zeros_like(x, shape=3), np.copy],
)
def test_a_buffer_does_not_hide_that_a_result_depends_on_nothing(make):
    def f(x):
        make(x)[0] = 2.0
        return 3.0

    with pytest.warns(LostDerivativeWarning, match="depends on nothing"):
        assert not grad(f)(X).any()


def test_only_the_outermost_function_is_warned_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inner = grad(lambda x: np.sum(x) + np.sum(grad(lambda z: 2.0)(x)))
        assert inner(X).tolist() == [1.0, 1.0]
        assert grad(lambda x: np.sum(grad(lambda z: np.sum(3.0 * z))(x)))(X).tolist() == [0.0, 0.0]
        assert grad(lambda x: np.sum(0.0 * x))(X).tolist() == [0.0, 0.0]
        assert grad(lambda x, y: np.sum(x), (0, 1))(X, X)[1].tolist() == [0.0, 0.0]
        assert grad(lambda empty: 1.0)({}) == {}
