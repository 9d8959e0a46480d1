"""Operations that passes rewrite, with all their options, at every dtype: a generator.

A program is a few calls in a row. It is recorded at some numbers, called at others, and gives what
the function gives: as NumPy's calls to the bit, in C up to rounding of floating
numbers, and to the bit of all others. Where a number between is too large or too small for its
dtype, the function may be left for what it gives in more digits.
"""

from __future__ import annotations

import collections
import operator
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_py import ops as v
from chainrules_tape import grad
from tests.engines.compile.shadow import same

DTYPES = ["u1", "i1", "i4", "i8", "u8", "?", "f2", "f4", "f8", "g", "c8", "c16"]
SHAPES = ((5,), (3, 3), (60, 3))
MODERATE = (2, 3, 7, -1, 1, 0.5, 2.0, -2.5, 300.0, 1.0, -1.0, True, np.float64(3.0), np.float32(3))
EXTREME = (1e-30, 1e-7, 1e30, 1e-200, 1e200, 1e308, 5e-324, 2**53 + 1, 100, 10**9, -0.0, 0)
EXTREME += (np.inf, -np.inf, np.nan, 300, 1e-3, 6e-8, 12345.678, np.float64(1e-200), 1e5, 2e-5)
POWERS = (2, 3, 4, -1, -2, -4, -3, 0.5, 0, 1, 5, 16, -16, 2.0, -3.0, 17)
SOLVED = {
    "solve with a factor": lambda x, y: np.linalg.solve(np.linalg.cholesky(x), y),
    "solve with an upper factor": lambda x, y: np.linalg.solve(
        np.linalg.cholesky(x, upper=True), y
    ),
}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
OPERATORS |= {"//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul}
OF_TWO = {name: getattr(np, name) for name in ["multiply", "divide", "add", "subtract", "power"]}
OF_TWO |= {name: getattr(np, name) for name in ["maximum", "minimum"]} | OPERATORS
OF_ONE = {f.__name__: f for f in (np.negative, np.square, np.sqrt, np.exp, np.absolute, np.conj)}
OVER_AXES = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "max": np.max, "min": np.min}
OVER_AXES |= {"std": np.std, "cumsum": np.cumsum}
OVER_AXES |= {"add.reduce": np.add.reduce, "count": np.count_nonzero, "nansum": np.nansum}
VIEWS = {
    "T": np.transpose,
    "reshape": lambda x: np.reshape(x, -1),
    "astype f4": lambda x: x.astype(np.float32),
    "astype i1": lambda x: x.astype(np.int8),
    "flip": np.flip,
    "concatenate": lambda x: np.concatenate([x, x]),
    "put": lambda x: np.where(np.zeros(x.shape) > 1, x, x * 2),
    "twice": lambda x: x + x,
}
OPERATIONS = OF_TWO | OF_ONE | OVER_AXES | VIEWS | SOLVED | {"matmul": np.matmul, "dot": np.dot}
CANCELLING = {"+", "-", "add", "subtract", "//", "%", "std", "@", "matmul", "dot", "exp", *SOLVED}


WRONG_ONCE = (173, 182, 289, 290, 297, 372, 418, 623, 730, 748, 1034, 1134, 1198)


class Step(NamedTuple):
    """Call of a program: operands are places of what came before, in a tuple, or numbers."""

    name: str
    operands: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...] = ()


class Out(NamedTuple):
    """An array that a call writes to, made anew each time."""

    dtype: str

    def made(self, xs):
        shape = np.broadcast_shapes(*map(np.shape, xs))
        return np.full(shape, 3, self.dtype, like=next(x for x in xs if np.ndim(x)))


def run(steps, xs, number=lambda c: c):
    """Give what each step gives."""
    values = list(xs)
    for name, operands, options in steps:
        given = [values[k[0]] if type(k) is tuple else number(k) for k in operands]
        way = dict(options)
        if "out" in way:
            way["out"] = way["out"].made(given)
        values.append(OPERATIONS[name](*given, **way))
    return values


def drawn(rng, kind):
    """Draw the steps of a program, and whether terms of it may cancel."""
    steps: list[Step] = []
    cancel = rng.random() < 0.4
    numbers = MODERATE if cancel else (*MODERATE, *EXTREME, *EXTREME)

    def choose(xs):
        return xs[rng.integers(len(xs))]

    def before():
        return (choose([0, 1, *range(2, 2 + len(steps)), 1 + len(steps), 1 + len(steps)]),)

    if rng.random() < 0.3:  # what is BLAS's product; a chain of numbers
        steps.append(choose([Step("*", ((0,), (1,))), Step("square", ((0,),))]))
        options = of_reduction("sum", rng, choose, kind)
        steps.append(Step("sum", ((2,),), tuple(options.items())))
    elif rng.random() < 0.4:
        names = ["*", "/", "multiply", "divide", "twice"]
        for name in [choose(names) for _ in range(rng.integers(2, 4))]:
            other = () if name == "twice" else (choose(numbers),)
            steps.append(Step(name, (((0 if not steps else 1 + len(steps),)), *other)))
    for _ in range(rng.integers(0 if steps else 2, 3)):
        options = {}
        way = rng.random()
        if way < 0.55:
            name = choose([n for n in OF_TWO if cancel or n not in CANCELLING])
            if rng.random() < 0.5:
                name = choose(["*", "/", "multiply", "divide"])
            other = choose(numbers) if rng.random() < 0.7 else before()
            if name in ("**", "power"):
                operands = (before(), choose(POWERS))
            else:
                operands = (before(), other) if rng.random() < 0.7 else (other, before())
            ufunc = name not in OPERATORS
        elif way < 0.65:
            names = [n for n in OF_ONE if cancel or n not in CANCELLING]
            name, operands, ufunc = choose(names), (before(),), True
        elif way < 0.72:
            name, operands, ufunc = choose([*VIEWS]), (before(),), False
        elif way < 0.76 and cancel:
            name, operands, ufunc = choose(["matmul", "dot", *SOLVED]), (before(), before()), False
        else:
            names = [n for n in OVER_AXES if cancel or n not in CANCELLING]
            name = choose(["sum", "sum", *names])
            operands, ufunc = (before(),), False
            options |= of_reduction(name, rng, choose, kind)
        if ufunc and rng.random() < 0.3:
            options |= of_ufunc(rng, choose, kind)
        steps.append(Step(name, operands, tuple(options.items())))
    return steps, cancel


def of_reduction(name, rng, choose, kind):
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        options["axis"] = choose([0, -1, None, (0,), 1])
    if rng.random() < 0.3 and name != "cumsum":
        options["keepdims"] = choose([True, False])
    if rng.random() < 0.25 and name not in ("mean", "std", "cumsum", "count"):
        options["initial"] = choose([1, 3.0, 1e-12, 100, 0, 1e30])
    if rng.random() < 0.2 and name not in ("cumsum", "count"):
        options["where"] = choose([[True, False, True], True, np.array(False), [[False], [True]]])
    if rng.random() < 0.15 and name not in ("max", "min", "count"):
        options["dtype"] = choose(["f8", "f4", "i1", "i8", "c16", kind])
    return options


def of_ufunc(rng, choose, kind):
    options: dict[str, Any] = {}
    if rng.random() < 0.4:
        options["where"] = choose([[True, False, True], True, np.array([False]), [[False], [True]]])
        options["out"] = Out(choose(["f8", kind, kind]))
    if rng.random() < 0.4:
        options["dtype"] = choose(["f8", "f4", "i8", kind])
    if rng.random() < 0.3:
        options["casting"] = choose(["unsafe", "same_kind"])
    if rng.random() < 0.3:
        options["order"] = choose(["F", "C", "K"])
    return options


def arguments(rng, kind, shape, cancel):
    """Give arrays, the first ones to record: zeros and ones, small and large ones."""
    dtype = np.dtype(kind)
    yield from [(np.full(shape, k, dtype), np.full(shape, k, dtype)) for k in (0, 1)]
    for scale in (1.0, 100.0, 0.03, 1e30, 1e-30, 1e-5, 1e4):
        if dtype.kind in "fc":
            largest = 50 if cancel else np.finfo(dtype).max / 2
            scale = min(scale if not cancel else 1.0, largest)
            xs = [scale * (0.5 + rng.random(shape)) for _ in range(2)]
        elif dtype.kind == "b":
            xs = [rng.random(shape) < 0.5 for _ in range(2)]
        else:
            most = np.iinfo(dtype).max
            most = most if scale > 1 else min(most, 2**53 + 99 if scale == 1 else 99)
            xs = [rng.integers(0, most, shape, np.uint64) for _ in range(2)]
        yield tuple([x.astype(dtype) for x in xs])


def in_digits(steps, xs):
    """Give the last value in more digits; None, where a step does not take them."""
    dtype = xs[0].dtype
    wide: Any = {"f": np.longdouble, "c": np.clongdouble}.get(dtype.kind)

    def number(c):
        if type(c) not in (float, np.float64) and dtype.kind not in "fc":
            return c
        near = c if wide is None or type(c) is np.float64 else dtype.type(c)
        return np.longdouble(np.real(near))

    try:
        return run(steps, [x if wide is None else x.astype(wide) for x in xs], number)[-1]
    except (TypeError, ValueError, OverflowError, np.linalg.LinAlgError):
        return None


def near(found, wanted, bound, least):
    found, wanted = (np.asarray(x, np.clongdouble) for x in (found, wanted))
    equal = (found == wanted) | ((found != found) & (wanted != wanted))
    return equal | (abs(found - wanted) <= bound * abs(wanted) + least)


def is_alike(found, values, wide, cancel):
    """Tell whether a value is what a function gave, up to rounding of floating numbers."""
    wanted = values[-1]
    if type(found) is not type(wanted) or np.shape(found) != np.shape(wanted):
        return False
    x, y = np.asarray(found), np.asarray(wanted)
    if x.dtype != y.dtype or y.dtype.kind not in "fc":
        return x.dtype == y.dtype and np.array_equal(x, y)
    dtypes = {np.asarray(v).dtype for v in values if np.asarray(v).dtype.kind in "fc"}
    eps = 40 * float(max([np.finfo(d).eps for d in dtypes]))
    least = 4 * float(np.finfo(y.dtype).smallest_subnormal)
    if cancel:
        sizes = [abs(np.asarray(v, np.clongdouble)) for v in values]
        least += eps * float(max([np.max(s, where=np.isfinite(s), initial=0) for s in sizes]))
    good = near(x, y, eps, least)
    if wide is not None and not good.all() and np.shape(wide) == x.shape:
        good |= near(x, np.asarray(wide).astype(y.dtype), eps, least)
    return bool(good.all())


def same_in_digits(values, wide, cancel):
    return is_alike(np.asarray(wide).astype(values[-1].dtype)[()], values, None, cancel)


def wrongs(seed, target, said):
    """Give the programs of a seed that are wrong, each with why.

    Where what the function is recorded at is too large or too small for it between, a looser
    program may be found to give something else, and be said to.
    """
    rng = np.random.default_rng(seed)
    kind, shape = DTYPES[rng.integers(len(DTYPES))], SHAPES[rng.integers(len(SHAPES))]
    steps, cancel = drawn(rng, kind)
    given = [*arguments(rng, kind, shape, cancel)]
    try:
        for xs in given:
            run(steps, xs)
    except (
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
        StopIteration,
        np.linalg.LinAlgError,
    ) as e:
        said[f"no function: {type(e).__name__}"] += 1
        return
    first = given[rng.integers(3)]

    def f(x, y):
        return run(steps, (x, y))[-1]

    exact = target == "numpy"
    compiled = compile(f, target=target, strict=True)
    try:
        for xs in (first, *given):
            found, values = compiled(*xs), run(steps, xs)
            wide = None if exact else in_digits(steps, xs)
            good = same(found, values[-1]) if exact else is_alike(found, values, wide, cancel)
            if not good:
                yield f"{seed} {kind} {shape} {steps}: {found!r}, not {values[-1]!r}"
                break
        said["programs"] += 1
    except RecordingError:
        said["refused"] += 1
    except RecordingWarning as e:
        wide = None if exact else in_digits(steps, first)
        if wide is not None and not same_in_digits(run(steps, first), wide, cancel):
            said["too large, or too small"] += 1
            return
        yield f"{seed} {kind} {shape} {steps}: {e}"
    except Exception as e:
        yield f"{seed} {kind} {shape} {steps}: {e!r}"


def found_in(seeds, target="numpy"):
    said: Any = collections.Counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RecordingWarning)
        found = [x for seed in seeds for x in wrongs(seed, target, said)]
    return found, said


@pytest.mark.parametrize("seeds", [WRONG_ONCE, range(5000, 5030)], ids=["wrong once", "others"])
def test_options_are_not_lost(seeds):
    """Of operations that passes rewrite, at every dtype; some of these programs were wrong."""
    found, said = found_in(seeds)
    assert not found
    assert said["programs"] > 0.8 * len(seeds)


@pytest.mark.slow
@pytest.mark.parametrize("target, seeds", [("numpy", 3000), ("c", 300)])
def test_options_are_not_lost_in_more_programs(target, seeds):
    found, said = found_in(range(seeds), target)
    assert not found
    assert said["programs"] > seeds / 2


METHODS = {
    "take, at most": lambda x: x.take([0, 99], mode="clip"),
    "take, around": lambda x: x.take([0, 7, -1], mode="wrap") * 2,
    "take, of an axis": lambda x: x.take([1, 0], axis=1),
    "take, flat": lambda x: x.take([5, 0]) + x.take([2, 1], None),
    "repeat": lambda x: x.repeat(2, axis=0) * 3,
    "repeat, flat": lambda x: x.repeat(2),
    "sum": lambda x: x.sum(axis=0, keepdims=True, initial=3.0) + x.sum(1, where=[[True, False]])[0],
    "prod": lambda x: x.prod(axis=1, initial=2.0, where=[[False, True]]),
    "max": lambda x: x.max(axis=0, initial=0.3) + x.min(1, initial=0.2, where=[[True, False]])[0],
    "mean": lambda x: x.mean(0, where=[[True], [False], [True]]) + x.std(0, ddof=1),
    "cumsum": lambda x: x.cumsum(axis=1, dtype=np.float32) + x.cumsum(1),
    "clip": lambda x: x.clip(0.2, max=0.8) + np.clip(x, 0.1, 0.7, where=x > 0.3, out=x * 1),
    "round": lambda x: x.round(decimals=1) + np.round(x, 2),
    "times one": lambda x: np.multiply(x, 1.0, where=x > 0.5, out=np.zeros_like(x)),
    "twice negative": lambda x: -np.negative(x, where=x > 0.5, out=np.ones_like(x)),
    "over a root": lambda x: np.true_divide(1.0, np.sqrt(x, where=x > 0.5, out=x * 0.0)),
    "parts": lambda x: np.concatenate([x, x], axis=1, dtype=np.float32, casting="same_kind"),
    "stacked": lambda x: np.stack([x, x], axis=-1, dtype=np.float32, casting="same_kind"),
    "contracted": lambda x: np.einsum("ij,kj->ik", x, x, dtype=np.float32, casting="same_kind"),
    "axes": lambda x: np.matmul(x, x, axes=[(1, 0), (0, 1), (0, 1)]),
    "trace": lambda x: np.trace(x, offset=1, dtype=np.float32) + x.trace(-1),
    "ordered": lambda x: np.sort(x, axis=0, kind="stable") + x.astype("f4", order="F", copy=True),
    "reshaped": lambda x: x.reshape(2, 3, order="F") + np.reshape(x, (2, 3), order="F"),
    "flat": lambda x: x.ravel(order="F") + x.flatten("F") * 2,
    "differences": lambda x: np.diff(x, n=1, axis=0, prepend=0.5, append=0.25),
    "norm": lambda x: np.linalg.norm(x, ord=1, axis=1, keepdims=True),
    "variance": lambda x: np.var(
        x, axis=0, ddof=1, dtype=np.float32, where=[[True], [True], [0.0 > 1]]
    ),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_keep_their_options(name):
    """Of arrays, and of what is given as keywords: recorded at zeros, and called at others."""
    f, rng = METHODS[name], np.random.default_rng(0)
    for target in ("numpy", "c"):
        compiled = compile(f, target=target)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", RecordingWarning)
            for x in (np.zeros((3, 2)), rng.random((3, 2)), rng.random((3, 2))):
                found, wanted = compiled(x), f(x)
                assert same(found, wanted) or is_alike(found, [wanted], None, cancel=False)


class State(NamedTuple):
    a: float
    b: np.ndarray


def solved(p, start):
    s = v.root(lambda s, p: State(s.a - p[0], s.b - p[1:]), start(p), p)
    return s.a * np.sum(s.b)


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("start", [lambda p: State(1.0, np.ones(2)), lambda p: State(p[1], p[1:])])
def test_a_named_tuple_that_a_solver_starts_from(start, target):
    """It holds an array, by which no constant can be looked up."""
    f = lambda p: solved(p, start)
    value, slope = [compile(g, strict=True, target=target) for g in (f, grad(f))]
    for p in (np.array([1.0, 2.0, 0.5]), np.array([1.5, 3.0, 0.25])):
        assert value(p) == pytest.approx(f(p))
        np.testing.assert_allclose(slope(p), [p[1] + p[2], p[0], p[0]])
