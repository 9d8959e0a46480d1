"""Memory that noted arrays share: writes through views, and programs that write over the dead."""

from __future__ import annotations

import collections
import operator

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingError, compile
from tests.engines.compile.checked import compile_checked
from tests.engines.compile.test_compiled import CASES, X, same
from tests.engines.compile.views import judge

pytestmark = pytest.mark.filterwarnings("error::chainrules_compile.RecordingWarning")


def written_through_a_view(x):
    b = x * 1.0
    b.reshape(-1)[0] = 5.0
    return np.sum(b**2)


def read_through_a_view_after_a_write(x):
    b = x * 1.0
    r = b.reshape(-1)
    b *= 3.0
    return np.sum(r**2)


def reversed_and_divided(x):
    s = x / (1 + np.sum(x**2))
    return np.sum(np.flip(x) * s)


def determinant(x):
    return np.linalg.det(np.outer(x, x**2) + np.diag(x))


def parts_multiplied(x):
    w = -x * 1.0
    w[1:3] *= x[2:]
    return np.sum(w * w)


def element_replaced(x):
    b = x * 1.0
    b[0] = x[0] * x[1]
    return np.sum(b**2)


@pytest.mark.parametrize("transform", [ct.grad, ct.hessian], ids=["grad", "hessian"])
@pytest.mark.parametrize(
    "f",
    [
        written_through_a_view,
        read_through_a_view_after_a_write,
        reversed_and_divided,
        determinant,
        parts_multiplied,
        element_replaced,
    ],
)
def test_memory_is_used_again_where_nobody_looks_at_it(f, transform):
    for x in (np.array([0.7, -1.3, 2.1, 0.4]), np.array([1.7, 0.3, -2.1, 0.9])):
        compiled = compile_checked(transform(f))
        for _ in range(2):
            assert np.array_equal(compiled(x), transform(f)(x))


@pytest.mark.parametrize("name", CASES)
def test_what_was_noted_of_values_holds(name):
    f, args = CASES[name]
    with np.errstate(all="ignore"):
        compile_checked(f)(*args)


def counted(seeds):
    found: collections.Counter[str] = collections.Counter()
    for seed in seeds:
        found.update([said.split(":")[0] for said in judge(seed, same).values()])
    return found


def test_random_views():
    found = counted(range(12))
    assert found["equal"] > 40


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(0, 5000, 500))
def test_many_random_views(start):
    found = counted(range(start, start + 500))
    assert found["equal"] > 1800
    assert found["refused"] < 20


SHARING = {
    "astype": lambda x: x.astype(float),
    "transposed": lambda x: x.reshape(2, 3).astype(float).T,
    "ravel": lambda x: x.reshape(2, 3).ravel(),
    "argument": lambda x: x,
}
"""Functions whose results share the memory of an argument, in NumPy or on the tape."""
CHANGES = {
    "part": lambda a: operator.setitem(a, slice(1, None), a[1:] + a[:-1]),
    "part in place": lambda a: operator.iadd(a[1:], a[:-1] * 2.0),
    "element": lambda a: operator.setitem(a, 0, 3.0),
    "whole": lambda a: operator.itruediv(a, a[1]),
    "reversed": lambda a: operator.imul(a[::-1], a * 1.0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", SHARING)
def test_a_gradient_through_writes_to_what_shares_memory_is_compiled(name, change):
    def f(x):
        a = SHARING[name](x)
        CHANGES[change](a)
        return np.sum(a**2 * 1.5) + np.sum(x**3)

    compiled, h = compile_checked(ct.grad(f), strict=True), 1e-6
    for x in (np.linspace(0.3, 1.4, 6), np.linspace(-1.7, 0.9, 6)):
        before = x.copy()
        steps = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(6)]
        np.testing.assert_allclose(compiled(x), steps, rtol=1e-6, atol=1e-6)
        assert np.array_equal(x, before)
    assert len(compiled.programs) == 1


EMPTY = {
    "rows": lambda y: operator.isub(y[:0, [0, 1]], 1.0),
    "column of rows": lambda y: operator.setitem(y[:0, [0, 1]], (slice(None), 0), 1.0),
    "places": lambda y: operator.imul(y[:, np.array([], int)], 2.0),
    "rows from rows": lambda y: operator.setitem(y, (slice(0), [0, 1]), y[:0, [1, 2]]),
    "rows in place": lambda y: operator.isub(y[:0, [0, 1]], y[:0, [1, 2]]),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("door", [lambda f: lambda x: f(x), ct.value_and_grad])
def test_an_empty_selection_of_a_copy_is_written_to(name, door):
    def f(x):
        y = np.copy(x).reshape(2, 3)
        EMPTY[name](y)
        return np.sum(y**2)

    compiled = compile_checked(door(f), strict=True)
    for x in (X, -X):
        assert same(compiled(x), door(f)(x))


MASKS = {
    "zeros like": lambda x: np.less(x, 0.5, out=np.zeros_like(x, bool), where=~np.isnan(x)),
    "computed": lambda x: np.less(x, 0.5, out=x > 3.0, where=x > 0),
    "logical": lambda x: np.logical_or(x > 3.0, x < 0.5, out=x > 2.0),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("door", [lambda f: lambda x: f(x), ct.grad, ct.hessian])
def test_a_comparison_is_written_into_a_mask(name, door):
    f = lambda x: np.sum(np.where(MASKS[name](x), x**3, x))
    compiled = compile_checked(door(f), strict=True)
    for x in (X, X[::-1].copy(), -X):
        np.testing.assert_allclose(compiled(x), door(f)(x), rtol=1e-14)


def test_a_comparison_that_is_written_into_a_plain_mask_names_the_one_to_make():
    @ct.grad
    def f(x):
        mask = np.zeros(6, bool)
        np.less(x, 0.5, out=mask)
        return np.sum(np.where(mask, x, x**2))

    with pytest.raises(RecordingError, match=r"zeros_like\(x, shape=n\), with dtype=bool"):
        compile(f, strict=True)(X)


def test_results_written_into_arrays():
    def f(x):
        y = x * 1.0
        np.add(y, 1.0, out=y, where=x > 0)
        np.multiply(y, x, y[::-1])
        return y

    assert same(compile_checked(f)(X), f(X))
    assert same(compile_checked(f)(-X), f(-X))
    with pytest.raises(TypeError, match="Cannot cast"):
        compile_checked(lambda x: np.add(x, 1.5, out=np.zeros(6, int, like=x)))(X)
    with pytest.raises(TypeError, match="Cannot cast"):
        compile_checked(lambda x: np.modf(x, out=(x * 1.0, np.zeros(6, int, like=x))))(X)


@pytest.mark.parametrize(
    "write",
    [
        lambda b, x: np.copyto(b, x[:3]),
        lambda b, x: np.copyto(b, x[0], where=x[:3] > 0),
        lambda b, x: np.put(b, [0, 2], x[:2]),
        lambda b, x: np.fill_diagonal(b, x[0]),
        lambda b, x: np.put_along_axis(b, np.array([[0], [1], [2]]), x[1], 1),
        lambda b, x: np.add.at(b, ([0, 0, 1], [1, 1, 2]), x[0]),
        lambda b, x: np.copyto(src=x[:3], dst=b),
        lambda b, x: np.put(ind=[0, 2], v=x[:2], a=b),
        lambda b, x: np.place(mask=b > 2.0, vals=x[:2], arr=b),
        lambda b, x: np.fill_diagonal(val=x[0], a=b),
        lambda b, x: np.put_along_axis(
            values=x[1], arr=b, axis=1, indices=np.array([[0], [1], [2]])
        ),
        lambda b, x: b.fill(3.0),
        lambda b, x: b.sort(axis=0),
        lambda b, x: b.partition(1),
        lambda b, x: b.ravel().sort(),
    ],
)
def test_functions_that_write(write):
    def f(x):
        b = np.outer(x[:3], x[3:]) + 1.0
        write(b, x)
        return np.sum(b * b)

    for door in (lambda f: lambda x: f(x), ct.value_and_grad):
        compiled = compile_checked(door(f))
        for given in (X, -0.5 * X):
            assert same(compiled(given), door(f)(given))


@pytest.mark.parametrize(
    "write",
    [
        lambda b, x: np.sum(b, axis=0, out=b[0]),
        lambda b, x: np.add.reduce(b, axis=0, out=b[1]),
        lambda b, x: np.multiply.outer(x[:3], x[3:], out=b),
        lambda b, x: np.divmod(x[:3], x[3:], out=(b[0], b[1])),
        lambda b, x: np.divmod(x[:3], x[3:], out=(b[:, 0], b[1]), where=x[:3] > 2.0),
        lambda b, x: np.modf(x[:3], b[0], b[2]),
        lambda b, x: np.modf(x[:3], out=(None, b[1])),
        lambda b, x: np.add(b[1], np.frexp(x[:3], out=(b[0], None))[1], out=b[2]),
    ],
)
def test_results_written_by_other_functions(write):
    def f(x):
        b = np.outer(x[:3], x[3:]) + 1.0
        write(b, x)
        return b

    assert same(compile_checked(f)(X), f(X))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_writes_that_nobody_can_follow_are_refused():
    def rows_of_one(x):
        y = np.broadcast_arrays(x * 1.0, np.zeros((2, 6)))[0]
        y[0] *= 2.0
        return y

    with np.errstate(all="ignore"), pytest.raises((RecordingError, ValueError)):
        compile_checked(rows_of_one, strict=True)(X)


def test_mask_of_what_is_compiled_beside_a_plain_tangent():
    f = lambda x: ct.jvp(lambda y: store(y * 1.0, x > 0), (np.ones(6),), (np.ones(6),))

    def store(y, mask):
        y[mask] = 0.5
        return y

    assert same(compile_checked(f)(X), f(X))


READS = {
    "mask": lambda x: np.sum(x[x > 0]),
    "squares of a mask": lambda x: np.sum(x[x > 0] ** 2),
    "argwhere": lambda x: np.sum(x[np.argwhere(x > 0)[:, 0]]),
    "nonzero": lambda x: np.sum(x[np.nonzero(x)[0][::-1]]),
    "argsort": lambda x: np.sum(x[np.argsort(x)]),
    "take": lambda x: np.sum(np.take(x, np.argsort(x)[:2])),
    "along": lambda x: np.sum(np.take_along_axis(x, np.argsort(x), 0)),
    "plain rows": lambda x: np.sum(x[np.array([2, 2])]),
    "plain element": lambda x: x[0],
    "plain part": lambda x: np.sum(x[1:]),
}


@pytest.mark.parametrize("second", READS)
@pytest.mark.parametrize("first", READS)
def test_places_that_are_computed_beside_those_that_are_known(first, second):
    f = ct.grad(lambda x: READS[first](x) + READS[second](x))
    for x in (X, -X):
        assert np.array_equal(compile_checked(f)(x), f(x))


@pytest.mark.parametrize("wrapped", [lambda f: f, ct.grad])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x[np.nonzero(x > 0)] ** 2),
        lambda x: np.sum(x[np.where(x > 0)] ** 3),
        lambda x: np.sum(x[np.flatnonzero(x)] * x[0]),
        lambda x: np.sum(np.split(x, 1)[0] ** 2),
        lambda x: np.sum(x) * (1 + len(np.unstack(x[:0]))),
    ],
    ids=["nonzero", "where", "flatnonzero", "split", "unstack"],
)
def test_results_in_structures_of_one_or_none(f, wrapped):
    compiled, eager = compile(wrapped(f)), wrapped(f)
    for x in ([1.0, -2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 1.0, -3.0]):
        assert np.array_equal(compiled(np.array(x)), eager(np.array(x)))


def test_a_new_array_in_another_order_is_nobody_elses():
    """A sum of an array and its transpose is written to, as the tape's own."""
    a, b = np.arange(6.0).reshape(2, 3), np.linspace(-1.0, 1.0, 2)

    def f(a, b):
        return np.mean(a) * np.sum(np.mean(a, 1) * b) + a.T[0, 0]

    found, wanted = compile(ct.grad(f))(a, b), ct.grad(f)(a, b)
    np.testing.assert_array_equal(found, wanted)
    x = np.asfortranarray(np.ones((150, 150)))

    def g(x):
        y = x + x
        y += 1.0
        return y

    np.testing.assert_array_equal(compile(g)(x), g(x))


MADE = {
    "zeros of a kind": lambda x: np.zeros((2, 2), like=x),
    "zeros like": lambda x: np.zeros_like(x.reshape(2, 2)),
    "computed": lambda x: x.reshape(2, 2) * 1.0,
}
INTO = {
    "copyto": lambda b, x: np.copyto(b, x.reshape(2, 2)),
    "copyto where": lambda b, x: np.copyto(b, x[:2], where=x.reshape(2, 2) > 0),
    "add.at": lambda b, x: np.add.at(b, ([0, 1, 1], [1, 1, 1]), x[:3]),
    "subtract.at": lambda b, x: np.subtract.at(b, [0, 0], x.reshape(2, 2)),
    "put": lambda b, x: np.put(b, [1, 2], x[:2]),
    "method": lambda b, x: b.put([1, 2], x[2:]),
    "put_along_axis": lambda b, x: np.put_along_axis(b, np.array([[1], [0]]), x[:2, None], 1),
    "place": lambda b, x: np.place(b, x.reshape(2, 2) > 0, x[:2]),
    "putmask": lambda b, x: np.putmask(b, x.reshape(2, 2) > 0, x[:3]),
    "fill_diagonal": lambda b, x: np.fill_diagonal(b, x[:2]),
    "fill": lambda b, x: b.fill(2.0),
    "out": lambda b, x: np.add(x.reshape(2, 2), 1, out=b),
    "assignment": lambda b, x: b.__setitem__((slice(None), 0), x[:2]),
}


@pytest.mark.parametrize("into", INTO)
@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("transform", [lambda f: f, ct.grad, ct.hessian])
def test_each_way_to_write_into_each_array_of_the_function(made, into, transform):
    def f(x):
        b = MADE[made](x)
        INTO[into](b, x)
        return np.sum(b**3 * np.arange(4.0).reshape(2, 2))

    compiled = compile(transform(f))
    for x in (np.array([1.0, -2.0, 3.0, 0.5]), np.array([-1.5, 0.25, 0.125, 2.0]), np.ones(4)):
        assert same(compiled(x), transform(f)(x))


@pytest.mark.parametrize("transform", [lambda f: f, ct.grad])
def test_conditions_of_piecewise_are_computed(transform):
    def f(x):
        y = np.piecewise(x, [x < 0, x >= 0], [lambda t: t * 2, lambda t: t**2])
        return np.sum(y + np.piecewise(x, [x < 1, x > 2], [0.5, np.sin, np.cos]))

    compiled = compile(transform(f))
    for x in (np.array([1.0, -2.0, 3.0, 0.5]), np.array([-1.0, 2.0, 3.0, 0.0])):
        assert same(compiled(x), transform(f)(x))


@pytest.mark.parametrize(
    "f",
    [
        lambda m, w: np.sum(np.tanh(m.dot(w))),
        lambda m, w: np.mean(m.clip(0.5, w) * w),
        lambda m, w: m.T.dot(m.dot(w)).sum(),
    ],
)
def test_methods_of_an_argument_whose_operands_are_differentiated(f):
    """The argument is recorded alone, and NumPy's own array would convert the operand."""
    m = X.reshape(2, 3)
    for door in (ct.grad(f, 1), lambda m, w: ct.jvp(lambda w: f(m, w), (w,), (w,))[1]):
        compiled = compile_checked(door, strict=True)
        for w in (X[:3], -2.0 * X[3:]):
            np.testing.assert_allclose(compiled(m, w), door(m, w), rtol=1e-13)
