"""Right rules of every kind of operand, option, structure and pen."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from scipy import sparse

from chainrules_compat import augmented_rule
from chainrules_py import (
    Array,
    LinearMap,
    Tangent,
    bilinear_rule,
    frule,
    linear_rule,
    primitive,
    rrule,
    rule,
)
from chainrules_py import vocabulary as v
from chainrules_scipy.sparse import Pattern, sparse_product
from tests.testing.planted.build import (
    Right,
    adjoint_scaled,
    chosen,
    cube,
    halves,
    kept,
    numpy_pair,
    numpy_rule,
    scaled,
    sine,
    times,
)
from tests.testing.planted.draws import SHAPE, complex_normal, given, normal

right_sine = lambda: sine(lambda _y, x: v.cos(x))
right_cube = lambda: cube(lambda _y, x: 3.0 * x * x)


def magnitude() -> Any:
    return halves(
        lambda x: v.real(x * v.conj(x)),
        lambda t, x: v.real(2.0 * v.conj(x) * t),
        lambda t, x: 2.0 * t * x,
    )


# ------------------------------------------------------------------------------- structures


@dataclasses.dataclass(frozen=True)
class Line:
    """A line, and the name that somebody gave it."""

    slope: Any
    offset: Any
    name: str = "line"


def value_of_line() -> Any:
    @primitive
    def f(line, x, /):
        return line.slope * x + line.offset

    @rule(f)
    def f_rule(line: Line, x: Array):
        push = lambda t, x: t.slope * x + t.offset
        pull = lambda y_bar, x: Tangent[Line](slope=v.sum(y_bar * x), offset=v.sum(y_bar))
        return f(line, x), (LinearMap(push, pull, x), LinearMap(scaled, scaled, line.slope))

    return f


def of_a_dict() -> Any:
    @primitive
    def f(p, /):
        return p["a"] * p["b"]

    @rule(f)
    def f_rule(p: dict):
        push = lambda t, a, b: t["a"] * b + a * t["b"]
        pull = lambda y_bar, a, b: Tangent[dict](a=y_bar * b, b=y_bar * a)
        return f(p), (LinearMap(push, pull, p["a"], p["b"]),)

    return f


def two_results() -> Any:
    @primitive
    def f(x, /):
        return v.sin(x), 2.0 * x

    @rule(f)
    def f_rule(x: Array):
        push = lambda t, c: (t * c, 2.0 * t)
        pull = lambda y_bar, c: y_bar[0] * c + 2.0 * y_bar[1]
        return (v.sin(x), 2.0 * x), (LinearMap(push, pull, v.cos(x)),)

    return f


# ---------------------------------------------------------------------------------- options


MODE = Literal["sum", "mean", "none"]


def reduced() -> Any:
    @primitive
    def f(x, /, *, mode: MODE = "none"):
        return {"sum": v.sum, "mean": v.mean, "none": lambda x: 1.0 * x}[mode](x)

    def transpose(y_bar, x, *, mode):
        n = int(np.prod(x.shape)) or 1
        return v.broadcast_to(y_bar / (n if mode == "mean" else 1), shape=x.shape)

    linear_rule(f, transpose)
    return f


def reversible() -> Any:
    @primitive
    def f(x, /, *, reverse=False):
        return v.flip(x, axis=-1) if reverse else 1.0 * x

    linear_rule(f, lambda y_bar, x, *, reverse: v.flip(y_bar, axis=-1) if reverse else 1.0 * y_bar)
    return f


def to_the_power() -> Any:
    @primitive
    def f(x, /, *, n=3):
        return x**n

    @rule(f)
    def f_rule(x, *, n):
        rate = n * x ** (n - 1) if n else 0.0 * x
        return x**n, (LinearMap(scaled, adjoint_scaled, rate),)

    return f


def corrected() -> Any:
    @primitive
    def f(x, /, *, correction=0):
        return v.var(x, correction=correction)

    @rule(f)
    def f_rule(x: Array, *, correction):
        d = 2.0 * (x - v.mean(x)) / max(x.size - correction, 1)
        return f(x, correction=correction), (
            LinearMap(lambda t, d: v.sum(t * d), lambda t, d: t * d, d),
        )

    return f


def named_option() -> Any:
    @primitive
    def f(x, /, *, scale: float = 2.5):
        return scale * x

    linear_rule(f, lambda y_bar, x, *, scale: scale * y_bar)
    return f


# ------------------------------------------------------------------------------------- pens


def by_augmented_rule() -> Any:
    @primitive
    def f(a, b, /):
        return (a + b) * b

    def forward(a, b):
        t = a + b
        return t * b, (t, b)

    augmented_rule(f, forward, lambda t, b, g: (g * b, g * (t + b)))
    return f


def by_bilinear_rule() -> Any:
    @primitive
    def f(a, b, /):
        return v.matmul(a, b)

    bilinear_rule(
        f,
        lambda y_bar, a, b: v.matmul(y_bar, v.matrix_transpose(b)),
        lambda y_bar, a, b: v.matmul(v.matrix_transpose(a), y_bar),
    )
    return f


def forward_alone() -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @frule.register(f)
    def f_frule(tangents, x: Array):
        return v.sin(x), v.cos(x) * tangents[0]

    return f


def reverse_alone() -> Any:
    @primitive
    def f(x, /):
        return v.sin(x)

    @rrule.register(f)
    def f_rrule(x: Array):
        return v.sin(x), lambda y_bar: (v.cos(x) * y_bar,)

    return f


def holomorphic() -> Any:
    return sine(lambda _y, x: v.cos(x), complex="holomorphic")


def of_any_number() -> Any:
    """As many operands as one likes."""

    @primitive
    def f(*xs):
        total = 0.0
        for k, x in enumerate(xs):
            total = total + (k + 1) * x
        return total

    @rule(f)
    def f_rule(*xs: Array):
        times_k = lambda t, k: k * t
        return f(*xs), tuple([LinearMap(times_k, times_k, k + 1) for k in range(len(xs))])

    return f


def remembers_values() -> Any:
    """A table of values that were computed before changes nothing."""
    table: dict[Any, Any] = {}

    def pull(t, x):
        key = x.tobytes(), x.dtype.str, x.shape
        if key not in table:
            table[key] = np.cos(x)
        return t * table[key]

    return numpy_rule(np.sin, pull)


def with_a_seed() -> Any:
    """A random function of a seed is a function."""

    def mask(shape, seed):
        return np.random.default_rng(seed).random(shape) < 0.5

    @primitive
    def f(x, /, *, seed=0):
        return x * mask(x.shape, seed)

    linear_rule(f, lambda y_bar, x, *, seed: y_bar * mask(x.shape, seed))
    return f


def gather() -> Any:
    def pull(t, x, i):
        x_bar = np.zeros(x.shape, t.dtype)
        np.add.at(x_bar, i, t)
        return x_bar

    return numpy_pair(lambda x, i: x[i], pull, None)


def sparse_matrix(rng: Any) -> Any:
    return sparse.random_array((4, 3), density=0.5, rng=rng, format="csr") + sparse.eye_array(4, 3)


def sparse_operands(rng: Any) -> Any:
    a = sparse.csr_array(sparse_matrix(np.random.default_rng(2)))
    return rng.standard_normal(a.nnz), rng.standard_normal((3, 2))


PATTERN = Pattern.of(sparse.csr_array(sparse_matrix(np.random.default_rng(2))))

RIGHT: dict[str, Right] = {
    # ---------------------------------------------------------------------------------- dtypes
    "single precision": Right(right_sine(), normal(SHAPE, dtype=np.float32)),
    "single precision, product": Right(
        times(scaled, adjoint_scaled), normal(SHAPE, SHAPE, dtype=np.float32)
    ),
    "single and double precision": Right(
        times(scaled, adjoint_scaled),
        lambda rng: (rng.standard_normal(SHAPE).astype(np.float32), rng.standard_normal(SHAPE)),
    ),
    "half precision, cosine": Right(right_sine(), normal(SHAPE, dtype=np.float16)),
    "half precision, cube": Right(right_cube(), normal(SHAPE, dtype=np.float16)),
    "half precision, large": Right(right_cube(), given(np.asarray([20.0, 30.0], np.float16))),
    "single precision at 1e6": Right(
        right_cube(), lambda rng: ((1e6 * rng.standard_normal(SHAPE)).astype(np.float32),)
    ),
    "complex sine": Right(holomorphic(), complex_normal(SHAPE)),
    "complex sine in single precision": Right(
        holomorphic(), complex_normal(SHAPE, dtype=np.complex64)
    ),
    "complex magnitude": Right(magnitude(), complex_normal(SHAPE)),
    "complex times real": Right(
        times(scaled, adjoint_scaled),
        lambda rng: (complex_normal(SHAPE)(rng)[0], rng.standard_normal(SHAPE)),
    ),
    "whole numbers, cube": Right(right_cube(), given(np.asarray([1, 2, -3]))),
    "whole number, sine": Right(right_sine(), given(3)),
    "number": Right(right_cube(), lambda rng: (rng.standard_normal(),)),
    "complex number": Right(holomorphic(), given(0.3 + 1.2j)),
    "truth values": Right(times(scaled, adjoint_scaled), given(np.asarray([True, False]), 2.0)),
    "scalar of NumPy": Right(right_cube(), lambda rng: (np.float64(rng.standard_normal()),)),
    "product with a whole number": Right(
        times(scaled, adjoint_scaled), lambda rng: (rng.standard_normal(SHAPE), 3)
    ),
    # ---------------------------------------------------------------------------------- shapes
    "broadcast rows": Right(times(scaled, adjoint_scaled), normal(SHAPE, (3,))),
    "broadcast columns": Right(times(scaled, adjoint_scaled), normal(SHAPE, (2, 1))),
    "broadcast both": Right(times(scaled, adjoint_scaled), normal((2, 1), (1, 3))),
    "five axes": Right(right_sine(), normal((1, 2, 1, 2, 2))),
    "columns of a larger array": Right(
        right_sine(), lambda rng: (rng.standard_normal((4, 6))[::2, ::-2],)
    ),
    "the same array twice": Right(
        times(scaled, adjoint_scaled), lambda rng: (rng.standard_normal(SHAPE),) * 2
    ),
    "thousand elements": Right(right_cube(), normal((1000,))),
    "hundred rows": Right(times(scaled, adjoint_scaled), normal((100, 20), (20,))),
    # ------------------------------------------------------------------------------ structures
    "dataclass": Right(
        value_of_line(), lambda rng: (Line(rng.random(), rng.random()), rng.standard_normal(3))
    ),
    "dict": Right(of_a_dict(), lambda rng: ({"a": rng.random(3), "b": rng.random(3)},)),
    "two results": Right(two_results(), normal(SHAPE)),
    "word qr": Right(v.qr, normal((4, 3))),
    "word slogdet": Right(v.slogdet, normal((3, 3))),
    "word modf": Right(v.modf, normal(SHAPE)),
    # --------------------------------------------------------------------------------- options
    "mode of three": Right(reduced(), normal(SHAPE)),
    "mode of three, mean": Right(reduced(), normal(SHAPE), {"mode": "mean"}),
    "flag": Right(reversible(), normal(SHAPE)),
    "power": Right(to_the_power(), normal(SHAPE)),
    "correction": Right(corrected(), normal(SHAPE), {"correction": 1}),
    "scale": Right(named_option(), normal(SHAPE)),
    "seed": Right(with_a_seed(), normal(SHAPE)),
    "word sum over two axes": Right(v.sum, normal((2, 3, 2)), {"axis": (0, -1), "keepdims": True}),
    "word roll": Right(v.roll, normal(SHAPE), {"shift": 1, "axis": 0}),
    "word fft, orthogonal": Right(v.fft, complex_normal((5,)), {"norm": "ortho"}),
    "word irfft, odd": Right(v.irfft, complex_normal((4,)), {"n": 7}),
    "word rfft": Right(v.rfft, normal((6,))),
    "word diff, twice": Right(v.diff, normal((2, 5)), {"n": 2}),
    "word tril": Right(v.tril, normal((3, 4)), {"k": -1}),
    "word trace with an offset": Right(v.trace, normal((3, 4)), {"offset": 1}),
    "word einsum": Right(v.einsum, normal((2, 3), (3, 2)), {"subscripts": "ij,ji->"}),
    "word einsum, summed": Right(v.einsum, normal((3, 4)), {"subscripts": "ij->j"}),
    "word order_statistics": Right(
        v.order_statistics, given(np.asarray([3.0, 1.0, 2.0, 0.5]), np.asarray([1, 2]))
    ),
    "word convolve": Right(v.convolve, normal((5,), (3,)), {"mode": "same"}),
    # -------------------------------------------------------------------------- integers, masks
    "repeated and negative indices": Right(
        gather(), lambda rng: (rng.standard_normal(5), np.asarray([0, -1, 0, 4]))
    ),
    "indices of two axes": Right(
        gather(), lambda rng: (rng.standard_normal((4, 2)), np.asarray([[0, 3], [3, 1]]))
    ),
    "condition": Right(
        chosen(kept), lambda rng: (rng.random(SHAPE) > 0.5, *normal(SHAPE, SHAPE)(rng))
    ),
    "word take": Right(
        v.take, lambda rng: (rng.standard_normal(SHAPE), np.asarray([1, -1, 1])), {"axis": 1}
    ),
    "word repeat": Right(v.repeat, lambda rng: (rng.standard_normal(3), np.asarray([2, 0, 1]))),
    "sparse product": Right(sparse_product, sparse_operands, {"pattern": PATTERN}),
    # ------------------------------------------------------------------------------------ pens
    "augmented_rule": Right(by_augmented_rule(), normal(SHAPE, SHAPE)),
    "bilinear_rule": Right(by_bilinear_rule(), normal((2, 3), (3, 4))),
    "forward half alone": Right(forward_alone(), normal(SHAPE)),
    "reverse half alone": Right(reverse_alone(), normal(SHAPE)),
    "any number of operands": Right(of_any_number(), normal(SHAPE, SHAPE, SHAPE)),
    "NumPy: table of values": Right(remembers_values(), normal(SHAPE)),
    "NumPy: log": Right(numpy_rule(np.log, lambda t, x: t / x), lambda rng: (1 + rng.random(4),)),
}
