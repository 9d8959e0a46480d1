"""What a function keeps, asks, changes or gives besides arrays: seen, refused, or run as it is.

A generator for each way in which something can come into a function, or leave it, that is no input
and no result of a program. Whatever a compiled function gives is what the function gives; where it
cannot, it says so in operations of its own, and what people have is as the function itself leaves
it.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import math
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_py import (
    DegeneracyWarning,
    NotDifferentiableError,
    frule,
    linear_rule,
    non_differentiable,
    primitive,
    rrule,
    scalar_rule,
    strict,
)
from chainrules_tape import debug_nans, grad, jvp, value_and_grad, vjp
from tests.engines.compile.shadow import same

A = np.array([0.5, -1.5, 2.0])


def outcome(call):
    """Return what a call gives, refuses or raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "gives", call()
        except RecordingError as error:
            return "refuses", str(error)
        except Exception as error:
            return "raises", type(error)


def equal(x, y):
    if isinstance(x, (np.ndarray, float, complex, np.generic)):
        return same(x, y)
    if isinstance(x, (list, tuple, collections.deque)):
        return type(x) is type(y) and len(x) == len(y) and all(map(equal, x, y))
    if isinstance(x, dict):
        return list(x) == list(y) and all(map(equal, x.values(), y.values()))
    if hasattr(x, "__dict__"):
        return type(x) is type(y) and equal(vars(x), vars(y))
    return type(x) is type(y) and x == y


def check(make, calls):
    """Compare the calls of a function with those of its compiled copy, and what both leave."""
    (f, kept), (g, theirs) = make(), make()
    compiled = compile(g)
    for args in calls:
        mine, other = copy.deepcopy(args), copy.deepcopy(args)
        wanted, found = (
            outcome(lambda mine=mine: f(*mine)),
            outcome(lambda other=other: compiled(*other)),
        )
        assert found[0] == wanted[0]
        assert equal(found[1], wanted[1]) if found[0] == "gives" else found[1] is wanted[1]
        assert equal(kept, theirs)
        assert equal(mine, other)
    return compiled


# ---------------------------------- rules and modes

CONSTRUCTORS = {
    "scalar_rule": lambda p, k: scalar_rule(p, lambda y, x: k),
    "linear_rule": lambda p, k: linear_rule(p, lambda y_bar, x: k * y_bar),
    "rrule": lambda p, k: rrule.register(p, types=(object,))(
        lambda x: (p(x), lambda y_bar: (k * y_bar,))
    ),
    "frule": lambda p, k: frule.register(p, types=(object,))(lambda dots, x: (p(x), k * dots[0])),
    "non_differentiable": lambda p, k: non_differentiable(p),
}


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_a_rule_that_is_stated_after_recording_is_seen(constructor):
    @primitive
    def p(x):
        return x * 2.0

    slope = lambda x: (
        jvp(lambda x: np.sum(p(x)), (x,), (np.ones(3),))[1]
        if constructor == "frule"
        else grad(lambda x: np.sum(p(x)))(x)
    )
    compiled = compile(slope)
    assert same(compiled(A), slope(A))
    CONSTRUCTORS[constructor](p, 5.0)
    assert outcome(lambda: compiled(A))[0] == outcome(lambda: slope(A))[0]
    found, wanted = outcome(lambda: compiled(A)), outcome(lambda: slope(A))
    assert found[0] != "gives" or equal(found[1], wanted[1])


def test_statements_about_others_keep_programs():
    compiled = compile(grad(lambda x: np.sum(np.sin(x))))
    compiled(A)

    @primitive
    def other(x):
        return x

    grad(lambda x: np.sum(other(x)))(A)
    scalar_rule(other, lambda y, x: 1.0)
    compiled(A)
    assert len(compiled.programs) == 1


def test_modes_are_part_of_what_a_program_is_for():
    vectors = grad(lambda x: np.sum(np.linalg.eigh(x)[1][0]))
    compiled = compile(vectors)
    apart = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert same(compiled(apart), vectors(apart))
    for _ in range(3):
        with pytest.warns(DegeneracyWarning) as told:
            compiled(np.eye(2))
        assert len(told) == 1
    with strict(), pytest.raises(NotDifferentiableError):
        compiled(np.eye(2))
    logs = compile(grad(lambda x: np.sum(np.log(x))))
    logs(A * A)
    with debug_nans(), np.errstate(all="ignore"), pytest.raises(FloatingPointError):
        logs(-A * A)


def test_steps_chosen_by_numbers_are_chosen_anew():
    odeint = pytest.importorskip("chainrules_py.ops").odeint
    f = grad(lambda k: odeint(lambda y, t: -k * y, 1.0, np.array([0.0, 1.0]))[-1])
    compiled = compile(f)
    with pytest.warns(RecordingWarning, match="chooses its steps by numbers"):
        compiled(1.0)
    assert same(compiled(8.0), f(8.0))


# ---------------------------------- memory in common


def first_is_written(a, b):
    b[0] = 5.0
    return np.sum(a * b)


DOORS = {
    "value_and_grad": lambda a, b: value_and_grad(first_is_written, (0, 1))(a, b),
    "vjp": lambda a, b: vjp(first_is_written, a, b)[1](1.0),
    "jvp": lambda a, b: jvp(first_is_written, (a, b), (a * 1.0, b * 1.0)),
}
OVERLAPS = {
    "none": lambda w: (w[:4].copy(), w[1:5].copy()),
    "some": lambda w: (w[:4], w[1:5]),
    "all": lambda w: (w[:4], w[:4]),
}


@pytest.mark.parametrize("door, first, then", list(itertools.product(DOORS, OVERLAPS, OVERLAPS)))
def test_memory_that_arguments_share(door, first, then):
    f = DOORS[door]
    compiled = compile(f)
    for way in (first, then, first):
        found, wanted = [
            outcome(lambda g=g, way=way: g(*OVERLAPS[way](np.arange(6.0)))) for g in (compiled, f)
        ]
        assert found[0] == wanted[0]
        assert found[0] != "gives" or equal(found[1], wanted[1])


def test_a_captured_array_that_is_given_too():
    w = np.arange(4.0)

    def h(b):
        b[0] = 5.0
        return np.sum(w * b)

    f = value_and_grad(h)
    compiled = compile(f)
    compiled(w.copy())
    assert outcome(lambda: compiled(w))[0] == outcome(lambda: f(w))[0]


WRITES = {
    "clip": lambda y: y.clip(-1, 1, out=y),
    "round": lambda y: y.round(0, out=y),
    "max": lambda y: y[:, :1].max(axis=1, out=y[:, 1]),
    "cumsum": lambda y: np.cumsum(y[0], out=y[1]),
    "clip by place": lambda y: np.clip(y, -1, 1, y),
    "clip by place, a method": lambda y: y.clip(-1, 1, y),
    "nan_to_num": lambda y: np.nan_to_num(y, copy=False),
    "byteswap": lambda y: y.byteswap(inplace=True),
    "negative by place": lambda y: np.negative(y, y),
    "of a view": lambda y: y[::-1].clip(-1, 1, out=y[::-1]),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("mine", [True, False])
def test_writes_by_functions_and_methods(write, mine):
    def f(x):
        y = x * 1.0 if mine else x
        WRITES[write](y)
        return y * 2.0

    small = np.array([[0.25, 0.5], [0.5, 0.25]])
    compiled = compile(f)
    for x in (small, small * 7.3):
        found = outcome(lambda x=x: compiled(x.copy()))
        assert equal(found[1], f(x.copy()))


# ---------------------------------- texts and numbers

TEXTS = {
    "str": str,
    "format": lambda x: f"{x:.2f}",
    "f-string": lambda x: f"{x}",
    "repr": repr,
    "percent": lambda x: "%s" % x,  # noqa: UP031
    "branch": lambda x: x * 2 if str(x).startswith("-") else x,
    "key": lambda x: {f"k{x}": x},
    "number": lambda x: float(str(x)),
    "length": lambda x: x * len(str(x)),
    "name": lambda x: type(x).__name__,
    "round": round,
    "digits": lambda x: round(x, 1),
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
    "hash": hash,
    "set": lambda x: len({x, 1.5}),
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_and_roundings(text):
    compiled = compile(TEXTS[text])
    for x in (1.5, 2.25, -0.5):
        found = outcome(lambda x=x: compiled(x))
        assert found[0] == "refuses" or equal(found[1], TEXTS[text](x))


@pytest.mark.filterwarnings("ignore:Setting the shape")  # which NumPy 2.5 deprecates
def test_what_is_set_of_arrays():
    def shaped(x):
        y = np.stack([x, x])
        y.shape = (6,)
        return y

    def parts(x):
        z = x * 1j
        z.imag = 3.0
        z.real[0] = x[1]
        return z

    with pytest.warns(RecordingWarning, match="x.reshape"):
        assert same(compile(shaped)(A), shaped(A))
    assert same(compile(parts)(A), parts(A))


# ---------------------------------- statics


@dataclasses.dataclass
class Part:
    w: object
    tag: str = "a"


# ---------------------------------- what a function keeps


class Kept:
    """An object of people's."""


def keeps(how):
    def make():
        o = Kept()
        o.x, o.n, o.d, o.l, o.a = None, 0, {}, [], np.zeros(3)

        def attribute(x):
            y = x if o.x is None else x - o.x
            o.x = x
            return y

        def memo(x):
            if o.x is None:
                o.x = np.sum(x)
            return x * o.x

        def average(x):
            o.a = 0.5 * o.a + x
            return o.a * 2.0

        def count(x):
            o.n += 1
            return x * o.n

        def count_alone(x):
            o.n += 1
            return x * 2.0

        def item(x):
            o.d["n"] = x * 2
            return x * len(o.d)

        def append(x):
            o.l.append(np.sum(x))
            return x * len(o.l)

        def array(x):
            o.a += 1.0
            return x * o.a

        def table(x):
            if len(x) not in o.d:
                o.d[len(x)] = 2.0 * len(x)
            return x * o.d[len(x)]

        def new(x):
            o.new = x * 2
            return x

        return locals()[how], o

    return make


KEEPS = ["attribute", "memo", "average", "count", "count_alone", "item", "append", "array"]
KEEPS += ["table", "new"]


@pytest.mark.parametrize("how", KEEPS)
@pytest.mark.parametrize("door", ["plain", "value_and_grad"])
def test_what_a_function_keeps_is_as_it_would_be(how, door):
    def make():
        f, o = keeps(how)()
        if door == "plain":
            return f, o
        return value_and_grad(lambda x: (f(x), np.sum(x * x))[1]), o

    if door == "value_and_grad" and how != "count_alone" and how != "array" and how != "table":
        return  # a tracer that is kept is refused by the tape
    compiled = check(make, [(A,), (2 * A,), (3 * A,), (4 * A,)])
    assert bool(compiled.programs) == (how in ("table", "memo"))


ARGUMENTS = {
    "sort": ([3, 1], lambda v, x: (v.sort(), x)[1]),
    "pop": ([3, 1], lambda v, x: x * v.pop()),
    "item": ([1.0, 2.0], lambda v, x: (v.__setitem__(0, x), x)[1]),
    "key": ({"n": 1.0}, lambda v, x: (v.update(n=x), x)[1]),
    "new key": ({"n": 1.0}, lambda v, x: (v.update(m=x), x)[1]),
    "field": (Part(2.0), lambda v, x: (setattr(v, "w", x), x)[1]),
    "nested": ({"n": [1.0]}, lambda v, x: (v["n"].append(x), x)[1]),
}


@pytest.mark.parametrize("way", ARGUMENTS)
def test_arguments_that_are_changed(way):
    given, f = ARGUMENTS[way]
    calls = [(copy.deepcopy(given), A), (copy.deepcopy(given), 2 * A)]
    check(lambda: (f, None), calls)


class Holder:
    def __init__(self, v):
        self.v = v


RESULTS = {
    "object": lambda x: Holder(x * 2),
    "object in a list": lambda x: [Holder(np.sum(x))],
    "plain object": lambda x: (x, Holder(1.0)),
    "deque": lambda x: collections.deque([x * 2]),
    "set": lambda x: (x, {1, 2}),
    "bytes": lambda x: (x, bytearray(2)),
    "slice": lambda x: slice(x[0], None),
    "text in a dataclass": lambda x: Part(x * 2, "b"),
}
ITERATORS = {
    "map": lambda x: map(np.sin, x),
    "zip": lambda x: zip(x, x, strict=True),
    "generator": lambda x: (y * 2 for y in x),
    "iterator": iter,
    "values": lambda x: {"a": x}.values(),
}


@pytest.mark.parametrize("result", RESULTS)
def test_results_are_those_of_the_call(result):
    f = RESULTS[result]
    compiled = compile(f)
    for x in (A, 2 * A, 3 * A):
        found, wanted = outcome(lambda x=x: compiled(x))[1], f(x)
        if result == "slice":
            assert same(found.start, wanted.start)
        else:
            assert equal(found, wanted)
    if result in ("set", "bytes", "plain object"):
        assert compiled(A)[1] is not compiled(A)[1]


@pytest.mark.parametrize("result", ITERATORS)
def test_results_that_are_gone_through_later(result):
    compiled = compile(ITERATORS[result])
    for x in (A, 2 * A):
        assert equal(list(outcome(lambda x=x: compiled(x))[1]), list(ITERATORS[result](x)))


@pytest.mark.parametrize("made", [iter, lambda x: (y for y in x), lambda x: map(abs, x)])
def test_iterators_are_refused_untouched(made):
    it = made([1.0, 2.0])
    with pytest.raises(RecordingError, match="pass a list"):
        compile(lambda it: sum(it), strict=True)(it)
    assert list(it) == [1.0, 2.0]


# ---------------------------------- errors and states


def inverse(x):
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return np.zeros_like(x)


def trapped(x):
    with np.errstate(all="raise"):
        try:
            return 1 / x
        except FloatingPointError:
            return x


def ignored(x):
    with np.errstate(all="ignore"):
        return 1 / x


def told(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return 1 / x
        except RuntimeWarning:
            return x


def raising(x):
    with np.errstate(divide="raise"):
        return 1 / x


TRIES = [inverse, trapped, ignored, told, raising]


@pytest.mark.parametrize("f", TRIES)
@pytest.mark.parametrize("turned", [False, True])
def test_errors_and_what_is_done_with_them(f, turned):
    x, y = np.array([[2.0, 1.0], [1.0, 3.0]]), np.zeros((2, 2))
    check(lambda: (f, None), [(y,), (x,), (y,)] if turned else [(x,), (y,), (2 * x,)])


def test_errors_are_handled_in_the_program_as_in_the_function():
    compiled = compile(ignored)
    with np.errstate(all="raise"):
        assert same(compiled(A), 1 / A)
        assert np.isinf(compiled(A * 0.0)).all()
    assert len(compiled.programs) == 1


# ---------------------------------- the rest


def test_attributes_of_a_function_are_put_back():
    def f(x):
        f.n = f.n + 1
        return x * f.n

    f.n = 0
    compiled = compile(f)
    found = [outcome(lambda: compiled(A))[1] for _ in range(3)]
    assert all(map(same, found, (A, 2 * A, 3 * A)))


def test_methods_are_bound():
    class Scale:
        def __init__(self, k):
            self.k = k

        @compile
        def by(self, x):
            return x * self.k

    scale = Scale(2.0)
    assert same(scale.by(A), A * 2.0)
    scale.k = 3.0
    assert same(scale.by(A), A * 3.0)


def test_names_that_are_no_arguments():
    with pytest.raises(TypeError, match="zzz"):
        compile(lambda x: x, static=("zzz",))
    with pytest.raises(TypeError, match="names -1"):
        compile(lambda x: x, static=-1)


def test_what_is_refused_stays_refused_where_the_function_goes_on():
    def f(x):
        try:
            return math.sin(x)
        except Exception:
            return x

    with pytest.raises(RecordingError):
        compile(f, strict=True)(1.0)


@pytest.mark.parametrize("recorded", [False, True])
def test_a_time_out_ends_the_call(recorded):
    """As one that a signal handler raises at any step; the function is compiled later."""
    expires = []

    @primitive
    def step(x):
        if expires:
            raise expires.pop()
        return 2.0 * x

    c = compile(lambda x: step(x) + 1.0)
    if recorded:
        c(A)
    expires.append(TimeoutError("late"))
    with pytest.raises(TimeoutError, match="late"):
        c(A)
    np.testing.assert_array_equal(c(A), 2.0 * A + 1.0)
    assert len(c.programs) == 1
