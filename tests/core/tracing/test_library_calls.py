"""Programs written for NumPy and for Python run unchanged, or say what to write."""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import decimal
import fractions
import functools
import gc
import json
import math
import os
import pickle
import statistics
import struct
import sys
import types
import weakref

import numpy as np
import pytest

from chainrules_py import (
    ChainRulesError,
    TracerError,
    UnsupportedKeywordError,
    ignore_derivatives,
)
from chainrules_py.primitives.method_table import invalidate
from chainrules_py.tracing import library_calls
from chainrules_tape import Tape, checkpoint, grad, jvp, linearize, value_and_grad, vjp

RNG = np.random.default_rng(8)
LINE = RNG.uniform(0.5, 1.5, 6)
FLAT = RNG.uniform(0.5, 1.5, (3, 4))
W = RNG.standard_normal((4, 2))
GIVEN = {"line": LINE, "flat": FLAT, "number": 0.7, "scalar": np.float64(0.7)}


def differences(f, x, h=1e-3):
    """The gradient of a function of an array or a number, element by element."""
    x = np.asarray(x)
    bars = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = h
        steps = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
        at = [f((x + k * e)[()]) - f((x - k * e)[()]) for k in range(1, 5)]
        bars[i] = sum(c * d for c, d in zip(steps, at, strict=True)) / h
    return bars


def unpacked(x):
    first, *rest, last = x
    (a, b), c = rest[:2], rest[2]
    return first * last + a * b * c + len(rest)


def newton(x):
    """A loop that ends when a comparison says so."""
    y = x[0]
    for _ in range(50):
        step = (y * y - x[1]) / (2 * y)
        y = y - step
        if abs(step) < 1e-12:
            break
    return y * x[2]


def horner(x):
    return functools.reduce(lambda total, c: total * x[0] + c, x[1:], 0.0)


def branches(x):
    total = 0.0
    for i, value in enumerate(x):
        if value > 1.0 and i % 2:
            total += value**2
        elif 0.8 < value <= 1.0:
            total -= value
        else:
            total = total * value + 1
    return total


def recursion(x):
    return x[0] if len(x) == 1 else np.sin(recursion(x[1:])) * x[0]


def layers(x):
    hidden = np.tanh(x @ W)
    weights = np.exp(hidden - hidden.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return -np.log(weights[np.arange(3), [0, 1, 0]]).mean()


def dynamics(x):
    position, velocity = x[:3].copy(), x[3:] * 1.0
    path = [position]
    for _ in range(4):
        distance = np.linalg.norm(position)
        velocity -= 0.1 * position / distance**3
        position = position + 0.1 * velocity
        path.append(position)
    return np.array(path, like=x).sum() + max(path[-1]) - min(path[1])


def matrix_power(x):
    a = x.reshape(2, 3)
    a = a @ a.T
    return np.trace(a @ a) + (a**2)[0, 1] + a.ravel().dot(a.ravel()[::-1])


def statistics_by_hand(x):
    mean = sum(x) / len(x)
    variance = sum((v - mean) ** 2 for v in x) / (len(x) - 1)
    return mean / math.pi + variance**0.5


def dictionary(x):
    state = {"a": x[0], "b": [x[1], x[2]]}
    state["a"] += state["b"][0]
    state["b"].append(state["a"] ** 2)
    return np.prod(np.stack(state["b"]))


def smoothed(x):
    out = np.zeros(len(x), like=x)
    for i in range(len(x)):
        lo, hi = max(0, i - 1), min(len(x), i + 2)
        out[i] = x[lo:hi].mean()
    out[out > 1.0] **= 2
    return np.sum(out * out)


PROGRAMS = {
    "unpacked": (unpacked, "line"),
    "newton": (newton, "line"),
    "horner": (horner, "line"),
    "branches": (branches, "line"),
    "recursion": (recursion, "line"),
    "layers": (layers, "flat"),
    "dynamics": (dynamics, "line"),
    "matrix power": (matrix_power, "line"),
    "statistics": (statistics_by_hand, "line"),
    "dictionary": (dictionary, "line"),
    "smoothed": (smoothed, "line"),
    "sum": (lambda x: sum(x), "line"),
    "sum of rows": (lambda x: sum(sum(x)), "flat"),
    "max and min": (lambda x: max(x) * min(x) + max(x[0], x[1] * 2, 3.0), "line"),
    "sorted": (lambda x: sorted(x)[1] * sorted(x, key=lambda v: -v)[2], "line"),
    "reversed": (lambda x: sum(i * v for i, v in enumerate(reversed(x))), "line"),
    "zip and map": (lambda x: sum(map(lambda a, b: a * b, x, reversed(x))), "line"),
    "any and all": (lambda x: x[0] * (any(x > 0) + all(v < 9 for v in x)), "line"),
    "abs": (lambda x: abs(x[0] - 1.0) + np.abs(x - 1.0).sum(), "line"),
    "divmod": (lambda x: divmod(x[0] * 5, 0.7)[1] + divmod(7.0, x[1])[1], "line"),
    "//, %": (lambda x: x[0] * 7 // 2 + x[1] % 0.3 + 5 % x[2] + x[3] * (9 // x[4]), "line"),
    "pow": (lambda x: pow(x[0], 2) + pow(2.0, x[1]) + x[2] ** x[3], "line"),
    "+, -, ~": (lambda x: +x[0] - (-x[1]) * (~(x > 1)).sum(), "line"),
    "round": (lambda x: x[0] * round(x[1] * 10) + x[0] * round(x[2], 1), "line"),
    "in": (lambda x: x[0] * (LINE[2] in x) + x[1] * (77.0 in x), "line"),
    "len, shape, ndim": (lambda x: x[0, 0] * len(x) * x.shape[1] * x.ndim * x.size, "flat"),
    "methods": (lambda x: (x.T @ x).sum() + x.mean(axis=0).max() + x.std() + x.prod(), "flat"),
    "chained methods": (
        lambda x: x.reshape(4, 3).transpose().cumsum(axis=1).clip(1, 3).sum(),
        "flat",
    ),
    "rows": (lambda x: sum(np.sum(row[1:] * i) for i, row in enumerate(x)), "flat"),
    "lists of arrays": (lambda x: np.concatenate([x[0], [1.0], x[1], x[:, 0]]).sum() ** 2, "flat"),
    "stacked numbers": (lambda x: np.sum(np.stack([x[0], x[1] * 2]) ** 2), "line"),
    "array of numbers": (lambda x: np.sum(np.array([x[0], 2.0, x[2]], like=x) ** 2), "line"),
    "array of rows": (lambda x: np.sum(np.array([[x[0], 1], [2, x[1]]], like=x) ** 2), "line"),
    "ones_like": (lambda x: np.sum(np.ones_like(x) * x + np.zeros_like(x, shape=(2, 6))), "line"),
    "where": (lambda x: np.where(x > 1, x**2, -x).sum(), "flat"),
    "split": (lambda x: sum(np.prod(part) for part in np.split(x, 3)), "line"),
    "np.newaxis": (lambda x: np.sum((x[:, None] - x[None, :]) ** 2 + x[np.newaxis, :]), "line"),
    "a number": (lambda x: x**3 / 2 - 1 / x + (x > 0) * abs(x), "number"),
    "a number by NumPy": (lambda x: np.sqrt(x) * np.sin(x) + np.maximum(x, 0.5), "number"),
    "a NumPy scalar": (lambda x: x**2 * np.exp(-x) + x.sum() + x.reshape(1)[0], "scalar"),
    "no operation": (lambda x: x, "number"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_runs_and_has_its_derivative(name):
    f, kind = PROGRAMS[name]
    x = GIVEN[kind]
    expected = differences(f, x)
    bar = grad(f)(x)
    np.testing.assert_allclose(bar, expected, rtol=1e-7, atol=1e-8)
    assert type(vjp(f, x)[0]) is type(np.asarray(f(x))[()]) or kind == "number"
    assert vjp(f, x)[0] == f(x)
    t = RNG.standard_normal(np.shape(x))
    t = t if np.shape(x) else float(t)
    pushed = jvp(f, (x,), (t,))
    assert pushed[0] == f(x)
    assert pushed[1] == pytest.approx(np.sum(expected * t), rel=1e-6, abs=1e-7)
    assert linearize(f, x)[1](t) == pytest.approx(pushed[1], rel=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_its_second_derivative(name):
    f, kind = PROGRAMS[name]
    x = GIVEN[kind]
    t = np.ones(np.shape(x)) if np.shape(x) else 1.0
    _, bend = jvp(grad(f), (x,), (t,))
    again = grad(lambda x: np.sum(grad(f)(x) * t))(x)
    np.testing.assert_allclose(bend, again, rtol=1e-9, atol=1e-10)
    h = 1e-5
    numeric = (np.asarray(grad(f)(x + h * t)) - grad(f)(x - h * t)) / (2 * h)
    np.testing.assert_allclose(bend, numeric, rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------ as text


def test_texts_are_for_people(capsys):
    names = {"grad": "Variable", "jvp": "Dual", "linearize": "LinearVariable"}
    runs = {"grad": grad, "jvp": lambda f: lambda x: jvp(f, (x,), (x,))}
    runs["linearize"] = lambda f: lambda x: linearize(f, x)
    for how, run in runs.items():

        def f(x, name=names[how]):
            first = f"{name}(0.5)"
            assert [str(x[0]), repr(x[0]), f"{x[0]}", f"{x[0]!r}"] == [first] * 4
            assert ["%s" % x[0], "{}".format(x[0]), format(x[0])] == [first] * 3  # noqa: UP031, UP032
            assert f"{x[0]!s:>20}" == first.rjust(20)
            print(x)
            assert f"{ignore_derivatives(x)[0]:.9g}" == "0.5"
            return np.sum(x)

        run(f)(np.array([0.5, 2.0]))
        assert capsys.readouterr().out == f"{names[how]}([0.5 2. ])\n"


TEXTS = {
    "f-string": lambda x: f"{x:.9g}",
    "format": lambda x: format(x, "+.1f"),
    "method": lambda x: "{:8.2e}".format(x),  # noqa: UP032
    "g": lambda x: "%.9g" % x,  # noqa: UP031
    "d": lambda x: "%d" % x,  # noqa: UP031
    "format_float_positional": np.format_float_positional,
    "format_float_scientific": np.format_float_scientific,
    "savetxt": lambda x: np.savetxt(os.devnull, np.stack([x, x])),
    "savetxt of a list": lambda x: np.savetxt(os.devnull, [x, x]),
    "array2string": lambda x: np.array2string(np.stack([x, x])),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_number_in_a_text_is_refused(name):
    """What reads the text, as an input file or a command, would take a constant."""

    def f(x):
        TEXTS[name](x[0])
        return np.sum(x)

    for run in (grad(f), lambda x: jvp(f, (x,), (x,)), grad(lambda x: np.sum(grad(f)(x)))):
        with pytest.raises(ChainRulesError):
            run(np.array([0.5, 2.0]))
    with pytest.raises(TracerError, match=r"\{ignore_derivatives\(x\):\.9g\}"):
        grad(lambda x: float(f"{x:.9g}"))(0.5)


# -------------------------------------------------------------------------- what cannot be seen

REFUSED = {
    "math.sin": (lambda x: math.sin(x[0]), r"np\.sin\(x\[0\]\)"),
    "math.hypot": (lambda x: math.hypot(x[0], x[1]), r"np\.hypot\(x\[0\], x\[1\]\)"),
    "statistics": (lambda x: statistics.fmean(x), r"np\.mean"),
    "float": (lambda x: float(x[0]), r"use x\[0\]$"),
    "complex": (lambda x: complex(x[0]), r"x\[0\] \+ 0j"),
    "int": (lambda x: int(x[0]), r"int\(ignore_derivatives\(x\[0\]\)\)"),
    "index": (lambda x: [1, 2][x[0]], r"int\(ignore_derivatives\(x\[0\]\)\)"),
    "range": (lambda x: range(x[0]), r"int\(ignore_derivatives\(x\[0\]\)\)"),
    "item": (lambda x: x[0].item(), "item"),
    "item of an array": (lambda x: x.item(1), "item"),
    "tolist": (lambda x: x.tolist(), "tolist"),
    "asarray of numbers": (lambda x: np.asarray([x[0]], dtype=float), "np.stack"),
    "fromiter": (lambda x: np.fromiter(x, float), "cannot convert"),
    "memoryview": (
        lambda x: memoryview(x),
        r"plain values[\s\S]*ignore_derivatives\(x\)",
    ),
    "Decimal": (lambda x: decimal.Decimal(x[0]), r"plain values[\s\S]*ignore_derivatives\("),
    "Fraction": (
        lambda x: fractions.Fraction(x[0]),
        r"as_integer_ratio[\s\S]*(ignore|np\.mean)",
    ),
    "mean": (
        lambda x: statistics.mean([x[0], 2.0]),
        r"as_integer_ratio[\s\S]*(ignore|np\.mean)",
    ),
    "json": (
        lambda x: json.dumps({"x": [x[0]]}),
        r"json\.dumps[\s\S]*plain values[\s\S]*ignore_derivatives\(",
    ),
    "struct": (lambda x: struct.pack("d", x[0]), r"plain values[\s\S]*ignore_derivatives\("),
    "timedelta": (lambda x: dt.timedelta(seconds=x[0]), r"plain values[\s\S]*ignore_derivatives\("),
    "repr": (lambda x: float(repr(x[0])), "could not convert"),
    "is_integer": (lambda x: x[0].is_integer(), r"ignore_derivatives\(x\[0\]\)\.is_integer"),
    "flags": (lambda x: x.flags, r"ignore_derivatives\(x\)\.flags"),
    "an index of a number": (lambda x: np.sin(x[0])[0], "it has no elements"),
    "a cached function": (lambda x: functools.lru_cache(lambda y: y)(x[0]), "cannot be a dict key"),
    "a set": (lambda x: {x[0]}, "cannot be a dict key"),
    "pickle": (lambda x: pickle.dumps(x), r"pickle\.dumps\("),
    "pickled with others": (lambda x: pickle.dumps({"x": [x]}), r"pickle\.dumps\("),
    "hash": (lambda x: {x[0]: 1}, r"cannot be a dict key[\s\S]*ignore_derivatives\("),
    "pow with a modulus": (lambda x: pow(x[0], 2, 3), r"pow\(x, y\) % z"),
    "deleting": (lambda x: x.__delitem__(0), "__delitem__"),
    "iterating a number": (lambda x: list(x[0]), "not iterable"),
    "length of a number": (lambda x: len(x[0]), "has no len"),
    "truth of several": (lambda x: bool(x), "ambiguous"),
}


@pytest.mark.parametrize(
    "line",
    [
        "Decimal('1.0') + ignore_derivatives(x)",
        "int('no number')",
        "raise_(TypeError('of the program'))",
        "x + 'text'",
        "x + None",
        "x.nothing",
        "x()",
    ],
)
def test_errors_of_the_program_stay_what_they_are(line):
    def raise_(error):
        raise error

    seen = []
    scope = {"Decimal": decimal.Decimal, "raise_": raise_}
    for run in (lambda f: f(types.SimpleNamespace(value=2.0)), lambda f: grad(f)(2.0)):
        with pytest.raises(Exception) as error:
            run(lambda x: eval(line, scope, {"x": x}))
        seen.append(error.type)
    assert seen[0] is seen[1]


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_the_line_to_write(name):
    f, message = REFUSED[name]
    for run in (grad, lambda f: lambda x: jvp(f, (x,), (x,)), lambda f: lambda x: linearize(f, x)):
        with pytest.raises((TracerError, TypeError, ValueError, AttributeError)) as error:
            run(f)(LINE)
        texts = [str(e) for e in (error.value, error.value.__cause__, error.value.__context__) if e]
        assert any(pytest.importorskip("re").search(message, text) for text in texts), texts


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.concatenate([x, [1.0]]),
        lambda x: np.stack([x[0], x[1]]),
        lambda x: np.append(np.ones(2), x[0]),
        lambda x: np.hstack([np.ones(2), x, x[0]]),
        lambda x: np.broadcast_to(x[0], (3,)),
        lambda x: np.ones(6) * x,
        lambda x: np.ones(6) == x,
        lambda x: np.float64(2.0) * x[0],
        lambda x: np.multiply.outer(np.ones(2), x),
        lambda x: np.ones((2, 6)) @ x,
        lambda x: np.array([1, 2]) + x[0],
        lambda x: np.dot(np.ones(6), x),
        lambda x: np.where(np.ones(6) > 0, x, 1),
        lambda x: [1.0, 2.0] * np.ones(2) + x[:2],
        lambda x: np.array(3) * x[0],
        lambda x: np.take(np.ones(6), [0]) * x[0],
    ],
)
def test_no_array_of_objects_arises(make):
    def f(x):
        y = make(x)
        assert getattr(y, "dtype", None) is not np.dtype(object)
        return np.sum(y * 1.0)

    silent = lambda f: grad(f, unused="zero")
    for run in (
        silent,
        lambda f: lambda x: jvp(f, (x,), (x,)),
        lambda f: lambda x: linearize(f, x),
    ):
        with contextlib.suppress(TracerError):
            run(f)(LINE)


def test_copies_are_copies():
    def f(x):
        y = x * 1.0
        one, two, both = copy.copy(y), copy.deepcopy(y), copy.deepcopy({"y": [y, y[0]]})
        y += 10.0
        one *= 2.0
        two[0] = 0.0
        return np.sum(one) + np.sum(two) + np.sum(both["y"][0]) + both["y"][1] + copy.copy(y[1])

    np.testing.assert_array_equal(grad(f)(LINE), [4.0, 5, 4, 4, 4, 4])
    assert vjp(f, LINE)[0] == pytest.approx(jvp(f, (LINE,), (LINE,))[0])


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda y: copy.deepcopy([y])[0]])
def test_a_stored_value_is_copied_as_a_plain_one(again):
    kept = []
    inner = lambda x: (kept.append(x * 2.0), np.sum(x**3))[1]
    grad(lambda x: np.sum(grad(inner)(x)))(LINE)
    assert type(again(kept[0])) is np.ndarray
    np.testing.assert_array_equal(again(kept[0]), 2.0 * LINE)

    def outer(x):
        slopes = grad(inner)(x)
        return np.sum(slopes * again(kept[-1]))

    # 3 x**2 * 2 x
    np.testing.assert_allclose(grad(outer)(LINE), 18.0 * LINE**2)


@pytest.mark.parametrize("x", [3.0, np.array([1.0, 2.0])])
def test_a_value_is_no_way_around_the_derivative(x):
    """Libraries of units and of parameters ask whatever they are given for it."""
    f = lambda x: np.sum(getattr(x, "value", x) * x)
    np.testing.assert_array_equal(grad(f)(x), 2 * x)
    np.testing.assert_array_equal(grad(checkpoint(f))(x), 2 * x)
    np.testing.assert_array_equal(jvp(f, (x,), (x,))[1], np.sum(2 * x * x))


def test_a_number_has_no_elements_and_a_list_is_not_multiplied_by_it():
    """NumPy raises too, or repeats the list: programs that test for it take that path."""

    def element(x):
        try:
            return x[0] * 2.0
        except (TypeError, IndexError):
            return x * 3.0

    for x in (1.5, np.float64(1.5)):
        assert value_and_grad(element)(x) == (4.5, 3.0)
        for f in (lambda x: [1.0, 2.0] * x, lambda x: x * [1.0, 2.0], lambda x: (1.0,) * x):
            with pytest.raises(TypeError):
                f(x)
            with pytest.raises(TracerError, match="to int"):
                grad(lambda x, f=f: np.sum(f(x)))(x)


def test_methods_are_known_by_their_names():
    def f(x):
        names = [getattr(x, name).__name__ for name in ("mean", "cumsum", "reshape")]
        return np.sum(x) * (names == ["mean", "cumsum", "reshape"])

    np.testing.assert_array_equal(grad(f)(LINE), np.ones_like(LINE))


def test_numbers_as_keys_of_what_was_computed():
    """What is static may be looked at."""

    def f(x):
        cache = {float(ignore_derivatives(x)): x * x}
        return cache[0.5] * int(ignore_derivatives(x * 10))

    assert grad(f)(0.5) == 5.0


# ------------------------------------------------------------------- rows of writing functions


def written(write, shape=(3, 4)):
    """A program that writes to a buffer by a function, with values that depend on its argument."""

    def program(x):
        y = np.reshape(x, shape) * 1.0 if np.size(x) == math.prod(shape) else x * 1.0
        write(y, x)
        return np.sum(np.sin(y) * np.arange(y.size).reshape(y.shape))

    return program


MASK = RNG.uniform(size=(3, 4)) > 0.4
WRITES = {
    "copyto": lambda y, x: np.copyto(y, x[0]),
    "copyto, where": lambda y, x: np.copyto(y, x[1] * x[2], where=MASK),
    "putmask": lambda y, x: np.putmask(y, MASK, x * x),
    "putmask, cycled": lambda y, x: np.putmask(y, MASK, x[0] * x[1]),
    "place": lambda y, x: np.place(y, MASK, x[2] ** 2),
    "put": lambda y, x: np.put(y, [0, 5, -1], x[0] * x[1]),
    "put, cycled": lambda y, x: y.put([[0, 5], [7, 1]], x[0, :3] ** 2),
    "put, wrap": lambda y, x: np.put(y, [14, -3], x[0, 0] * x[1, 1], mode="wrap"),
    "put, clip": lambda y, x: np.put(y, [14, 1], x[0, :2], mode="clip"),
    "put a number": lambda y, x: np.put(y, 3, x[0, 0] ** 3),
    "fill_diagonal": lambda y, x: np.fill_diagonal(y, x[0] ** 2),
    "fill_diagonal, number": lambda y, x: np.fill_diagonal(y, x[1, 1] ** 2),
    "fill_diagonal, wrap": lambda y, x: np.fill_diagonal(y.T, 2.0, wrap=True),
    "put_along_axis": lambda y, x: np.put_along_axis(
        y, np.array([[1], [0], [3]]), x[:, :1] ** 2, 1
    ),
    "put_along_axis, flat": lambda y, x: np.put_along_axis(y, np.array([1, 11]), x[0, :2], None),
    "fill": lambda y, x: y.fill(x[0, 0] ** 2),
    "fill with a constant": lambda y, x: y[0].copy().fill(3.0),
    "sort": lambda y, x: y.sort(),
    "sort, axis": lambda y, x: y.sort(axis=0, kind="stable"),
    "np.add.at": lambda y, x: np.add.at(y, ([0, 0, 1], [1, 1, 2]), x[0, :3] ** 2),
    "np.add.at, rows": lambda y, x: np.add.at(y, [0, 0], x[1]),
    "np.subtract.at": lambda y, x: np.subtract.at(y, (slice(None), [0, 0]), x[:, 1:3]),
    "out=": lambda y, x: np.multiply(x, x[0], out=y),
    "out=, casting": lambda y, x: np.add(x[0], 1.0, out=y),
    "out=, two": lambda y, x: np.exp(y, out=y) is y or None,
    "out=, a tuple": lambda y, x: np.negative(x, out=(y,)),
}


@pytest.mark.parametrize("name", WRITES)
def test_functions_that_write(name):
    f = written(WRITES[name])
    expected = differences(f, FLAT)
    np.testing.assert_allclose(grad(f)(FLAT), expected, rtol=1e-7, atol=1e-7)
    y, y_dot = jvp(f, (FLAT,), (FLAT,))
    assert y == f(FLAT)
    assert y_dot == pytest.approx(np.sum(expected * FLAT), rel=1e-7)
    t = RNG.standard_normal(FLAT.shape)
    np.testing.assert_allclose(
        jvp(grad(f), (FLAT,), (t,))[1],
        grad(lambda x: np.sum(grad(f)(x) * t))(FLAT),
        rtol=1e-9,
        atol=1e-10,
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda y: np.copyto(y, np.ones(7)),
        lambda y: np.copyto(y, 1j),
        lambda y: np.put(y, [77], 1.0),
        lambda y: np.place(y, MASK, []),
        lambda y: y.fill([1.0, 2.0]),
        lambda y: np.fill_diagonal(y[0], 1.0),
        lambda y: np.put_along_axis(y, np.array([0]), 1.0, 1),
        lambda y: np.add.at(y, [9], 1.0),
        lambda y: np.add(y, 1j, out=y),
        lambda y: np.add(y, np.ones((2, 3, 4)), out=y),
    ],
)
def test_they_raise_what_numpy_raises(write):
    with pytest.raises(Exception) as expected:
        write(FLAT.copy())
    with pytest.raises(type(expected.value)):
        grad(lambda x: write(x * 1.0))(FLAT)


@pytest.mark.parametrize(
    "write, message",
    [
        (lambda y: y.resize(2), r"np\.reshape\(np\.ravel\(x\)\[:n\], shape\)"),
        (lambda y: y.setfield(1.0, float), r"x\[\.\.\.\] = values"),
        (lambda y: y.byteswap(inplace=True), "byte order"),
        (lambda y: np.multiply.at(y, [0], 2.0), "has no derivative here"),
        (lambda y: np.negative.at(y, [0]), r"for i in places: x\[i\] = np\.negative\(x\[i\]\)"),
        (lambda y: setattr(y, "flat", 1.0), r"np\.reshape\(values, x\.shape\)"),
        (lambda y: np.copyto(y, y, casting="no"), None),
    ],
)
def test_what_has_no_derivative_is_refused(write, message):
    if message is None:
        grad(lambda x: np.sum(x) + (write(x * 1.0) or 0.0))(FLAT)
        return
    with pytest.raises((TracerError, AttributeError), match=message):
        grad(lambda x: write(x * 1.0))(FLAT)


# -------------------------------------------------------------------------- what is left behind


def test_a_chain_of_a_hundred_thousand_operations_needs_no_recursion():
    n = 100_000
    limit = sys.getrecursionlimit()

    def f(x):
        for _ in range(n // 2):
            x = x * 0.5 + 1.0
        return x

    sys.setrecursionlimit(200)
    try:
        bar = grad(f)(1.0)
        y, y_dot = jvp(f, (1.0,), (1.0,))
    finally:
        sys.setrecursionlimit(limit)
    assert bar == y_dot == 0.5 ** (n // 2)
    assert y == f(1.0)


def test_a_long_program_of_writes_needs_no_recursion():
    def f(x):
        y = x * 1.0
        for i in range(20_000):
            y[i % 3] = y[(i + 1) % 3] * 1.0001
        y += 0.0
        return np.sum(y)

    assert np.isfinite(grad(f)(np.ones(3))).all()


def test_exceptions_leave_the_engine_clean():
    def fails(x):
        y = np.sin(x) * LINE
        y[0] = x[1]
        raise RuntimeError

    for run in (grad(fails), lambda x: jvp(fails, (x,), (x,)), lambda x: linearize(fails, x)):
        with pytest.raises(RuntimeError):
            run(LINE)
        with pytest.raises(RuntimeError), Tape() as tape:
            fails(tape.variable(LINE))
    assert LINE.flags.writeable
    np.testing.assert_array_equal(grad(np.sum)(LINE), np.ones(6))


def test_what_was_computed_is_freed():
    kept = []

    def f(x):
        y = np.exp(x) * np.tanh(x)
        y[1:] += x[:-1]
        row = y[:3]
        kept.append(weakref.ref(y))
        kept.append(weakref.ref(y.__payload__.base))
        return np.sum(np.sin(y) * y) + np.sum(row)

    gc.collect()
    gc.disable()
    try:
        grad(f)(LINE)
        pushed = jvp(f, (LINE,), (LINE,))
        y, pullback = vjp(f, LINE)
        del pullback
        assert [reference() is None for reference in kept] == [True] * 6, (pushed, y)
    finally:
        gc.enable()


@pytest.mark.parametrize("f", [np.nansum, np.nanmean, np.nancumsum, np.nanstd, np.nanmax, np.ptp])
def test_arguments_are_given_by_position_as_well(f):
    value, pullback = vjp(lambda x: f(x, 1), FLAT)
    assert np.array_equal(value, f(FLAT, 1))
    (x_bar,) = pullback(np.ones_like(value))
    np.testing.assert_allclose(x_bar, differences(lambda x: np.sum(f(x, 1)), FLAT), atol=1e-9)


@pytest.mark.parametrize("like", [np.zeros_like, np.ones_like])
def test_what_is_made_like_an_array_lies_in_memory_like_it(like):
    """Sums follow the order of memory: they would be others in the last bit."""
    x = RNG.uniform(0.5, 1.5, (40, 30, 20)).transpose(1, 2, 0)
    value, _ = vjp(lambda x: (like(x) + x).sum(1), x)
    assert np.array_equal(value, (like(x) + x).sum(1))


@pytest.mark.parametrize(
    "where",
    [True, False, np.True_, np.array(False), (None, True), (True, ...), (True, False), None],
)
def test_a_number_is_read_at_a_truth(where):
    """NumPy reads its scalars so: ``x[x > 0.5]``."""
    x = np.float64(0.9)
    read = lambda x: x[where]
    y, y_dot = jvp(read, (x,), (np.float64(1.0),))
    assert y.shape == y_dot.shape == read(x).shape
    assert grad(lambda x: np.sum(np.sin(read(x))), unused="zero")(x) == np.sum(np.cos(read(x)))


@pytest.mark.parametrize(
    "call, line",
    [
        (
            lambda x: np.divide(x, x, where=x > 1),
            r"np\.where\(x > 1, np\.divide\(",
        ),
        (lambda x: np.sum(x, axis=0, out=np.zeros(())), r"use np\.sum\(x, axis=0\)"),
    ],
)
def test_where_a_result_goes_is_refused_with_the_line(call, line):
    with pytest.raises(UnsupportedKeywordError, match=line):
        grad(lambda x: np.sum(call(x)))(np.ones(3))


def test_a_call_has_the_same_records_before_and_after_its_plan_is_cached():
    """Checkpoints compare how many there are."""
    invalidate()
    _, pull = vjp(checkpoint(lambda x: np.sum(x)), 2.0)
    assert pull(1.0) == pull(1.0) == (1.0,)


# Options of calls that came before are found again by their values, and by nothing like them.

X = np.arange(24.0).reshape(2, 3, 4)
AXES = (0, 1, -1, None, (0, 1), (), True, False, 1.0, np.int64(1), (0, True), (0, 1.0), [0], "1")
SHAPES = ((24,), (4, 6), (1, 24), (-1,), 24, (24.0,), [6, 4], np.array([6, 4]), "24")
CALLS = {
    "sum": (np.sum, AXES),
    "cumsum": (np.cumsum, AXES),
    "sum, by name": (lambda x, axis: np.sum(x, axis=axis, keepdims=True), AXES),
    "max": (np.max, AXES),
    "reshape": (np.reshape, SHAPES),
    "the method": (lambda x, shape: x.reshape(shape), SHAPES),
}


def told(f, *given):
    try:
        return np.asarray(f(*given)).tolist()
    except Exception as error:  # of which NumPy has several kinds
        return type(error)


@pytest.mark.parametrize("name", CALLS)
def test_what_equals_an_option_that_was_taken_is_not_taken_for_it(name):
    f, options = CALLS[name]

    def traced(x, option):
        kept = []

        def loss(x):
            kept.append(ignore_derivatives(f(x, option)))
            return np.sum(x)

        grad(loss)(x)
        return kept[0]

    for _ in range(2):
        for option in options:
            ours, numpys = told(traced, X, option), told(f, X, option)
            assert ours == numpys or (isinstance(ours, type) and isinstance(numpys, type)), option


def test_options_that_are_many_are_not_all_kept(monkeypatch):
    monkeypatch.setattr(library_calls, "_MOST", 2)
    for n in (1, 2, 3, 4, 1, 2):
        x = np.ones((n, 2))
        np.testing.assert_array_equal(grad(lambda x, n=n: np.sum(x.reshape(n * 2)))(x), x)
