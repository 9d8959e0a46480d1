"""The battery: functions with rules that each engine's exporter is tried with, as data.

The same ones for every engine, so that the table of what each can do compares like with like. The
functions, gauges and the loss are written in words, so that they run on any engine's values.
"""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import LinearMap, Tangent, frule, primitive, rrule
from chainrules_py import ops as v
from chainrules_py.registry.constructors import (
    bilinear_rule,
    linear_rule,
    non_differentiable,
    rule,
    scalar_rule,
)
from chainrules_py.testing.cases.calls_from_samples import draw
from chainrules_py.testing.samples.decompositions import apart, eigenspaces_hermitian, positive
from chainrules_py.testing.samples.sample import Draw
from chainrules_py.values.pytree import flatten, unflatten


@dataclasses.dataclass(frozen=True)
class Entry:
    """Function to be exported, and a call of it.

    Attributes
    ----------
    name : str
        What it is called in the table.
    f : callable
        What is exported: one rule. Called as ``f(*operands, **options)``.
    operands : tuple
        `Draw`, a dict of them, or a value; NumPy arrays and functions are taken as they are.
    options : mapping
        Of the call.
    complex : bool
        Whether the same call with complex operands is a point too.
    gauge : callable, optional
        Applied to the result, where only that is determined.
    order : int
        To which order its derivatives are compared with differences.
    """

    name: str
    f: Callable[..., Any]
    operands: tuple[Any, ...]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    complex: bool = False
    gauge: Callable[[Any], Any] | None = None
    order: int = 3


@dataclasses.dataclass(frozen=True)
class Point:
    """An entry with operands: NumPy arrays, Python numbers and what is taken as it is.

    Attributes
    ----------
    entry : Entry
        Whose point it is.
    complex : bool
        Whether its real draws were made complex.
    operands : tuple
        All of the operands.
    moving : tuple of int
        Which of the leaves of the operands have derivatives.
    """

    entry: Entry
    complex: bool
    operands: tuple[Any, ...]
    moving: tuple[int, ...]

    @property
    def name(self) -> str:
        """What it is called among tests."""
        return f"{self.entry.name}{' complex' if self.complex else ''}"

    @property
    def xs(self) -> tuple[Any, ...]:
        """The arrays and numbers that have derivatives, those in structures one by one."""
        leaves, _ = flatten(self.operands)
        return tuple([leaves[i] for i in self.moving])

    def call(self, f: Callable[..., Any], *xs: Any) -> Any:
        """Call a function, the entry's or what it was exported to, with others for `xs`."""
        leaves, treedef = flatten(self.operands)
        for i, x in zip(self.moving, xs, strict=True):
            leaves[i] = x
        return f(*unflatten(treedef, leaves), **self.entry.options)

    def loss(
        self, f: Callable[..., Any], asarray: Callable[[Any], Any] = np.asarray
    ) -> Callable[..., Any]:
        """Build one real number as a function of `xs`: all of what f gives, each part weighed.

        Parameters
        ----------
        f : callable
            The entry's function, or what it was exported to.
        asarray : callable
            Makes an array of the engine's from one of NumPy's: the weights.
        """

        def of(*xs: Any) -> Any:
            y = self.call(f, *xs)
            return loss(y if self.entry.gauge is None else self.entry.gauge(y), asarray)

        return of


def loss(y: Any, asarray: Callable[[Any], Any] = np.asarray) -> Any:
    """Compute one real number from all floating entries of a result, with derivatives of any order.

    Entries have different weights, so that a transposed or permuted gradient shows.
    """
    total: Any = 0.0
    for n, leaf in enumerate(flatten(y)[0]):
        shape = tuple(getattr(leaf, "shape", ()))
        count = int(np.prod(shape, dtype=int))
        weights = 0.5 + np.cos(1.0 + n + np.arange(count)).reshape(shape)
        total = total + v.sum(
            v.multiply(asarray(weights), v.sin(v.real(leaf) + 0.5 * v.imag(leaf)))
        )
    return total


@functools.cache
def points(*, complex: bool | None = None) -> tuple[Point, ...]:
    """Return the points of the battery; the complex ones, or the others, alone if asked.

    Examples
    --------
    >>> [point.name for point in points()[:2]]
    ['sin', 'sin complex']
    """
    kinds = (False, True) if complex is None else (complex,)
    asked = [(entry, kind) for entry in BATTERY for kind in kinds]
    return tuple([_point(entry, kind) for entry, kind in asked if entry.complex or not kind])


def _point(entry: Entry, complex: bool) -> Point:
    rng = np.random.default_rng(zlib.crc32(entry.name.encode()))
    wanted, treedef = flatten(entry.operands, lambda x: isinstance(x, Draw))
    drawn = [draw(x, rng, complex) if isinstance(x, Draw) else x for x in wanted]
    moving = [i for i, x in enumerate(wanted) if isinstance(x, Draw)]
    return Point(entry, complex, unflatten(treedef, drawn), tuple(moving))


# --------------------------------------------------------------- rules of one's own, by each
# constructor


@primitive
def softplus(x: Any) -> Any:
    """log(1 + eˣ), by `scalar_rule`."""
    return v.log1p(v.exp(x))


scalar_rule(softplus, lambda y, x: v.exp(x - y))


@primitive
def cross_term(x: Any, y: Any) -> Any:
    """x₀ y₁ - x₁ y₀ along the last axis, by `bilinear_rule`."""
    return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]


def _turned(z_bar: Any, y: Any) -> Any:
    return v.stack(z_bar * v.conj(y[..., 1]), -z_bar * v.conj(y[..., 0]), axis=-1)


bilinear_rule(
    cross_term,
    lambda z_bar, x, y: _turned(z_bar, y),
    lambda z_bar, x, y: -_turned(z_bar, x),
)


@primitive
def scaled(x: Any, /, *, factor: float = 2.0) -> Any:
    """factor · x, by `linear_rule`, with an option."""
    return factor * x


linear_rule(scaled, lambda y_bar, x, factor: factor * y_bar)


@primitive
def polar(x: Any, y: Any) -> Any:
    """(√(x² + y²), angle), by `rule`: two results, values saved."""
    return v.sqrt(x * x + y * y), v.atan2(y, x)


@rule(polar)
def polar_rule(x, y):  # type: ignore[no-untyped-def]
    """State the rule by its Jacobian [[x/r, y/r], [-y/r², x/r²]]."""
    r, angle = polar(x, y)
    return (r, angle), (
        LinearMap(_push_x, _pull_x, x, y, r),
        LinearMap(_push_y, _pull_y, x, y, r),
    )


def _push_x(x_dot: Any, x: Any, y: Any, r: Any) -> Any:
    return x_dot * x / r, -x_dot * y / (r * r)


def _pull_x(bars: Any, x: Any, y: Any, r: Any) -> Any:
    return bars[0] * x / r - bars[1] * y / (r * r)


def _push_y(y_dot: Any, x: Any, y: Any, r: Any) -> Any:
    return y_dot * y / r, y_dot * x / (r * r)


def _pull_y(bars: Any, x: Any, y: Any, r: Any) -> Any:
    return bars[0] * y / r + bars[1] * x / (r * r)


@primitive
def log_density(x: Any, scale: Any) -> Any:
    """-(x / scale)² / 2 - log scale, by `frule.register` and `rrule.register`."""
    return -0.5 * (x / scale) * (x / scale) - v.log(scale)


@frule.register(log_density)
def log_density_frule(tangents: Any, x, scale):  # type: ignore[no-untyped-def]
    """Value and tangent, in one go."""
    x_dot, scale_dot = tangents
    z = x / scale
    return log_density(x, scale), -z / scale * x_dot + (z * z - 1.0) / scale * scale_dot


@rrule.register(log_density)
def log_density_rrule(x, scale):  # type: ignore[no-untyped-def]
    """Value and pullback."""
    z = x / scale
    return log_density(x, scale), lambda y_bar: (
        -z / scale * y_bar,
        v.sum((z * z - 1.0) / scale * y_bar, axis=0, keepdims=True),
    )


@custom_vjp
def clamped_exp(x: Any) -> Any:
    """eˣ, whose gradient is cut at 10, by `custom_vjp`."""
    return v.exp(x)


clamped_exp.defvjp(
    lambda x: (clamped_exp(x), v.minimum(v.exp(x), 10.0)),
    lambda slope, y_bar: (slope * y_bar,),
)


@custom_jvp
def smooth_abs(x: Any) -> Any:
    """√(x² + 1), by `custom_jvp`."""
    return v.sqrt(x * x + 1.0)


@smooth_abs.defjvp
def smooth_abs_jvp(primals: Any, tangents: Any) -> Any:
    """Value and tangent."""
    (x,), (x_dot,) = primals, tangents
    y = smooth_abs(x)
    return y, x / y * x_dot


@primitive
def affine(layer: Any, x: Any) -> Any:
    """W x + b of a dict, by `rule`."""
    return v.matmul(layer["W"], x) + layer["b"]


@rule(affine, types=(dict, Any))
def affine_rule(layer, x):  # type: ignore[no-untyped-def]
    """Its tangents are dicts as well."""
    return affine(layer, x), (
        LinearMap(
            lambda dot, x: v.matmul(dot["W"], x) + dot["b"],
            lambda y_bar, x: Tangent[dict[str, Any]]({"W": v.outer(y_bar, v.conj(x)), "b": y_bar}),
            x,
        ),
        LinearMap(
            lambda x_dot, W: v.matmul(W, x_dot),
            lambda y_bar, W: v.matmul(v.conj(v.matrix_transpose(W)), y_bar),
            layer["W"],
        ),
    )


@primitive
def levels(x: Any) -> Any:
    """x rounded down, by `non_differentiable`."""
    return v.floor(x)


non_differentiable(levels)


@primitive
def only_reverse(x: Any) -> Any:
    """x², with a reverse rule alone, which engines transpose."""
    return x * x


@rrule.register(only_reverse)
def only_reverse_rrule(x):  # type: ignore[no-untyped-def]
    """Value and pullback."""
    return only_reverse(x), lambda y_bar: (2.0 * x * y_bar,)


@primitive
def only_forward(x: Any) -> Any:
    """x², with a forward rule alone, which engines transpose."""
    return x * x


@frule.register(only_forward)
def only_forward_frule(tangents: Any, x):  # type: ignore[no-untyped-def]
    """Value and tangent."""
    return only_forward(x), 2.0 * x * tangents[0]


# ----------------------------------------------------------- functions that operations are handed


def _cubic(x: Any, a: Any, b: Any) -> Any:
    return a * x + x * x * x - b


def _contraction(x: Any, a: Any) -> Any:
    return v.sin(x) * 0.3 + a


def _banded(y: Any, d: Any) -> Any:
    return d * y + 0.3 * v.roll(y, shift=1)


def _blend(a: Any, b: Any) -> Any:
    return v.sin(a) * b + a


def _decay(y: Any, t: Any, k: Any) -> Any:
    return v.sin(t) - k * y


# --------------------------------------------------------------------------------- the battery

_V, _M, _S = Draw((3,)), Draw((2, 3)), Draw((3, 3))
_POSITIVE = Draw((3,), 1.0, 2.0)
_REGULAR = Draw((3, 3), make=lambda x: 2.0 * np.eye(3) + 0.3 * x)
_TALL = Draw((3, 2), make=lambda x: np.eye(3, 2) * np.array([1.0, 3.0]) + 0.3 * x)
_PLACES = np.array([2, 0, 0])
_MASK = np.array([True, False, True])


def _adjoint(x: Any) -> Any:
    return v.conj(v.matrix_transpose(x))


def determined_svd(y: Any) -> Any:
    """Return the parts of U, s, Vᴴ that no phase changes: s, and a function of the matrix."""
    U, s, Vh = y
    return s, v.matmul(U * v.sin(s), Vh)


def _sorted(x: Draw) -> Draw:
    return dataclasses.replace(x, apart=0.4)


BATTERY: tuple[Entry, ...] = (
    # elementwise
    Entry("sin", v.sin, (_V,), complex=True),
    Entry("exp", v.exp, (Draw(None),), complex=True),
    Entry("log", v.log, (_POSITIVE,), complex=True),
    Entry("tanh", v.tanh, (_M,), complex=True),
    Entry("abs", v.abs, (Draw((3,), 0.5, 2.0),), complex=True),
    Entry("multiply", v.multiply, (_M, _V), complex=True),
    Entry("divide", v.divide, (_V, Draw((2, 3), 1.0, 2.0)), complex=True),
    Entry("pow", v.pow, (_POSITIVE, _V)),
    Entry("maximum", v.maximum, (Draw((3,), 0.0, 1.0), Draw((3,), 0.5, 1.5))),
    Entry("where", v.where, (_MASK, _V, Draw((2, 3))), complex=True),
    Entry("hypot", v.hypot, (_POSITIVE, _POSITIVE)),
    Entry("expit", v.expit, (_V,)),
    Entry("gammaln", v.gammaln, (_POSITIVE,)),
    # reductions
    Entry("sum", v.sum, (_M,), {"axis": -1, "keepdims": True}, complex=True),
    Entry("prod", v.prod, (_M,), {"axis": 1}, complex=True),
    Entry("max", v.max, (_sorted(Draw((2, 3), -2.0, 2.0)),), {"axis": 0}),
    Entry("var", v.var, (_M,), {"axis": 1, "correction": 1}),
    Entry("logsumexp", v.logsumexp, (_M,), {"axis": (0, 1)}),
    Entry("vector_norm", v.vector_norm, (Draw((3,), 0.5, 2.0),), complex=True),
    Entry("cumulative_sum", v.cumulative_sum, (_M,), {"axis": 1}, complex=True),
    # shapes, places, order
    Entry("reshape", v.reshape, (_M,), {"shape": (3, 2)}, complex=True),
    Entry("permute_dims", v.permute_dims, (_M,), {"axes": (1, 0)}, complex=True),
    Entry("broadcast_to", v.broadcast_to, (_V,), {"shape": (2, 3)}, complex=True),
    Entry("concat", v.concat, (_M, Draw((1, 3))), {"axis": 0}, complex=True),
    Entry("roll", v.roll, (_V,), {"shift": 1}),
    Entry("pad", v.pad, (_V, Draw(None)), {"widths": ((1, 2),)}),
    Entry(
        "getitem slice",
        v.getitem,
        (_M,),
        {"index": v.Index.split((slice(None), slice(None, None, -2)))[0]},
        complex=True,
    ),
    Entry(
        "getitem array", v.getitem, (_V, _PLACES), {"index": v.Index((v.Index.HOLE,))}, complex=True
    ),
    Entry("take_along_axis", v.take_along_axis, (_M, np.array([[0, 2], [1, 1]])), {"axis": 1}),
    Entry("sort", v.sort, (_sorted(Draw((4,), -2.0, 2.0)),)),
    # products and linear algebra
    Entry("matmul", v.matmul, (_M, Draw((3, 2))), complex=True),
    Entry("einsum", v.einsum, (_M, Draw((3, 2))), {"subscripts": "ij,jk->ki"}, complex=True),
    Entry("solve", v.solve, (_REGULAR, _V), complex=True),
    Entry("inv", v.inv, (_REGULAR,), complex=True),
    Entry("det", v.det, (_S,), complex=True),
    Entry("slogdet", v.slogdet, (_REGULAR,)),
    Entry("cholesky", v.cholesky, (positive(3, 3),), complex=True),
    Entry("qr", v.qr, (_TALL,)),
    Entry("svd", v.svd, (_TALL,), {"full_matrices": False}, complex=True, gauge=determined_svd),
    Entry("eigh", v.eigh, (apart(3, 3),), complex=True, gauge=eigenspaces_hermitian),
    Entry("fft", v.fft, (Draw((4,)),), complex=True),
    # functions of functions
    Entry("root", v.root, (_cubic, np.zeros(3), _POSITIVE, _V)),
    Entry("fixed_point", v.fixed_point, (_contraction, np.zeros(3), _V)),
    Entry("linear_solve", v.linear_solve, (_banded, _V, _POSITIVE)),
    Entry("odeint", v.odeint, (_decay, _V, np.array([0.0, 0.1]), Draw(None)), order=2),
    Entry("map", v.map, (_blend, Draw((2, 3)), Draw((2, 3)))),
    Entry("reduce", v.reduce, (_blend, Draw((3, 2)), Draw((2,)))),
    # of one's own
    Entry("scalar_rule", softplus, (_M,)),
    Entry("bilinear_rule", cross_term, (Draw((3, 2)), Draw((3, 2))), complex=True),
    Entry("linear_rule", scaled, (_V,), {"factor": -1.5}),
    Entry("structure", affine, ({"W": _M, "b": Draw((2,))}, _V), complex=True),
    Entry("rule", polar, (_POSITIVE, _POSITIVE)),
    Entry("frule and rrule", log_density, (_V, Draw((1,), 1.0, 2.0))),
    Entry("custom_vjp", clamped_exp, (_V,)),
    Entry("custom_jvp", smooth_abs, (_V,)),
)
"""At least one of each kind; the order is that of the table."""

CONSTANT = Entry("non_differentiable", levels, (_V,))
"""What nothing flows through: zero, and no error."""

ONE_MODE: dict[str, Entry] = {
    "reverse": Entry("rrule alone", only_reverse, (_V,)),
    "forward": Entry("frule alone", only_forward, (_V,)),
}
"""By the mode that they have: the other is its transpose."""
