"""Joining and cutting, as users of NumPy write it."""

import numpy as np
import pytest

from chainrules_py import (
    NoRuleError,
    NoTangent,
    ProjectionError,
    UnsupportedKeywordError,
    frule,
    rrule,
)
from chainrules_py import ops as v
from chainrules_tape import grad, vjp

rng = np.random.default_rng(3)
A, B = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
C = rng.standard_normal((2, 1))
X, Y = rng.standard_normal(3), rng.standard_normal(3)
BOX = rng.standard_normal((2, 4, 3))

CALLS = {
    "concatenate": (lambda a, b: np.concatenate([a, b]), A, B),
    "concatenate axis": (lambda a, b: np.concatenate((a, b), axis=-1), A, C),
    "concatenate None": (lambda a, b: np.concatenate((a, b), axis=None), A, X),
    "concatenate one of them": (lambda a: np.concatenate((a, B), 1), A),
    "concatenate twice the same": (lambda a: np.concatenate((a, a)), A),
    "concatenate a list of numbers": (lambda x: np.concatenate((x, [1.0, 2.0])), X),
    "concatenate an array": (np.concatenate, BOX),
    "concat": (lambda a, b: np.concat([a, b], axis=0), A, B),
    "stack": (lambda a, b: np.stack([a, b]), A, B),
    "stack axis": (lambda a, b: np.stack([a, b], axis=1), A, B),
    "stack last": (lambda a, b: np.stack([a, b], -1), A, B),
    "stack numbers": (lambda x: np.stack([x[0], x[2] * x[1]]), X),
    "an operation of a list": (lambda a, b: v.concat([a, b]), A, B),
    "an operation of a tuple": (lambda a, b: v.concat((a, b), axis=1), A, B),
    "an operation that stacks a list": (lambda a, b: v.stack([a, b], axis=-1), A, B),
    "vstack": (lambda a, x: np.vstack([a, x]), A, X),
    "hstack": (lambda a, c: np.hstack([a, c]), A, C),
    "hstack vectors": (lambda x, y: np.hstack([x, y]), X, Y),
    "dstack": (lambda a, b: np.dstack([a, b]), A, B),
    "column_stack": (lambda x, y: np.column_stack([x, y]), X, Y),
    "append": (lambda x, y: np.append(x, y), X, Y),
    "append axis": (lambda a, b: np.append(a, b, axis=0), A, B),
    "unstack": (lambda a: np.unstack(a, axis=1)[0] * np.unstack(a, axis=1)[2], A),
    "split": (lambda x: np.split(x, 2, axis=1)[1], BOX),
    "split places": (lambda x: np.split(x, [1, 3], axis=1)[1], BOX),
    "array_split": (lambda x: np.array_split(x, 3, axis=1)[0], BOX),
    "hsplit": (lambda x: np.hsplit(x, 2)[0], BOX),
    "vsplit": (lambda x: np.vsplit(x, 2)[1], BOX),
    "dsplit": (lambda x: np.dsplit(x, 3)[1], BOX),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(agree, name):
    f, *xs = CALLS[name]
    agree(f, *xs)
    agree(f, *[x * (1 + 2j) for x in xs])


def test_all_parts_of_a_split_together(agree):
    agree(lambda x: np.concatenate(np.split(x, 2, axis=1)[::-1], axis=1), BOX)


def test_numbers_of_python():
    assert grad(lambda t: np.sum(np.stack([t, 2 * t, t * t])))(3.0) == 9.0
    assert grad(lambda t: np.sum(np.hstack([t, X * t])))(3.0) == pytest.approx(1 + X.sum())


def test_numbers_of_python_where_several_libraries_join():
    """That JAX joins numbers as well makes nothing ambiguous."""
    pytest.importorskip("chainrules_jax")
    test_numbers_of_python()


@pytest.mark.parametrize("library", ["array_api_strict", "jax.numpy", "mlx.core", "torch"])
def test_lists_of_arrays_of_every_library(library):
    """``concat([a, b])`` is how the array-API standard has it."""
    xp = pytest.importorskip(library)
    x, y = (getattr(xp, "asarray", getattr(xp, "array", None))(z) for z in ([1.0, 2.0], [5.0]))
    for joined, wanted in (
        (lambda x: v.sum(v.concat([x * x, y, x])), [3, 5]),
        (lambda x: v.sum(v.stack((x * x, x), axis=1)), [3, 5]),
    ):
        slope = grad(joined)(x)
        assert type(slope) is type(x)
        assert [float(slope[0]), float(slope[1])] == wanted


def test_lists_within_programs_that_are_compiled():
    compile = pytest.importorskip("chainrules_compile").compile

    def f(x):
        return np.sum(v.concat([x, x * x]) * np.arange(6.0)) + np.sum(v.stack([x, x * X]))

    np.testing.assert_array_equal(compile(grad(f))(X), grad(f)(X))


def test_nothing_to_join():
    for call in (v.concat, v.stack, lambda: v.concat([]), lambda: v.stack(())):
        with pytest.raises(NoRuleError, match=r"write (concat|stack)\(\[a, b\]\)"):
            call()


def test_dtypes_each_get_their_own():
    a = A.astype(np.float32)
    y, pullback = vjp(lambda a, b: np.concatenate([a, b]), a, B)
    assert y.dtype == np.float64
    assert [bar.dtype for bar in pullback(y)] == [np.float32, np.float64]
    y, pullback = vjp(lambda a, z: np.concatenate([a, z]), A, B * 1j)
    assert [bar.dtype for bar in pullback(y)] == [np.float64, np.complex128]


def test_one_of_several_is_pushed():
    _, y_dot = frule((np.ones(3), np.zeros(3)), v.concat, X, Y)
    np.testing.assert_array_equal(y_dot, [1, 1, 1, 0, 0, 0])


def test_unequal_split_raises_as_numpy_does():
    with pytest.raises(ValueError, match="equal division"):
        grad(lambda x: np.sum(np.split(x, 3, axis=1)[0]))(BOX)


def test_unsupported():
    with pytest.raises(UnsupportedKeywordError, match="out"):
        grad(lambda a: np.sum(np.concatenate([a, B], out=np.zeros((4, 3)))))(A)


def test_booleans_among_numbers(agree):
    truth = np.array([True, False, True])
    agree(lambda x: np.concatenate([x, truth]), X)
    agree(lambda x: np.where(truth, x, False), X)


def test_dtype_is_checked_as_numpy_does():
    for f in (np.concatenate, np.stack, np.vstack, np.hstack):
        with pytest.raises(TypeError, match="Cannot cast"):
            grad(lambda x, f=f: np.sum(f([x, x], dtype=int)))(X)
        with pytest.raises(UnsupportedKeywordError, match="casting"):
            grad(lambda x, f=f: np.sum(f([x, x], dtype=float, casting="unsafe")))(X)


def test_blocks_that_do_not_fit():
    for arrays in (lambda x: [[x], x], lambda x: [x, []]):
        with pytest.raises(ValueError, match="List"):
            grad(lambda x, a=arrays: np.sum(np.block(a(x))))(X)
    with pytest.raises(TypeError, match="tuple"):
        grad(lambda x: np.sum(np.block([(x, x)])))(X)


def test_grids_that_do_not_exist():
    with pytest.raises(ValueError, match="indexing"):
        grad(lambda x: np.sum(np.meshgrid(x, X, indexing="kl")[0]))(X)


def test_parts_of_a_grid_are_their_own():
    """As NumPy's, they can be written to, each alone."""

    def f(x):
        a, b = np.meshgrid(x, np.arange(2.0))
        b[0, 0] = 5.0
        return np.sum(a * b)

    np.testing.assert_array_equal(grad(f)(X), [6.0, 1.0, 1.0])


# ------------------------------------------------- direct rules of functions made of several
# operations


def test_integers_by_position_stand_for_themselves():
    """They are operands in the contract, and cannot be perturbed: no tracer of an int."""
    y, pullback = rrule(np.split, BOX, 3, 2)
    bars = pullback([np.ones_like(part) for part in y])
    np.testing.assert_array_equal(bars[0], np.ones_like(BOX))
    assert bars[1:] == (NoTangent(), NoTangent())
    _, y_dot = frule((BOX, NoTangent(), NoTangent()), np.swapaxes, BOX, np.int64(0), 2)
    np.testing.assert_array_equal(y_dot, np.swapaxes(BOX, 0, 2))
    _, pullback = rrule(np.pad, X, {0: (1, 2)})
    assert pullback(np.ones(6))[1] == NoTangent()


def test_options_by_position_have_an_entry_too():
    """One entry per operand, also where the operation takes some of them as options."""
    _, pullback = rrule(np.reshape, A, (3, 2))
    bars = pullback(np.ones((3, 2)))
    assert len(bars) == 2
    assert bars[1] == NoTangent()
    _, y_dot = frule((A, NoTangent()), np.sum, A, 1)
    np.testing.assert_array_equal(y_dot, A.sum(axis=1))


def test_integers_that_stand_for_themselves_have_no_tangent():
    with pytest.raises(ProjectionError, match="stands for itself"):
        frule((BOX, 1.0, NoTangent()), np.swapaxes, BOX, 0, 2)
    with pytest.raises(ProjectionError, match="one tangent for each"):
        frule((BOX,), np.swapaxes, BOX, 0, 2)


def test_stack_of_numbers_of_python_and_of_numpy():
    for xs in ((1.0, np.float64(2.0)), (np.float64(1.0), 2.0), (1.0, np.array(2.0))):
        y, pullback = rrule(v.stack, *xs)
        assert np.array_equal(y, [1, 2])
        assert pullback(np.array([3.0, 4.0])) == (3, 4)
        assert np.array_equal(frule((3.0, 4.0), v.stack, *xs)[1], [3, 4])
