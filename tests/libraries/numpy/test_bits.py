"""A traced value is NumPy's own, bit for bit, whatever the order of its memory.

Sums are rounded in the order in which memory is read, so that a value that is laid out otherwise
than NumPy's differs in its last bit wherever it is summed.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_py import ops as v
from chainrules_tape import vjp


def _strided(x):
    room = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    room[..., ::2] = x
    return room[..., ::2]


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": _strided,
    "backwards": lambda x: np.flip(np.flip(x).copy()),
    "first axis innermost": lambda x: np.moveaxis(np.moveaxis(x, 0, -1).copy(), -1, 0),
    "last axes exchanged": lambda x: np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2),
    "broadcast": lambda x: np.broadcast_to(x[..., :1], x.shape),
}
# What the array went through before: it has a layout of its own from each.
BEFORE = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T,
    "gathered": lambda x: x[np.arange(x.shape[0])[::-1]],
    "gathered in the last axis": lambda x: x[..., np.arange(x.shape[-1])],
    "sliced backwards": lambda x: x[1:, ..., ::-1],
    "multiplied": lambda x: x * 2.5,
    "broadcast": lambda x: np.broadcast_to(x, (2, *x.shape)),
    "broadcast beside": lambda x: np.broadcast_arrays(x, x[:1])[0],
    "padded": lambda x: np.pad(x, 1),
    "reshaped": lambda x: x.reshape(-1),
}
AXES = (None, 0, 1, -1, -2, (0, 1), (-1, -2), (0, -1))
REDUCTIONS = ("sum", "mean", "prod", "var", "std", "max", "cumsum")


def _functions():
    """The functions by name; each takes an array."""
    for name in REDUCTIONS:
        for axis in AXES:
            if name == "cumsum" and type(axis) is tuple:
                continue
            kept = {} if name == "cumsum" else {"keepdims": True}
            yield f"np.{name}({axis=})", lambda x, n=name, a=axis: getattr(np, n)(x, axis=a)
            yield f".{name}({axis=})", lambda x, n=name, a=axis: getattr(x, n)(axis=a)
            if kept:
                yield (
                    f".{name}({axis=}, kept)",
                    lambda x, n=name, a=axis: getattr(x, n)(axis=a, keepdims=True),
                )
        yield f".{name}()", lambda x, n=name: getattr(x, n)()
    for axis in AXES:
        for order in (None, 1, 3, np.inf) if type(axis) is not tuple else (None, "fro"):
            yield f"norm({axis=}, {order=})", lambda x, a=axis, o=order: np.linalg.norm(x, o, a)
    yield "norm(fro)", lambda x: np.linalg.norm(x, "fro")
    yield "norm(kept)", lambda x: np.linalg.norm(x, keepdims=True)
    yield "matrix_norm", np.linalg.matrix_norm
    for order in "CF":
        yield f"ravel({order})", lambda x, o=order: x.ravel(o).sum()
        yield f"reshape({order})", lambda x, o=order: x.reshape(-1, order=o).sum()
    for name in ("inner", "vdot", "tensordot", "vecdot"):
        yield f"{name}(x, x)", lambda x, n=name: getattr(np, n)(x, x)
    yield "outer", lambda x: np.outer(x[:2, :7], x[:3, :5])
    yield "matmul", lambda x: np.matmul(x, np.swapaxes(x, -1, -2))
    yield "matrix_power", lambda x: np.linalg.matrix_power(x[..., :3, :3], 3)
    for written in ("ij->", "ijk->j", "...i,...i->...", "ijk,ljk->il"):
        yield f"einsum {written}", lambda x, w=written: np.einsum(w, *[x] * (1 + w.count(",")))
    yield "gradient", lambda x: np.gradient(x, axis=-1, edge_order=2)
    yield (
        "gradient, unequal",
        lambda x: np.gradient(x, np.arange(1.0, 1 + x.shape[0]) ** 1.5, axis=0, edge_order=2),
    )
    yield "cumulative_sum", lambda x: np.cumulative_sum(x, axis=0, include_initial=True).sum(0)


FUNCTIONS = dict(_functions())


def _sweep(shapes, dtypes):
    rng = np.random.default_rng(0)
    for shape in shapes:
        for dtype in dtypes:
            drawn = rng.standard_normal(shape)
            if dtype == "D":
                drawn = drawn + 1j * rng.standard_normal(shape)
            for layout, lay in LAYOUTS.items():
                x = lay(drawn.astype(dtype))
                for before, change in BEFORE.items():
                    yield x, change, (shape, dtype, layout, before)


def _differing(f, shapes, dtypes):
    found = []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for x, change, where in _sweep(shapes, dtypes):
            try:
                plain = f(change(x))
            except (ValueError, TypeError, IndexError, np.linalg.LinAlgError):
                continue  # not of so many axes
            traced, _ = vjp(lambda x, change=change: f(change(x)), x)
            same = traced.dtype == plain.dtype and np.array_equal(traced, plain, equal_nan=True)
            if not same:
                found.append(where)
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_traced_value_is_that_of_numpy_bit_for_bit(name):
    assert not _differing(FUNCTIONS[name], [(13, 29), (500, 5), (5, 17, 11)], "d")


# What is in C order is broadcast by filling, which costs less: einsum alone tells the difference.
# Backwards, and of complex64 alone, np.vdot adds otherwise than np.vecdot.
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"einsum ijk->j", "vdot(x, x)"}))
def test_so_it_is_of_other_shapes_and_dtypes(name):
    assert not _differing(FUNCTIONS[name], [(37, 2), (40, 3), (1, 64), (33, 2, 9)], "dfFD")


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.broadcast_to(x, (2, *x.shape)),
        lambda x: np.pad(x, ((1, 2), (0, 3))),
        lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
    ],
    ids=["broadcast_to", "pad", "cumulative_sum"],
)
def test_what_is_in_fortran_order_stays_so(f):
    x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    seen = []
    vjp(lambda x: seen.append(f(x).__payload__) or np.sum(x), x)
    assert seen[0].strides == f(x).strides


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (1,), (0,), (3, 0), ()])
def test_arrays_are_rolled_and_flipped_as_numpy_does(shape):
    x = np.random.default_rng(0).normal(size=shape)
    swapped = x.astype(x.dtype.newbyteorder())
    for a in (x, np.asfortranarray(x), x[..., ::-1] if shape else x[()], x.astype("f4"), swapped):
        for axis in (None, *range(-x.ndim, x.ndim)):
            flipped = v.flip(a, axis=axis)
            np.testing.assert_array_equal(flipped, np.flip(a, axis))
            assert np.shares_memory(flipped, a) == np.shares_memory(np.flip(a, axis), a)
            for shift in (-7, -1, 0, 1, 2, 9):
                wanted, found = np.roll(a, shift, axis), v.roll(a, shift=shift, axis=axis)
                np.testing.assert_array_equal(found, wanted)
                assert (found.dtype, found.strides) == (wanted.dtype, wanted.strides)
                assert not np.shares_memory(found, a)
    with pytest.raises(np.exceptions.AxisError):
        v.roll(x, shift=1, axis=4)
    with pytest.raises(np.exceptions.AxisError):
        v.flip(x, axis=4)
