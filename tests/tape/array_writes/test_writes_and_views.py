"""Writing in place: aliases, dtypes, levels, plain arrays, and what it costs."""

from __future__ import annotations

import operator
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    MutationError,
    NoTangent,
    TracerError,
    ZeroTangent,
    ignore_derivatives,
    rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import Library, register_array_type
from chainrules_py.primitives.method_table import invalidate
from chainrules_tape import (
    Tape,
    grad,
    hessian,
    hook,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from chainrules_tape.array_writes import writes_and_views
from chainrules_tape.fast import slices

RNG = np.random.default_rng(11)
LINE = RNG.uniform(0.5, 1.5, 6)
FLAT = RNG.uniform(0.5, 1.5, (3, 4))


# ---------------------------------------------------------------------------------------- aliases


def value_of(f, *xs):
    """The value of a program under differentiation, in each engine; they agree."""
    y, _ = vjp(f, *xs)
    pushed, _ = jvp(f, xs, tuple(np.ones_like(x) for x in xs))
    np.testing.assert_array_equal(y, pushed)
    return y


def test_a_second_name_sees_the_write():
    def f(x):
        y = x * 1.0
        same, listed = y, [y]
        y += x
        y[0] = 3.0
        return same + listed[0]

    np.testing.assert_array_equal(value_of(f, LINE), f(LINE))
    np.testing.assert_array_equal(vjp(f, LINE)[1](np.ones(6))[0], [0.0, 4, 4, 4, 4, 4])


def test_the_callers_variable_is_written_to():
    def shift(y):
        y += 1.0
        y[1:] *= 2.0

    def f(x):
        y = x * x
        shift(y)
        return np.sum(y)

    np.testing.assert_allclose(grad(f)(LINE), 2 * LINE * np.array([1, 2, 2, 2, 2, 2]))


def test_numbers_are_rebound_as_python_rebinds_them():
    def f(x):
        total = x[0]
        first = total
        total += x[1]
        return total * 10.0 + first

    assert grad(f)(LINE)[:2].tolist() == [11.0, 10.0]
    with pytest.raises(TypeError, match=r"float64.*item assignment"):
        grad(lambda x: operator.setitem(x[0], 0, 1.0))(LINE)


# ------------------------------------------------------------------ dtypes, and what NumPy says


@pytest.mark.parametrize(
    "write",
    [
        lambda x, v: operator.iadd(x, v),
        lambda x, v: operator.imatmul(x, np.ones((3, 5))),
        lambda x, v: operator.setitem(x, slice(0, 2), np.ones(3)),
        lambda x, v: operator.setitem(x, 7, 1.0),
        lambda x, v: operator.setitem(x, (0, 0, 0, 0), 1.0),
        lambda x, v: operator.setitem(x, 0, 1j),
        lambda x, v: operator.setitem(x, 0, "text"),
        lambda x, v: operator.setitem(x, "text", 0.0),
        lambda x, v: operator.iadd(x, np.ones((2, 6))),
        lambda x, v: operator.iadd(x, 1j),
    ],
)
def test_errors_are_those_of_numpy(write):
    with pytest.raises(Exception) as expected:
        write(LINE.copy(), np.ones(7))
    for known in (False, True):  # what is found of the types of a write, or was
        invalidate()
        if known:
            grad(lambda x: np.sum(operator.setitem(x * 1.0, 0, np.ones(())) or x))(LINE)
        with pytest.raises(type(expected.value)):
            grad(lambda x: write(x * 1.0, np.ones(7)))(LINE)
        with pytest.raises(type(expected.value)):
            jvp(lambda x: write(x * 1.0, np.ones(7)), (LINE,), (LINE,))


def test_integers_are_not_made_floats():
    n = np.arange(6)
    with pytest.raises(TypeError, match="same_kind"):
        grad(lambda n: np.sum(operator.iadd(n, 0.5) * 1.0))(n)
    with pytest.raises(TypeError, match="same_kind"):
        grad(lambda n: np.sum(operator.itruediv(n, 2) * 1.0))(n)

    def f(n, x):
        n[1] = x[0] * 2.0  # cut off, as NumPy does
        n += 1
        return np.sum(n * x)

    n_bar, x_bar = grad(f, (0, 1))(n, LINE)
    expected = n.copy()
    expected[1] = LINE[0] * 2.0
    np.testing.assert_allclose(x_bar, expected + 1)
    assert n_bar[1] == 0


def test_float32_stays_float32_bit_by_bit():
    x, y = LINE.astype(np.float32), RNG.standard_normal(6)

    def f(x):
        z = x * np.float32(2)
        z += y
        z[1] = y[2]
        z *= x[0]
        return z

    traced, pullback = vjp(f, x)
    assert traced.dtype == np.float32
    assert traced.tobytes() == f(x).tobytes()
    assert pullback(np.ones(6, np.float32))[0].dtype == np.float32


def test_complex_buffers():
    z = LINE + 1j * LINE[::-1]

    def f(z):
        w = np.zeros_like(z)
        w[0] = z[1] * z[2]
        w[1:3] = np.conj(z[:2])
        w[3:] = z[3:].real
        w *= 1j
        return np.sum(np.abs(w) ** 2) + w[4].real

    def plain(z):
        w = 1j * np.concatenate((z[1:2] * z[2:3], np.conj(z[:2]), z[3:].real + 0j))
        return np.sum(np.abs(w) ** 2) + w[4].real

    np.testing.assert_allclose(grad(f)(z), grad(plain)(z), rtol=1e-13)
    with pytest.warns(np.exceptions.ComplexWarning):
        bar = grad(lambda z: np.sum(operator.iadd(np.zeros(6, like=z.real), 0.0)) + taken(z))(z)
    np.testing.assert_allclose(bar, grad(lambda z: np.sum(z.real * LINE))(z))


def taken(z):
    y = np.zeros(6, like=z.real)
    y[...] = z
    return np.sum(y * LINE)


def test_arrays_without_axes():
    def f(x):
        y = x * 2.0
        total = np.zeros((), like=y)
        same = total
        total += y[0]
        total[()] *= y[1]
        total[...] = total + 1.0
        return same * y[2]

    def plain(x):
        return (4.0 * x[0] * x[1] + 1.0) * 2.0 * x[2]

    np.testing.assert_allclose(grad(f)(LINE), grad(plain)(LINE), rtol=1e-13)
    assert isinstance(value_of(f, LINE), float)


def _filled(b, y):
    b.fill(y)


@pytest.mark.parametrize(
    "write",
    [
        lambda b, y: operator.setitem(b, (), y),
        lambda b, y: operator.setitem(b, ..., y),
        lambda b, y: operator.setitem(b, np.array(True), y),
        lambda b, y: np.copyto(b, y),
        lambda b, y: np.add(b, y, out=b),
        _filled,
    ],
)
def test_second_derivatives_of_writes_into_arrays_without_axes(write):
    def f(x):
        b = np.zeros_like(x)
        write(b, np.sin(x))
        return b * b

    for x in (2.0, np.array(2.0)):
        np.testing.assert_allclose(hessian(f)(x), 2 * np.cos(4.0), rtol=1e-14)
        np.testing.assert_allclose(grad(grad(f))(x), 2 * np.cos(4.0), rtol=1e-14)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("mask", [True, False, np.True_, np.array(False)])
def test_a_truth_value_masks_an_array_without_axes(mask, mode):
    def f(x):
        total = np.sum(x * x, keepdims=True).reshape(())
        total[mask] = 0.0
        return total * 3.0

    slopes = [0.0] * 6 if mask else 6.0 * LINE
    np.testing.assert_allclose(jacobian(f, mode=mode)(LINE), slopes, rtol=1e-14)


# ------------------------------------------------------------------------------ levels


def test_each_level_has_its_own_values():
    def f(x):
        y = x * x

        def inner(z):
            z[0] = y[1] * z[2]  # the argument of the inner one, with a value of the outer one
            w = np.zeros_like(z)
            w[:3] = y[:3]
            w += z * y
            return np.sum(w * w)

        slope = grad(inner)(y * 1.0)
        y[2] = slope[0]  # what the inner one saved is not touched by it
        slope += y
        return np.sum(slope * y)

    def plain(x):
        y = x * x

        def inner(z):
            z = np.concatenate((y[1:2] * z[2:3], z[1:]))
            w = np.concatenate((y[:3], np.zeros(3))) + z * y
            return np.sum(w * w)

        slope = grad(inner)(y)
        y = np.concatenate((y[:2], slope[:1], y[3:]))
        return np.sum((slope + y) * y)

    np.testing.assert_allclose(grad(f)(LINE), grad(plain)(LINE), rtol=1e-12)
    t = RNG.standard_normal(6)
    np.testing.assert_allclose(
        jvp(grad(f), (LINE,), (t,))[1], jvp(grad(plain), (LINE,), (t,))[1], rtol=1e-11
    )


def test_a_captured_variable_that_is_written_to_keeps_its_old_value_for_the_inner_gradient():
    def f(x):
        c = x * 2.0

        def inner(z):
            y = z * c
            c[0] = 100.0
            return np.sum(y * c)

        return np.sum(grad(inner)(x))

    def plain(x):
        c = 2.0 * x
        late = np.concatenate((np.array([100.0]), c[1:]))
        return np.sum(c * late)

    np.testing.assert_allclose(grad(f)(LINE), grad(plain)(LINE), rtol=1e-13)
    assert jvp(f, (LINE,), (np.ones(6),))[1] == pytest.approx(np.sum(grad(plain)(LINE)))


def test_what_a_pullback_saved_is_not_changed_by_writes_to_what_was_given_out():
    def f(x):
        y, pullback = vjp(np.exp, x)
        y *= 0.0
        x[0] = 5.0
        return np.sum(pullback(np.ones(6))[0])

    np.testing.assert_allclose(grad(f)(LINE), np.exp(LINE), rtol=1e-13)
    y, pullback = vjp(np.exp, LINE)
    y *= 0.0
    np.testing.assert_allclose(pullback(np.ones(6))[0], np.exp(LINE))


@pytest.mark.parametrize("outer", [grad, lambda f: lambda x: jvp(f, (x,), (np.ones(6),))[1]])
def test_a_value_of_an_inner_level_is_not_written_to_an_outer_buffer(outer):
    def f(x):
        buffer = np.zeros(6, like=x)

        def inner(z):
            buffer[0] = z[0]
            return np.sum(z)

        grad(inner)(x)
        return np.sum(buffer)

    with pytest.raises(TracerError, match="zeros_like"):
        outer(f)(LINE)

    def g(x):
        def inner(z):
            nonlocal x
            x += z
            return np.sum(z)

        return np.sum(grad(inner)(x))

    with pytest.raises(TracerError, match="inside"):
        outer(g)(LINE)


@pytest.mark.parametrize("outer", [grad, lambda f: lambda x: jvp(f, (x,), (np.ones(6),))[1]])
@pytest.mark.parametrize("inner", [grad, lambda f: lambda s: jvp(f, (s,), (1.0,))[1]])
@pytest.mark.parametrize(
    "write",
    [
        lambda v, s: np.multiply(v, s, out=v),
        lambda v, s: np.add(v, s, v),
        lambda v, s: np.matmul(s * np.eye(6), v, out=(v,)),
        lambda v, s: np.multiply(v[1:], s, out=v[1:]),
    ],
)
def test_a_ufunc_writes_no_value_of_an_inner_level_to_an_outer_buffer(outer, inner, write):
    def f(x):
        def of_scale(s):
            v = 2.0 * x
            write(v, s)
            return np.sum(v * x)

        return np.sum(inner(of_scale)(3.0))

    with pytest.raises(TracerError, match="comes from outside of the differentiation"):
        outer(f)(LINE)


# ------------------------------------------------------------------------------ plain arrays


@pytest.mark.parametrize(
    "f",
    [
        lambda x: operator.setitem(np.zeros(6), 0, x[0]),
        lambda x: operator.setitem(np.zeros(6), slice(0, 2), x[:2]),
        lambda x: operator.setitem(np.zeros((2, 6)), 0, x),
        lambda x: operator.iadd(np.zeros(6), x),
        lambda x: operator.imul(np.ones(6), x[0]),
        lambda x: operator.setitem(np.zeros(6), LINE > 1.0, x[0]),
        lambda x: np.add(x, 1.0, out=np.zeros(6)),
        lambda x: np.copyto(np.zeros(6), x),
        lambda x: np.add.at(np.zeros(6), [0, 1], x[:2]),
        lambda x: np.put(np.zeros(6), [0, 1], x[:2]),
        lambda x: np.fill_diagonal(np.zeros((6, 6)), x),
        lambda x: np.putmask(np.zeros(6), LINE > 1, x),
        lambda x: np.place(np.zeros(6), LINE > 1, x),
        lambda x: np.put_along_axis(np.zeros(6), np.array([1]), x[0], 0),
        lambda x: np.zeros(6).fill(x[0]),
        lambda x: np.matmul(x, x, out=np.zeros((), bool), casting="unsafe"),  # takes no where=
    ],
)
def test_writing_to_a_plain_array_says_what_to_write(f):
    for run in (grad, lambda f: lambda x: jvp(f, (x,), (np.ones(6),))):
        with pytest.raises((TracerError, ValueError)) as error:
            run(f)(LINE)
        refusal = error.value.__cause__ or error.value
        assert isinstance(refusal, TracerError)
        assert re.search("np.zeros_like|ignore_derivatives|use np.(add|matmul)\\(x, ", str(refusal))


@pytest.mark.parametrize("of", [lambda x: LINE, lambda x: x])
@pytest.mark.parametrize(
    "mask", [LINE > 1.0, np.stack([LINE < 2.0, LINE > 1.0]), 3 * [True, False], False]
)
def test_a_masked_result_keeps_the_other_numbers_of_its_array(of, mask):
    def f(x):
        y = x * np.full((2, 6), 3.0)
        np.divide(1.0, of(x), out=y, where=mask)
        return np.sum(y * y)

    assert value_and_grad(f)(LINE)[0] == f(LINE)
    rows = 1e-6 * np.eye(6)
    truth = [(f(LINE + row) - f(LINE - row)) / 2e-6 for row in rows]
    np.testing.assert_allclose(grad(f)(LINE), truth, rtol=1e-6)


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: np.put(y, [0, 2], x[6:]),
        lambda y, x: y.put([0, 2], x[6:]),
        lambda y, x: np.putmask(y, np.ones(6, bool), x[6:]),
        lambda y, x: np.fill_diagonal(y.reshape(2, 3), x[6:]),
        lambda y, x: np.put(y[0:1].reshape(()), [0, -1], x),
        lambda y, x: np.put(y[0:1].reshape(()), [], x),
        lambda y, x: np.put(y, [100], x[6:]),
        lambda y, x: np.put(y, [100], []),
        lambda y, x: np.put_along_axis(y[0:1].reshape(()), np.array([0]), x[3:4], None),
        lambda y, x: np.put(y, [4, 4, 1], x[2:4]),
    ],
)
def test_no_values_write_nothing_and_an_array_without_axes_has_one_place(write):
    def f(x):
        y = x * 1.0
        write(y, x)
        return np.sum(y**2 * np.arange(1.0, 7.0))

    assert value_and_grad(f)(LINE)[0] == f(LINE)
    steps = 1e-6 * np.eye(6)
    truth = [(f(LINE + h) - f(LINE - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(grad(f)(LINE), truth, rtol=1e-6, atol=1e-8)
    pushed = [jvp(f, (LINE,), (1e6 * h,))[1] for h in steps]
    np.testing.assert_allclose(pushed, truth, rtol=1e-6, atol=1e-8)


def test_a_division_that_leaves_out_zeros():
    def f(x, dtype=None):
        y = np.divide(1.0, x, out=np.zeros_like(x), where=x != 0)
        np.log(x, out=y, where=x > 2.0, dtype=dtype)
        return np.add(y, 1, out=y, where=np.array(3) > x)

    x = np.array([0.0, 0.5, 2.0, 4.0])
    signs = lambda x: np.sum(x * np.invert(x > 1.0, out=np.zeros_like(x), where=x > 0.1))
    assert value_and_grad(signs)(x)[0] == signs(x)
    for dtype in (np.float32, float):
        y, pull = vjp(f, x.astype(dtype))
        np.testing.assert_array_equal(y, f(x.astype(dtype)), strict=True)
        np.testing.assert_allclose(pull(np.ones_like(y))[0], [0.0, -4.0, -0.25, 0.25])
    assert hvp(lambda x: np.sum(f(x)), (x,), (np.ones(4),))[0].tolist() == [0, 16, 0.25, -0.0625]


@pytest.mark.parametrize("write", [lambda x, m: np.greater(x, 1.0, out=m), np.signbit])
def test_results_without_derivative_are_written_into_a_plain_array(write):
    def f(x):
        m = np.zeros(x.shape, bool)
        write(x - 1.0, m)
        return np.sum(np.where(m, x**2, np.sin(x)))

    h, t = 1e-6, RNG.standard_normal(LINE.shape)
    numeric = (f(LINE + h * t) - f(LINE - h * t)) / (2 * h)
    assert np.sum(grad(f)(LINE) * t) == pytest.approx(numeric, rel=1e-6)
    assert jvp(f, (LINE,), (t,))[0] == f(LINE)


# ------------------------------------------------------------------------------ what it costs


def count_copies(f):
    """How often a function copies an array to write to it."""
    copies = 0

    def count(frame, event, _):
        nonlocal copies
        copies += event == "call" and frame.f_code.co_name in ("put_at_numpy", "copy_numpy")

    sys.setprofile(count)
    try:
        f()
    finally:
        sys.setprofile(None)
    return copies


FILLS = {
    "numbers": lambda x, n: fill_with(x, n, lambda b, i: x[0] * i),
    "recursion": lambda x, n: fill_with(x, n, lambda b, i: b[i - 1] * x[0] + 1.0),
    "constants": lambda x, n: fill_with(x, n, lambda b, i: float(i)),
}


def fill_with(x, n, value):
    buffer = np.zeros(n, like=x)
    for i in range(n):
        buffer[i] = value(buffer, i)
    return np.sum(buffer)


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize(
    "differentiate",
    {
        "reverse": lambda f, x: grad(f)(x),
        "forward": lambda f, x: jvp(f, (x,), (np.ones(1),)),
        "reverse over reverse": lambda f, x: grad(lambda x: np.sum(grad(f)(x)))(x),
        "forward over reverse": lambda f, x: jvp(grad(f), (x,), (np.ones(1),)),
        "reverse over forward": lambda f, x: grad(lambda x: jvp(f, (x,), (x,))[1])(x),
    }.items(),
    ids=lambda pair: pair[0],
)
def test_filling_a_buffer_copies_it_no_more_than_a_few_times(name, differentiate):
    _, run = differentiate
    x = np.ones(1)
    run(lambda x: FILLS[name](x, 3), x)
    counts = [count_copies(lambda n=n: run(lambda x: FILLS[name](x, n), x)) for n in (8, 24)]
    assert counts[0] == counts[1] <= 8


def test_filling_by_rows_that_are_saved_copies_rows_and_not_the_buffer():
    def f(x):
        h = np.zeros((20, 4), like=x)
        addresses = set()
        for t in range(1, 20):
            h[t] = np.sin(h[t - 1]) * x
            addresses.add(h.__payload__.__array_interface__["data"][0])
        assert len(addresses) <= 2
        return np.sum(h)

    assert np.isfinite(grad(f)(np.ones(4))).all()


def test_a_write_in_place_writes_in_place():
    def f(x):
        buffer = np.zeros(50, like=x)
        addresses = set()
        for i in range(50):
            buffer[i] = x[i] * 2.0
            addresses.add(buffer.__payload__.__array_interface__["data"][0])
        assert len(addresses) == 1
        kept = np.exp(buffer)  # saves nothing of the buffer
        buffer[0] = 1.0
        squared = buffer * buffer  # saves it
        before = buffer.__payload__
        buffer[0] = 2.0
        assert not np.shares_memory(before, buffer.__payload__)
        assert before[0] == 1.0
        return np.sum(kept) + np.sum(squared) + buffer[0]

    x = RNG.standard_normal(50)
    bar = grad(f)(x)
    np.testing.assert_allclose(bar[1:], 2 * np.exp(2 * x[1:]) + 8 * x[1:])
    np.testing.assert_allclose(bar[0], 2 * np.exp(2 * x[0]))


def test_cotangents_that_were_given_out_are_not_written_to():
    seen = []
    with Tape() as tape:
        x = tape.variable(LINE, "x")
        y = x * 1.0
        y[0] = x[1]
        middle = y * 1.0
        hook(y, seen.append)
        first = y.place
        y[1] = x[2]
        total = np.sum(y * y) + np.sum(middle)
        late = y.place
    assert first != late
    bars = tape.grad(total, [x, y])
    kept = [bar.copy() for bar in seen]
    np.testing.assert_array_equal(seen, kept)
    np.testing.assert_allclose(bars[1], 2 * np.concatenate((LINE[1:2], LINE[2:3], LINE[2:])))
    assert seen[0][1] == 1.0  # through middle alone


def test_the_write_is_seen_in_the_listing():
    with Tape() as tape:
        x = tape.variable(LINE, "x")
        y = x * 2.0
        y[0] = x[1]
        y += x
    assert "put_at(" in str(tape)


def test_the_operation_takes_what_numpy_takes():
    index, (places,) = v.Index.split(np.array([0, -6, 0]))
    y = v.put_at(LINE, np.arange(3.0), places, index=index)
    assert y[0] == 2.0
    assert LINE[0] != 2.0


def test_a_tracer_among_the_places():
    def f(x):
        order = np.argsort(x)
        n = np.arange(6, like=x)
        y = np.zeros_like(x)
        y[order] = x * x
        y[np.asarray(n)[::2]] = 0.0
        return np.sum(y * np.arange(6.0))

    def plain(x):
        order = np.argsort(ignore_derivatives(x))
        scale = np.where(np.arange(6) % 2, np.arange(6.0), 0.0)[order]
        return np.sum(x * x * scale)

    np.testing.assert_allclose(grad(f)(LINE), grad(plain)(LINE), rtol=1e-13)


@pytest.mark.filterwarnings("ignore::chainrules_py.LostDerivativeWarning")
def test_buffers_that_hold_no_derivative_are_plain():
    def f(x):
        found = np.zeros_like(x, dtype=bool)
        counts = np.zeros(6, int, like=x)
        for i in range(6):
            found[i] = x[i] > 1.0
            counts[i] += found[i]
        assert type(found) is type(counts) is np.ndarray
        with pytest.raises(TracerError, match=r"ignore_derivatives.* counts of floats: it is of"):
            counts[0] = x[0]
        return np.sum(x[found] * counts[found])

    np.testing.assert_array_equal(grad(f)(LINE), LINE > 1.0)


def test_an_argument_that_is_written_to_by_its_name_outside():
    def f(x):
        def inner(z):
            y = z * z
            x[0] = 3.0
            return np.sum(y * z)

        return np.sum(grad(inner)(x))

    def forward(x):
        def inner(z):
            x[0] = 3.0
            return np.sum(z)

        return jvp(inner, (x,), (np.ones(6),))[1]

    for program in (f, forward):
        with pytest.raises(MutationError, match=r"float64\[6\], an argument"):
            grad(lambda x, p=program: p(x * 1.0))(LINE)


def test_a_view_that_changed_is_returned_as_it_is_at_the_end():
    """It is read again before the tape is closed, which records nothing after that."""

    def f(x):
        y = x * 1.0
        tail = y[4:]
        y[5] = 5.0 * x[0]
        return tail

    expected = np.zeros((2, 6))
    expected[0, 4], expected[1, 0] = 1.0, 5.0
    np.testing.assert_array_equal(jacobian(f)(LINE), expected)
    np.testing.assert_array_equal(linearize(f, LINE)[1](np.ones(6)), [1.0, 5.0])
    for g in (f, lambda x: (f(x), f(x))):
        _, pullback = vjp(g, LINE)
        bar = np.ones(2) if g is f else (np.ones(2), np.ones(2))
        times = 1.0 if g is f else 2.0
        np.testing.assert_array_equal(pullback(bar)[0], times * expected.sum(0))


def test_what_is_put_back_is_written_once():
    """``y[1:3] += x`` reads a part, adds to it, and writes it where it is: that is no write."""
    with Tape() as tape:
        y = tape.variable(LINE) * 1.0
        part = y[1:3]
        part += 2.0
        before = len(tape)
        y[1:3] = part
        assert len(tape) == before
        y[2:4] = part
        assert len(tape) > before


def test_a_view_that_changed_after_it_was_differentiated_in():
    def f(x):
        y = x * 1.0
        _, pullback = vjp(np.exp, y[:3])
        row = y[:3]
        _, pull = vjp(np.sin, row)
        y[0] = 0.0
        return np.sum(pullback(np.ones(3))[0]) + np.sum(pull(np.ones(3))[0])

    expected = np.concatenate((np.exp(LINE[:3]) - np.sin(LINE[:3]), np.zeros(3)))
    np.testing.assert_allclose(grad(f)(LINE), expected, rtol=1e-13)


def test_what_escaped_is_not_written_to():
    kept = []

    def f(x):
        kept.append(x * 2.0)
        return np.sum(x)

    grad(f)(LINE)
    for write in (
        lambda y: operator.setitem(y, 0, 1.0),
        lambda y: operator.iadd(y, 1.0),
        lambda y: y.fill(0.0),
    ):
        with pytest.raises(TracerError, match="after the grad"):
            write(kept[0])
    np.testing.assert_array_equal(kept[0].value, 2 * LINE)


class Marked(np.ndarray):
    """An array class of a user's, with a rule for writing of its own."""


register_array_type(Marked, Library(np))


@rule(v.put_at)
def put_at_rule_marked(x: Marked, y: float, *arrays: np.ndarray, index: v.Index):
    return v.put_at(np.asarray(x), y, *arrays, index=index).view(Marked), (
        LinearMap(lambda t: 10.0 * t, lambda bar: 10.0 * bar),
        NoTangent(),
    )


def test_a_users_rule_for_writing_is_used():
    x = LINE.view(Marked)

    def f(x):
        y = x * 1.0
        y[0] = 3.0
        y[1] = 4.0
        return np.sum(y)

    np.testing.assert_array_equal(np.asarray(grad(f)(x)), np.full(6, 100.0))
    assert jvp(f, (x,), (x,))[1] == pytest.approx(100.0 * LINE.sum())


class Observed(np.ndarray):
    """A subclass whose in-place product is its own."""

    def __imul__(self, y):
        self += y
        return self


def test_an_own_in_place_operator_is_refused_of_what_is_traced_alone():
    c = LINE.view(Observed)
    np.testing.assert_array_equal(grad(lambda x: np.sum(c * x**2))(np.ones(6)), 2.0 * LINE)
    for run in (grad, lambda f: lambda x: jvp(f, (x,), (x,))):
        for f in (lambda x: operator.imul(c * x, 2.0)[0], lambda x: operator.imul(x, c)[0]):
            with pytest.raises(TracerError, match="Observed has its own __imul__"):
                run(f)(c)


def test_cotangents_of_which_some_are_traced_and_some_are_not():
    """Elements read in turn, whose cotangents belong to two levels."""

    def f(w):
        def inner(x):
            return x[0] * 1.0 + x[1] * 1.0 + w * x[2] + x[3] * 1.0 + x[2] * 1.0 + x[0] * w

        bar = grad(inner)(np.ones(40))
        return np.sum(bar * bar)

    assert grad(f)(3.0) == 16.0
    assert jvp(f, (3.0,), (1.0,))[1] == 16.0
    assert grad(lambda w: jvp(f, (w,), (1.0,))[1])(3.0) == 4.0


def test_a_variable_that_was_written_to_is_what_it_is_now():
    with Tape(persistent=True) as tape:
        a = tape.variable(LINE, "a")
        b = a * 1.0
        b *= 3.0
        loss = np.sum(b * b)
        assert tape.grad(loss, a) == pytest.approx(18 * LINE)
        a *= 2.0
        late = np.sum(a * a)
    assert tape.grad(late, a) == pytest.approx(4 * LINE)  # at the value that it has, 2 LINE
    assert tape.grad(late, b) is ZeroTangent()


def test_what_numpy_writes_into_on_its_way_may_be_traced():
    x, m = np.array([[1.0, 2.0], [4.0, 7.0]]), np.array([[0.5, 1.0]])
    bar = grad(lambda m: np.sum(x.var(axis=0, mean=m)))(m)
    assert np.allclose(bar, -2 * np.mean(x - m, axis=0))


@pytest.mark.parametrize("of", [lambda x: x * 1.0, lambda x: x.copy(), lambda x: (x * 1.0)[1:]])
def test_astype_without_a_copy_gives_the_array_itself(of):
    def f(x):
        y = of(x)
        v = y.astype(float, copy=False)
        v *= 3.0
        w = y.astype(np.float32, copy=False)
        w *= 2.0
        return np.sum(v * y)

    x = np.array([0.5, 1.5, 2.0])
    assert f(x) == np.sum(9 * of(x) ** 2)
    y, y_bar = value_and_grad(f)(x)
    assert y == f(x)
    assert np.allclose(y_bar[-2:], 18 * x[-2:])
    assert np.isclose(jvp(f, (x,), (x,))[1], 2 * f(x))


# ---------------------------------------------------------------------------------------- threads

ROWS = 6


def central(f, x):
    steps = 1e-6 * np.eye(len(x))
    return np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps])


def filled(write):
    """A function whose threads write to disjoint rows of one buffer."""

    def f(x):
        b = np.zeros_like(x, shape=(ROWS, 3))
        rows = [b[k] for k in range(ROWS)]
        with ThreadPoolExecutor(ROWS) as pool:
            list(pool.map(lambda k: write(b, rows, k, np.sin(k * x[0]) + x), range(ROWS)))
        return np.sum(b * b) + np.sum(rows[1] * rows[2])

    return f


def set_row(b, _, k, value):
    b[k] = value


def set_view(_, rows, k, value):
    rows[k][:] = value


def add_row(b, _, k, value):
    b[k] += value


def into_row(b, _, k, value):
    np.multiply(value, value, out=b[k])


@pytest.mark.parametrize("write", [set_row, set_view, add_row, into_row])
@pytest.mark.parametrize("stop", ["check_writable", "write_back", "replace_value", "_mark_written"])
def test_threads_write_to_disjoint_rows_of_one_buffer(write, stop, monkeypatch):
    """Each thread waits in the middle of its write, so that the writes of others begin."""
    inside = getattr(writes_and_views, stop)

    def waits(*operands, **options):
        time.sleep(2e-3)
        return inside(*operands, **options)

    f, x = filled(write), np.array([0.3, 0.7, 0.2])
    y, want = f(x), central(f, x)
    monkeypatch.setattr(writes_and_views, stop, waits)
    value, found = value_and_grad(f)(x)
    assert value == pytest.approx(y, rel=1e-14)
    assert found == pytest.approx(want, rel=1e-6)
    assert jvp(f, (x,), (x,))[1] == pytest.approx(want @ x, rel=1e-6)


def test_first_views_that_threads_read_at_once_see_later_writes(monkeypatch):
    class Waits(writes_and_views.View):
        def __init__(self):
            time.sleep(2e-3)

    def f(x):
        b, ready = x * np.ones((ROWS, 1)), threading.Barrier(ROWS)

        def read(k):
            ready.wait(10)
            return b[k]

        with ThreadPoolExecutor(ROWS) as pool:
            rows = list(pool.map(read, range(ROWS)))
        b[:] = b * x
        return sum(k * np.sum(row) for k, row in enumerate(rows))

    x = np.array([0.3, 0.7, 0.2])
    y, want = f(x), central(f, x)
    for module in (writes_and_views, slices):
        monkeypatch.setattr(module, "View", Waits)
    value, found = value_and_grad(f)(x)
    assert value == pytest.approx(y, rel=1e-14)
    assert found == pytest.approx(want, rel=1e-6)
    assert jvp(f, (x,), (x,))[1] == pytest.approx(want @ x, rel=1e-6)
