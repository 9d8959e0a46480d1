"""Plants that gather, scatter, pad, shift and permute: which element goes where."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from chainrules_py import Array, LinearMap, NoTangent, linear_rule, primitive, rrule, rule
from chainrules_py import vocabulary as v
from tests.testing.planted.build import (
    SQUARE,
    VECTOR,
    Plant,
    X,
    Z,
    chosen,
    halves,
    numpy_pair,
    numpy_rule,
)

FIVE = np.asarray([0.3, -1.2, 2.5, 0.9, -0.4])
CUBE = np.concatenate([X, Z]).reshape(-1)[:8].reshape(2, 2, 2)
CHOSEN = np.asarray([0, 2, 3])


def without_negative(t, x, indices):
    """Negative indices are taken for places outside."""
    x_bar = np.zeros(x.shape)
    np.add.at(x_bar, indices[indices >= 0], t[indices >= 0])
    return x_bar


def last_of_each(t, x, indices):
    x_bar = np.zeros(x.shape)
    x_bar[indices] = t
    return x_bar


def setting(pull_x: Any, pull_u: Any, write: Any) -> Any:
    """An array in which some elements are replaced, or changed by a second operand."""

    def value(x, u, indices):
        y = np.array(x, np.result_type(x, u))
        write(y, u, indices)
        return y

    @primitive
    def f(x, u, indices, /):
        return value(x, u, indices)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, u: np.ndarray, indices: np.ndarray):
        pull = lambda t: (pull_x(t, x, u, indices), pull_u(t, x, u, indices), NoTangent())
        return value(x, u, indices), pull

    return f


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


PADDING = Literal["constant", "edge", "reflect"]


def padded() -> Any:
    """One more at each end of the last axis, in several ways, of which one is cropped back."""

    def value(x, mode):
        before, after = {"constant": (x * 0.0, x * 0.0), "edge": (x, x[..., ::-1])}.get(
            mode, (x[..., 1:], x[..., -2::-1])
        )
        return np.concatenate([before[..., :1], x, after[..., :1]], axis=-1)

    @primitive
    def f(x, /, *, mode: PADDING = "constant"):
        return value(x, mode)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, *, mode):
        def pull(t):
            x_bar = np.array(t[..., 1:-1])
            if mode == "edge":
                x_bar[..., 0] += t[..., 0]
                x_bar[..., -1] += t[..., -1]
            return (x_bar,)

        return value(x, mode), pull

    return f


def along_the_other_axis() -> Any:
    @primitive
    def f(x, /):
        return v.roll(x, shift=1, axis=-1)

    @rule(f)
    def f_rule(x: Array):
        push = lambda t: v.roll(t, shift=1, axis=-2)
        pull = lambda t: v.roll(t, shift=-1, axis=-2)
        return push(x), (LinearMap(push, pull),)

    return f


def flipped_along(pull: Any) -> Any:
    @primitive
    def f(x, /, *, axis=-1):
        return v.flip(x, axis=axis)

    linear_rule(f, pull)
    return f


def permuted() -> Any:
    @primitive
    def f(x, /, *, axes=(1, 2, 0)):
        return v.permute_dims(x, axes=axes)

    linear_rule(f, lambda t, x, *, axes: v.permute_dims(t, axes=axes))
    return f


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
        numpy_pair(lambda x, i: x[i], without_negative, None),
        (FIVE, CHOSEN),
        "negative ind",
        cites="jax-ml/jax#7538",
    ),
    "last of each index": Plant(
        numpy_pair(lambda x, i: x[i], last_of_each, None),
        (FIVE, CHOSEN),
        "repeated index",
        cites="pytorch/pytorch#1528",
    ),
    "element that is set twice": Plant(
        setting(cleared, lambda t, x, u, i: t[i], replace),
        (FIVE, VECTOR, CHOSEN),
        "repeated index",
        cites="pytorch/pytorch#146299",
    ),
    "element that is replaced keeps its derivative": Plant(
        setting(lambda t, x, u, i: t, lambda t, x, u, i: t[i], replace),
        (FIVE, VECTOR, CHOSEN),
        "for argument 1",
        cites="jax-ml/jax#1901",
    ),
    "multiplied in place": Plant(
        setting(scaled_there, lambda t, x, u, i: t[i], multiply),
        (FIVE, VECTOR, CHOSEN),
        "for argument 2",
        cites="jax-ml/jax#12469",
    ),
    "more values than indices": Plant(
        setting(cleared, lambda t, x, u, i: t[i], replace_covered),
        (FIVE, FIVE + 1.0, CHOSEN),
        "wrong shape",
        cites="pytorch/pytorch#188843",
    ),
    "rows that are set": Plant(
        numpy_pair(replace_rows, lambda t, x, u: t * 0.0, lambda t, x, u: t[0]),
        (X, VECTOR),
        "missing sum over axis 0 for argument 2",
        cites="pymc-devs/pytensor#266",
    ),
    "margins that are reflected": Plant(
        numpy_rule(lambda x: np.concatenate([x[..., 1:2], x, x[..., -2:-1]], axis=-1), ends_only),
        (FIVE,),
        "overwritten | missing sum",
        cites="pytorch/pytorch#196949",
    ),
    "one way of padding": Plant(
        padded(), (FIVE,), "wrong only for mode='reflect'", cites="pytorch/pytorch#100793"
    ),
    "shifted along the other axis": Plant(
        along_the_other_axis(), (SQUARE,), "wrong value", cites="pytorch/pytorch#37844"
    ),
    "shifted the same way back": Plant(
        halves(
            lambda x: v.roll(x, shift=1, axis=-1),
            lambda t, x: v.roll(t, shift=1, axis=-1),
            lambda t, x: v.roll(t, shift=1, axis=-1),
        ),
        (FIVE,),
        "transpose forgotten | transposed | off by",
        cites="FluxML/Zygote.jl#418",
    ),
    "reversed along all axes": Plant(
        flipped_along(lambda t, x, *, axis: v.flip(t)),
        (X,),
        "reverse order",
        cites="pytorch/pytorch#53711",
    ),
    "permutation that is not inverted": Plant(
        permuted(), (CUBE,), "transpose forgotten | transposed", cites="tensor4all/tenferro-rs#1092"
    ),
    "condition forgotten": Plant(
        chosen(lambda t, c: t), (X > 0, X, Z), "for argument 2", cites="HIPS/autograd#396"
    ),
    "rows sorted as the first one": Plant(
        numpy_rule(lambda x: np.sort(x, axis=-1), by_the_first_row),
        (FIVE,),
        "wrong only for",
        cites="ekzhang/jax-js#154",
    ),
}
