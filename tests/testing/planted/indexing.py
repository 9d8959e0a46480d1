"""Plants that gather, scatter, pad, shift and permute: which element goes where."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from chainrules_py import ops as v
from tests.testing.planted.build import FIVE, SQUARE, VECTOR, Plant, X, Z, back, both, halves

CUBE = np.concatenate([X, Z]).reshape(-1)[:8].reshape(2, 2, 2)
CHOSEN = np.asarray([0, 2, 3])


def without_negative(t, x, indices):
    """Negative indices are taken for places outside."""
    x_bar = np.zeros(x.shape)
    np.add.at(x_bar, indices[indices >= 0], t[indices >= 0])
    return x_bar


def setting(pull_x: Any, pull_u: Any, write: Any) -> Any:
    """An array in which some elements are replaced, or changed by a second operand."""

    def value(x, u, indices):
        y = np.array(x, np.result_type(x, u))
        write(y, u, indices)
        return y

    return back(value, pull_x, pull_u, None)


def replace(y, u, indices):
    y[indices] = u


def multiply(y, u, indices):
    y[indices] *= u


def replace_covered(y, u, indices):
    y[indices] = u[: len(indices)]


def cleared(t, x, u, indices):
    t = np.array(t)
    t[indices] = 0.0
    return t


def scaled_there(t, x, u, indices):
    t = np.array(t)
    t[indices] *= u
    return t


def replace_rows(x, u):
    y = np.array(x)
    y[:] = u
    return y


def by_columns(step: int) -> Any:
    return lambda t, x: v.roll(t, shift=step, axis=-2)


PADDING = Literal["constant", "edge", "reflect"]


def padded(x, /, *, mode: PADDING = "constant"):
    """One more at each end of the last axis, in several ways."""
    before, after = {"constant": (x * 0.0, x * 0.0), "edge": (x, x[..., ::-1])}.get(
        mode, (x[..., 1:], x[..., -2::-1])
    )
    return np.concatenate([before[..., :1], x, after[..., :1]], axis=-1)


def cropped(t, x, mode):
    """Right for two of three ways."""
    x_bar = np.array(t[..., 1:-1])
    if mode == "edge":
        x_bar[..., 0] += t[..., 0]
        x_bar[..., -1] += t[..., -1]
    return x_bar


def flipped(x, /, *, axis=-1):
    return v.flip(x, axis=axis)


def permuted(x, /, *, axes=(1, 2, 0)):
    return v.permute_dims(x, axes=axes)


def as_permuted(t, x, axes):
    return permuted(t, axes=axes)


def kept(t, c, x, y):
    return v.where(c, t, 0.0)


def left(t, c, x, y):
    return v.where(c, 0.0, t)


def by_the_first_row(t, x):
    """Every row is put back in the order of the first one."""
    if not x.size:
        return t
    x_bar = np.empty(t.shape)
    x_bar[..., np.argsort(x.reshape(-1, x.shape[-1])[0])] = t
    return x_bar


def ends_only(t, x):
    return np.array(t[..., 1:-1])


WRONG: dict[str, Plant] = {
    "negative index left out": Plant(
        back(lambda x, i: x[i], without_negative, None),
        (FIVE, CHOSEN),
        "negative ind",
        "jax-ml/jax#7538",
    ),
    "element that is set twice": Plant(
        setting(cleared, lambda t, x, u, i: t[i], replace),
        (FIVE, VECTOR, CHOSEN),
        "repeated index",
        "pytorch/pytorch#146299",
    ),
    "element that is replaced keeps its derivative": Plant(
        setting(lambda t, x, u, i: t, lambda t, x, u, i: t[i], replace),
        (FIVE, VECTOR, CHOSEN),
        "for argument 1",
        "jax-ml/jax#1901",
    ),
    "multiplied in place": Plant(
        setting(scaled_there, lambda t, x, u, i: t[i], multiply),
        (FIVE, VECTOR, CHOSEN),
        "for argument 2",
        "jax-ml/jax#12469",
    ),
    "more values than indices": Plant(
        setting(cleared, lambda t, x, u, i: t[i], replace_covered),
        (FIVE, FIVE + 1.0, CHOSEN),
        "wrong shape",
        "pytorch/pytorch#188843",
    ),
    "rows that are set": Plant(
        back(replace_rows, lambda t, x, u: t * 0.0, lambda t, x, u: t[0]),
        (X, VECTOR),
        "missing sum over axis 0 for argument 2",
        "pymc-devs/pytensor#266",
    ),
    "margins that are reflected": Plant(
        back(lambda x: np.concatenate([x[..., 1:2], x, x[..., -2:-1]], axis=-1), ends_only),
        (FIVE,),
        "overwritten | missing sum",
        "pytorch/pytorch#196949",
    ),
    "one way of padding": Plant(
        back(padded, cropped), (FIVE,), "wrong only for mode='reflect'", "pytorch/pytorch#100793"
    ),
    "shifted along the other axis": Plant(
        halves(lambda x: v.roll(x, shift=1, axis=-1), by_columns(1), by_columns(-1)),
        (SQUARE,),
        "the right numbers in the wrong places",
        "pytorch/pytorch#37844",
    ),
    "reversed along all axes": Plant(
        both(flipped, (lambda t, x, axis: flipped(t, axis=axis), lambda t, x, axis: v.flip(t))),
        (X,),
        "reverse order",
        "pytorch/pytorch#53711",
    ),
    "permutation that is not inverted": Plant(
        both(permuted, (as_permuted, as_permuted)),
        (CUBE,),
        "transpose forgotten | transposed",
        "tensor4all/tenferro-rs#1092",
    ),
    "condition forgotten": Plant(
        both(v.where, None, (kept, lambda t, c, x, y: t), (left, left)),
        (X > 0, X, Z),
        "for argument 2",
        "HIPS/autograd#396",
    ),
    "rows sorted as the first one": Plant(
        back(lambda x: np.sort(x, axis=-1), by_the_first_row),
        (FIVE,),
        "wrong only for",
        "ekzhang/jax-js#154",
    ),
}
