"""One algorithm for all modes: a mode of the test's own says what its links are, and no more."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from chainrules_py import (
    ChainRulesError,
    Config,
    LinearMap,
    NoRuleError,
    TracerError,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py.extend import ArrayLike, Classes, SettledCalls, Trace
from chainrules_py.tracing.trace_call import note_rule
from chainrules_tape import grad, jvp, linearize, vjp
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point, leaves


class Following(Trace):
    """Tracing of what a value depends on: the link is the set of the names of inputs."""

    mode = "reverse"
    config = Config()
    at = operator.attrgetter("run")
    link = operator.attrgetter("names")

    def fields(self, cls, links):
        return frozenset().union(*links.values())

    def part(self, at, link, value, key):
        return link

    def leave(self, at, y, out, arrays, bound):
        at.append((bound.statement.primal.__name__, len(arrays)))
        return self.wrap(y, at, frozenset().union(*out[1]))

    def wrap(self, value, at, link):
        return CLASSES[type(value)](value, at, link)


class General(ArrayLike):
    """Values each of whose calls is looked at."""

    __slots__ = ("names", "payload", "run")
    state = __slots__
    engine = "following"
    config = Following.config
    tracing = Following()
    level = 1

    def __init__(self, value, run, names):
        self.payload, self.run, self.names = value, run, frozenset(names)

    def __trace__(self, operation, operands, options, primal=None):
        return self.tracing.call(operation, primal, operands, options, self.run)


class Short(SettledCalls, General):
    """Values whose calls are settled by types."""

    __slots__ = ()


Following.tracer = General
CLASSES = {}


@pytest.fixture(params=[General, Short])
def values(request):
    """Make values of a run, in the general way and in the short one."""
    CLASSES.clear()
    made = Classes(request.param, request.param.tracing.wrap_fields)
    CLASSES.update({cls: made[cls] for cls in (np.ndarray, np.float64, float)})
    CLASSES.update({type(np.linalg.qr(np.eye(2))): made[type(np.linalg.qr(np.eye(2)))]})
    run = []
    return run, lambda name: made[np.ndarray](np.eye(2) + 1.0, run, {name})


def test_links_go_from_operands_to_the_result(values):
    run, value = values
    x, w = value("x"), value("w")
    assert (x * w).names == {"x", "w"}
    assert np.sum(np.sin(x)).names == {"x"}
    assert [name for name, _ in run] == ["multiply", "sin", "sum"]


def test_plain_operands_that_may_be_written_to_are_handed_over(values):
    run, value = values
    y = value("x") * np.ones(2)
    assert y.names == {"x"}
    assert run == [("multiply", 1)]


def test_fields_of_a_result_are_wrapped_one_by_one(values):
    _, value = values
    q, r = np.linalg.qr(value("x"))
    assert q.names == r.names == {"x"}


def test_an_engine_without_writes_refuses_to_write_into_an_array(values):
    _, value = values
    with pytest.raises(TracerError, match=r"use its result: y = np\.sin\(\.\.\.\)"):
        np.sin(value("x"), out=np.zeros((2, 2)))


def test_where_no_derivative_flows_the_value_is_plain(values):
    run, value = values
    assert (value("x") > 1.5).tolist() == [[True, False], [False, True]]
    assert not run


def test_a_body_is_traced_and_without_one_the_rule_is_missed(values):
    run, value = values

    @primitive
    def twice(x):
        return x + x

    @primitive
    def closed(x): ...

    assert twice(value("x")).names == {"x"}
    assert run == [("add", 0)]
    with pytest.raises(NoRuleError, match="closed"):
        closed(value("x"))


def test_a_note_names_the_rule_or_says_nothing():
    error = ValueError("x")
    note_rule(error, len, "pulling back 1.0")
    assert not hasattr(error, "__notes__")


def test_a_half_that_takes_too_little_is_told_what_it_gets():
    @primitive
    def f(x):
        return x * x

    @rule(f)
    def f_rule(x):
        return f(x), (LinearMap(lambda t, a: 2 * a * t, lambda t: 2 * t, x),)

    with pytest.raises(TypeError) as caught:
        grad(f)(2.0)
    (note,) = caught.value.__notes__
    assert "write pull(y_bar, *saved)" in note
    assert "test_trace_call.py:" in note


def test_a_list_that_no_rule_takes_may_be_meant_as_an_array():
    @primitive
    def f(x):
        return x

    scalar_rule(f, lambda y, x: 1.0)
    with pytest.raises(NoRuleError, match=r"np\.array\(x\)"):
        grad(lambda x: f(x)[0])([1.0, 2.0])


# ------------------------------------------------- truths that values are converted to

MASKED = np.array([[0.0, 2.0], [3.0, 0.0]])
PARTS = 8


@pytest.mark.parametrize("dtype", [bool, np.bool_, "?", np.dtype(bool)])
@pytest.mark.parametrize("f", [np.max, np.sort, np.abs, np.cumsum, np.diag, lambda m: np.pad(m, 1)])
def test_they_have_no_derivative(f, dtype):
    total = lambda x: np.sum(f(x.astype(dtype)) * np.sum(x * x))
    y, pull = vjp(total, MASKED)
    scale = np.sum(f(MASKED.astype(dtype)) * 1.0)
    assert y == total(MASKED)
    assert np.allclose(pull(1.0)[0], 2 * MASKED * scale)
    assert np.isclose(jvp(total, (MASKED,), (MASKED,))[1], np.sum(2 * MASKED * MASKED) * scale)


def wrong(names):
    """Calls with one operand made truths: what they give is pulled through, or refused."""
    for call in [call for name in names for call in surface_calls(name) if not call.complex]:
        point = Point(call)
        for k in range(len(point.xs)):

            def f(*xs, k=k, point=point):
                xs = [x.astype(bool) if i == k and np.shape(x) else x for i, x in enumerate(xs)]
                parts = [y for y in leaves(point.value(*xs)) if hasattr(y, "dtype")]
                return sum([np.sum(y * 2.0) for y in parts if y.dtype.kind in "bifu"])

            with np.errstate(all="ignore"):
                try:
                    f(*point.xs)
                except Exception:  # no call of NumPy's
                    continue
                try:
                    vjp(f, *point.xs)[1](1.0)
                except (ChainRulesError, np.linalg.LinAlgError):
                    continue
                except Exception as error:
                    yield f"{call}, operand {k}: {error!r}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "group", [0, *[pytest.param(k, marks=pytest.mark.slow) for k in range(1, PARTS)]]
)
def test_every_call_takes_them(group):
    assert not [*wrong(names_with_calls()[group::PARTS])]


@pytest.mark.parametrize("take", [vjp, linearize])
def test_an_entry_that_an_outer_differentiation_writes_to_is_as_at_the_call(take):
    @primitive
    def weighted(p, x):
        return p["w"] * x

    @rule(weighted)
    def _(p: dict, x: np.ndarray):
        times = lambda t, w: w * t
        of_p = LinearMap(lambda t, x: t["w"] * x, lambda y_bar, x: {"w": y_bar * x}, x)
        return weighted(p, x), (of_p, LinearMap(times, times, p["w"]))

    def written(w):
        w = w * 1.0
        _, half = take(lambda x: weighted({"w": w}, x), np.ones(2))
        w[0] = 7.0
        t = half(np.ones(2))
        return np.sum((t[0] if take is vjp else t) * w)

    np.testing.assert_allclose(grad(written)(np.array([2.0, 3.0])), [7.0, 6.0])
