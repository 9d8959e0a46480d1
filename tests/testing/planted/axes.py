"""Plants that are right for the axes and entries of the sample, and wrong for one more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import Tangent, primitive, rrule
from tests.testing.planted.arrangement import squared_distances
from tests.testing.planted.build import (
    SQUARE,
    VECTOR,
    Plant,
    Right,
    X,
    alone,
    numpy_pair,
    numpy_rule,
)
from tests.testing.planted.draws import normal, regular
from tests.testing.planted.matrices import trace_of_product

FEW = np.array([1.25, 2.25, 0.5])


def swapped(x):
    return np.swapaxes(x, 0, 1)


def transposed_last(t):
    return np.swapaxes(t, -1, -2)


def to_its_shape(t, x):
    """Sum over the axes that are not those of an operand."""
    return np.sum(t, axis=tuple(range(np.ndim(t) - np.ndim(x)))) if np.ndim(t) > np.ndim(x) else t


def joined(pull: Callable[[Any, Any], Any], kind: type = list) -> Any:
    """Entries of a list, or a tuple, one after another, with a pull of ``(t, entries)``."""

    @primitive
    def f(xs, /):
        return np.concatenate([np.ravel(x) for x in xs])

    @rrule.register(f, types=(kind,))
    def f_rrule(xs):
        return f(xs), lambda t: (Tangent[kind](*pull(t, xs)),)

    return f


def all_joined(pull: Callable[[Any, Any], Any]) -> Any:
    @primitive
    def f(*xs):
        return np.concatenate(xs)

    @rrule.register(f)
    def f_rrule(*xs):
        return f(*xs), lambda t: tuple(pull(t, xs))

    return f


def of_squares(pull: Callable[[Any, Any], Any]) -> Any:
    """The sum of squares of the entries of a dictionary, with a pull of ``(t, entries)``."""

    @primitive
    def f(d, /):
        return sum(np.sum(x * x) for x in d.values())

    @rrule.register(f)
    def f_rrule(d: dict):
        return f(d), lambda t: (Tangent[dict](**pull(t, d)),)

    return f


def cut_evenly(t, xs):
    n = np.size(xs[0])
    return [np.resize(t[k * n : (k + 1) * n], np.shape(x)) for k, x in enumerate(xs)]


def cut_two(t, xs):
    n = np.size(xs[0])
    parts = [t[:n], t[n : n + np.size(xs[1])]]
    parts += [t[n : n + np.size(x)] for x in xs[2:]]
    return [np.resize(p, np.shape(x)) for p, x in zip(parts, xs, strict=True)]


def cut_rightly(t, xs):
    ends = np.cumsum([np.size(x) for x in xs])
    return [np.reshape(t[e - np.size(x) : e], np.shape(x)) for e, x in zip(ends, xs, strict=True)]


def chained(pull: Callable[[Any, Any], Any]) -> Any:
    """The product of the entries of a list, with a pull of ``(t, entries)``."""

    @primitive
    def f(xs, /):
        return np.prod(np.stack(xs), axis=0)

    @rrule.register(f)
    def f_rrule(xs: list):
        return f(xs), lambda t: (Tangent[list](*pull(t, xs)),)

    return f


WRONG: dict[str, Plant] = {
    "product of stacks of square matrices": Plant(
        numpy_pair(np.matmul, lambda t, _a, b: t @ b.T, lambda t, a, _b: a.T @ t),
        (SQUARE, SQUARE + 1.0),
        "leading axis",
    ),
    "inverses by one": Plant(
        numpy_rule(np.linalg.inv, lambda t, x: -np.linalg.inv(x).T @ t @ np.linalg.inv(x).T),
        (SQUARE + 3.0 * np.eye(3),),
        "leading axis",
    ),
    "determinants by one": Plant(
        numpy_rule(np.linalg.det, lambda t, x: t * np.linalg.det(x) * np.linalg.inv(x).T),
        (SQUARE + 3.0 * np.eye(3),),
        "leading axis",
    ),
    "trace of a product of stacks": Plant(
        numpy_pair(trace_of_product, lambda t, _a, b: t * b.T, lambda t, a, _b: t * a.T),
        (SQUARE, SQUARE + 1.0),
        "leading axis",
    ),
    "squared distances of stacks": Plant(
        numpy_pair(
            squared_distances,
            lambda t, a, b: 2.0 * (t.sum(axis=1)[:, None] * a - t @ b),
            lambda t, a, b: 2.0 * (t.sum(axis=0)[:, None] * b - t.T @ a),
        ),
        (X, SQUARE),
        "leading axis",
    ),
    "two axes for all": Plant(numpy_rule(swapped, lambda t, _x: np.transpose(t)), (X,), "axis"),
    "one axis, reversed": Plant(
        numpy_rule(lambda x: x[::-1], lambda t, _x: np.flip(t)), (VECTOR,), "axis"
    ),
    "all axes, reversed": Plant(numpy_rule(np.flip, lambda t, _x: t[::-1]), (VECTOR,), "axis"),
    "sum along the first axis": Plant(
        numpy_rule(lambda x: np.sum(x, axis=0), lambda t, x: np.sum(t) * np.ones(np.shape(x))),
        (VECTOR,),
        "axis",
    ),
    "sum along the last axis": Plant(
        numpy_rule(
            lambda x: np.sum(x, axis=-1), lambda t, x: np.expand_dims(t, 1) * np.ones(np.shape(x))
        ),
        (X,),
        "axis",
    ),
    "last axis to the front": Plant(
        numpy_rule(lambda x: np.moveaxis(x, -1, 0), lambda t, _x: np.moveaxis(t, -1, 0)),
        (X,),
        "axis",
    ),
    "dot of vectors for matrices": Plant(
        numpy_pair(np.dot, lambda t, _a, b: t * b, lambda t, a, _b: t * a),
        (VECTOR, VECTOR + 1.0),
        "axis",
    ),
    "difference along the first axis": Plant(
        numpy_rule(
            lambda x: np.diff(x, axis=0),
            lambda t, x: (
                np.diff(np.pad(-t, 1), axis=0)[:, : x.shape[1]]
                if x.ndim > 1
                else np.diff(np.pad(-t, 1))
            ),
        ),
        (VECTOR,),
        "axis",
    ),
    "third entry at the second place": Plant(joined(cut_two), ([FEW, FEW + 1.0],), "entries"),
    "entries of one length": Plant(joined(cut_evenly), ([FEW, FEW + 1.0],), "entries"),
    "entries of one length in a tuple": Plant(
        joined(cut_evenly, tuple), ((FEW, FEW + 1.0),), "entries"
    ),
    "operands of one length": Plant(
        all_joined(cut_evenly), (FEW, FEW + 1.0), "entries|leading axis"
    ),
    "two operands": Plant(all_joined(cut_two), (FEW, FEW + 1.0), "entries|leading axis"),
    "two entries of a dictionary": Plant(
        of_squares(lambda t, d: {k: 2.0 * t * x * (i < 2) for i, (k, x) in enumerate(d.items())}),
        ({"a": FEW, "b": FEW + 1.0},),
        "entries",
    ),
    "the other entry of two": Plant(
        chained(lambda t, xs: [t * xs[(i + 1) % len(xs)] for i in range(len(xs))]),
        ([FEW, FEW + 1.0],),
        "entries",
    ),
    "four entries": Plant(
        chained(
            lambda t, xs: [
                t * np.prod(np.stack([x for k, x in enumerate(xs[:3]) if k != i]), axis=0)
                for i in range(len(xs))
            ]
        ),
        ([FEW, FEW + 1.0],),
        "entries",
    ),
}


def rest(xs, i):
    return np.prod(np.stack([x for k, x in enumerate(xs) if k != i]), axis=0)


def two_alone(t, xs):
    a, b = xs
    return [t * b, t * a]


RIGHT: dict[str, Right] = {
    "product of stacks, the last axes": Right(
        numpy_pair(
            np.matmul,
            lambda t, a, b: to_its_shape(t @ transposed_last(b), a),
            lambda t, a, b: to_its_shape(transposed_last(a) @ t, b),
        ),
        normal((3, 3), (3, 3)),
    ),
    "product of one matrix, that says so": Right(
        numpy_pair(
            np.matmul,
            lambda t, a, b: alone(a, b) or t @ b.T,
            lambda t, a, b: alone(a, b) or a.T @ t,
        ),
        normal((3, 3), (3, 3)),
    ),
    "inverses": Right(
        numpy_rule(
            np.linalg.inv,
            lambda t, x: -transposed_last(np.linalg.inv(x)) @ t @ transposed_last(np.linalg.inv(x)),
        ),
        regular(),
    ),
    "two axes": Right(numpy_rule(swapped, lambda t, _x: swapped(t)), normal((2, 3))),
    "all axes": Right(numpy_rule(np.transpose, lambda t, _x: np.transpose(t)), normal((2, 3))),
    "reversed along the first": Right(
        numpy_rule(lambda x: x[::-1], lambda t, _x: t[::-1]), normal((3,))
    ),
    "entries one after another": Right(
        joined(cut_rightly), lambda rng: ([rng.random(3), rng.random(2)],)
    ),
    "operands one after another": Right(all_joined(cut_rightly), normal((3,), (2,))),
    "entries of a dictionary": Right(
        of_squares(lambda t, d: {k: 2.0 * t * x for k, x in d.items()}),
        lambda rng: ({"a": rng.random(3), "b": rng.random(2)},),
    ),
    "product of all entries": Right(
        chained(lambda t, xs: [t * rest(xs, i) for i in range(len(xs))]),
        lambda rng: ([rng.random(3), rng.random(3)],),
    ),
    "product of two entries, and no more": Right(
        chained(two_alone), lambda rng: ([rng.random(3), rng.random(3)],)
    ),
}
