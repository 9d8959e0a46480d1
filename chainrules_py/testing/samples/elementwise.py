"""Samples of elementwise operations."""

from __future__ import annotations

import math
from typing import Any

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_SHAPES: tuple[tuple[Any, Any], ...] = (
    ((2, 3), (2, 3)),
    ((3,), (2, 1)),
    ((1,), (4,)),
    ((2, 3), ()),
    ((), ()),
    ((0,), (1,)),
    ((2, 3), None),
    (None, (2,)),
    (None, None),
)


def _unary(low: float = -2.0, high: float = 2.0, **more: Any) -> list[Sample]:
    """Return samples with an array, a 0-d one, an empty one, and a Python number."""
    return [Sample(Draw(shape, low, high), **more) for shape in ((2, 3), (), (0,), None)]


def _binary(
    left: tuple[float, float] = (-2.0, 2.0), right: tuple[float, float] = (0.5, 2.0), **more: Any
) -> list[Sample]:
    """Return samples with equal shapes, broadcast operands, 0-d, empty, and Python numbers."""
    return [Sample(Draw(a, *left), Draw(b, *right), **more) for a, b in _SHAPES]


_places = Draw((3,), -2, 3, kind="int")
_turns = Draw((2, 5), -3.0, 30.0)
_plane = Draw((2, 3), kind="complex")
_which = Draw((2, 3), 0, 3, kind="int")
_condition = Draw((2, 3), kind="bool")
_bool, _int = Draw((2, 3), kind="bool"), Draw((2, 3), 0, 8, kind="int")

enter_table(
    {
        # arithmetic:
        (v.add, v.subtract, v.multiply, v.strong_multiply, v.divide): _binary(complex=True),
        # Away from the jumps, where x / y is an integer.
        (v.remainder, v.floor_divide): _binary((5.1, 5.9), (1.1, 1.2)),
        v.fmod: (
            *_binary((5.1, 5.9), (1.1, 1.2)),
            Sample([5.5, -5.5, 5.5, -5.5], [1.5, 1.5, -1.5, -1.5]),
        ),
        v.remainder: (Sample([5.5, -5.5, 5.5, -5.5], [1.5, 1.5, -1.5, -1.5]),),
        v.divmod: (
            *_binary((5.1, 5.4), (1.1, 1.2)),
            Sample([5.5, -5.5, 5.5, -5.5], [1.5, 1.5, -1.5, -1.5]),
        ),
        v.modf: _unary(1.1, 1.9),
        v.frexp: _unary(0.6, 0.9),
        (v.modf, v.frexp): (
            Sample([-2.7, 12.3, 0.3]),
            Sample(-1.7),
        ),
        v.ldexp: (
            Sample(Draw((2, 3)), _places),
            Sample(Draw((2, 1)), _places),
            Sample(Draw((3,)), 2),
            Sample(Draw(()), -1),
            Sample(1.5, 2),
        ),
        (v.negative, v.positive, v.square): _unary(complex=True),
        v.reciprocal: _unary(0.5, 2.0, complex=True),
        v.lift: (
            Sample(0.5, to="namespace"),
            Sample(2, to="namespace"),
        ),
        # powers:
        v.pow: (
            *_binary((0.5, 2.0), (-2.0, 2.0), complex=True),
            Sample(Draw((3,)), 3),
            Sample(Draw((3,), 0.5, 2.0), 0.5),
            Sample(Draw((3,), 0.5, 2.0), -2),
            Sample(2.0, Draw((3,))),
            Sample(1.5, 2),
            Sample(-1.5, 3),
        ),
        v.sqrt: _unary(0.5, 2.0, complex=True),
        v.cbrt: (
            *_unary(0.5, 2.0),
            Sample(Draw((3,), -2.0, -0.5)),
            Sample(-0.7),
        ),
        # exponentials and logarithms:
        (v.exp, v.exp2, v.expm1): _unary(complex=True),
        (v.log, v.log1p, v.log2, v.log10): _unary(0.5, 2.0, complex=True),
        (v.hypot, v.logaddexp, v.logaddexp2, v.logaddexp_share): _binary(),
        # angles:
        (v.sin, v.cos, v.tan, v.sinh, v.cosh, v.tanh, v.asinh): _unary(-1.0, 1.0, complex=True),
        (v.asin, v.acos, v.atan, v.atanh): _unary(-0.7, 0.7, complex=True),
        v.acosh: (
            *_unary(1.5, 3.0, complex=True),
            Sample(
                Draw(
                    (3,),
                    kind="complex",
                    make=lambda z: -1.0 - abs(z.real) + 1j * (0.2 + abs(z.imag)),
                )
            ),
            Sample(-1.5 + 0.5j),
        ),
        v.atan2: (
            *_binary(),
            Sample(Draw((3,)), Draw((3,), -2.0, -0.5)),
        ),
        v.unwrap: (
            Sample(Draw((7,), -3.0, 30.0), 2 * math.pi),
            Sample(_turns, 4.0, axis=0),
            Sample(_turns, Draw((), 3.0, 4.0), axis=-1, discont=5.0),
        ),
        (v.deg2rad, v.rad2deg): _unary(),
        v.sinc: (
            *_unary(complex=True),
            Sample([0.0, 1e-9, -1e-4, 0.3]),
            Sample(0.0),
        ),
        # extrema, bounds, absolute values, signs:
        (v.maximum, v.minimum): (
            *_binary((0.0, 0.4)),
            Sample(_plane, _plane, without=("array_api_strict",)),
            Sample([1.0, 2.0, 3.0], [3.0, 2.5, 1.0]),
            Sample([1.0, 2.0, 2.0], [1.0, 2.0, 3.0], smooth=False),
            Sample(1.5, 1.5, smooth=False),
        ),
        (v.fmax, v.fmin): (
            *_binary((0.0, 0.4)),
            Sample(_plane, _plane),
            Sample([1.0, math.nan, 3.0], [3.0, 2.5, math.nan], smooth=False),
            Sample(1.5, 1.5, smooth=False),
        ),
        (v.clip_below, v.clip_above): (
            Sample(_plane, _plane, without=("array_api_strict",)),
            Sample([-1.0, 0.2, 2.0], 0.5),
            Sample([-1.0, 0.2, 2.0], [0.5]),
            Sample([[-1.0], [2.0]], [0.5, 0.7, 0.9]),
            Sample([0.5, 1.0], 0.5, smooth=False),
            Sample(0.2, 0.5),
            Sample(0.7, 0.5),
        ),
        v.clip: (
            Sample([-1.0, 0.2, 2.0], 0.0, 1.0),
            Sample([[-1.0], [0.2], [2.0]], [0.0, 0.1], [1.0]),
            Sample([-1.0, 0.2, 2.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
            Sample([0.0, 1.0], 0.0, 1.0, smooth=False),
            Sample(0.2, 0.0, 1.0),
            Sample(-0.2, 0.0, 1.0),
            Sample(1.2, 0.0, 1.0),
        ),
        (v.cumulative_max, v.cumulative_min): (
            Sample(Draw((5,), apart=0.1), axis=0),
            Sample(Draw((2, 5), apart=0.1), axis=-1),
            Sample(Draw((3, 2), apart=0.1), axis=0),
            Sample([1.0, 3.0, 3.0, 0.0], axis=0, smooth=False),
            Sample(Draw((0,)), axis=0),
        ),
        v.heaviside: (
            *_binary(),
            Sample([-1.0, 0.0, 2.0], 0.3, smooth=False),
        ),
        v.choose: (
            Sample(_which, Draw((2, 3)), Draw((2, 3)), Draw((2, 3)), complex=True),
            Sample(_which, Draw((2, 1)), Draw((3,)), Draw(())),
            Sample(Draw((2,), 0, 2, kind="int"), Draw((2, 2)), Draw((2,))),
        ),
        v.nan_to_num: (
            Sample(Draw((2, 3)), 0.0, 1.0, -1.0, complex=True),
            Sample([math.nan, math.inf, -math.inf, 2.0], 3.0, 4.0, 5.0, smooth=False),
            Sample(Draw((2, 3)), Draw(()), Draw((3,)), Draw((2, 1))),
        ),
        v.where: (
            Sample(_condition, Draw((2, 3)), Draw((2, 3)), complex=True),
            Sample(_condition, Draw((3,)), Draw((2, 1)), complex=True),
            Sample(Draw((3,), kind="bool"), Draw((2, 1)), Draw(()), complex=True),
            Sample(_condition, Draw((2, 3)), 0.5),
            Sample(_condition, 0.5, Draw((3,))),
            Sample(Draw((), kind="bool"), Draw(()), Draw(())),
            Sample(True, 0.5, 1.5),
            Sample(False, 0.5, 1.5),
        ),
        (v.abs, v.sign): (
            *_unary(-2.0, -0.5, complex=True),
            *_unary(0.5, 2.0, complex=True),
            Sample([0.0, 1.0], smooth=False, complex=True),
            Sample(0.0, smooth=False),
        ),
        v.copysign: (
            *_binary((0.5, 2.0)),
            Sample([1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]),
            Sample(-1.0, 2.0),
        ),
        v.nextafter: _binary((0.5, 2.0), smooth=False),
        # the parts of complex numbers:
        (v.conj, v.real): _unary(complex=True),
        v.imag: (
            *[Sample(Draw(shape, kind="complex")) for shape in ((2, 3), (), None)],
            Sample(Draw((2,))),
            Sample(0.5),
        ),
        v.real_if_close: (
            Sample(Draw((2, 3)), complex=True),
            Sample(Draw((2, 3), kind="complex"), tol=1.0),
        ),
        v.complex_outside: (
            Sample(Draw((2, 3), 0.5, 2.0), low=0.0, high=math.inf, complex=True),
            Sample([0.5, -0.5], low=0.0, high=1.0),
            Sample(Draw(()), low=2.0, high=3.0),
        ),
        # Bessel functions:
        v.bessel_i: [
            Sample(x, order=order)
            for order in (0, 1, 3)
            for x in (Draw((2, 3), -9.0, 9.0), Draw(()), [0.0, 1e-8, 20.0], Draw((0,)))
        ],
        # without a derivative:
        (v.equal, v.not_equal, v.less, v.less_equal, v.greater, v.greater_equal): _binary(
            (-2.0, 0.4)
        ),
        (v.isfinite, v.isinf, v.isnan, v.signbit, v.floor, v.ceil, v.trunc): _unary(0.1, 0.4),
        v.round: _unary(0.1, 0.4),
        v.round_decimals: [
            Sample(x, decimals=decimals)
            for decimals in (0, 1, -1)
            for x in (Draw((3,), 0.16, 0.24), 0.17)
        ],
        v.spacing: _unary(0.1, 0.4, smooth=False),
        (v.logical_and, v.logical_or, v.logical_xor): (
            Sample(_bool, Draw((3,), kind="bool")),
            Sample(True, False),
        ),
        v.logical_not: (
            Sample(_bool),
            Sample(True),
        ),
        (
            v.bitwise_and,
            v.bitwise_or,
            v.bitwise_xor,
            v.bitwise_left_shift,
            v.bitwise_right_shift,
        ): (
            Sample(_int, Draw((3,), 0, 4, kind="int")),
            Sample(5, 3),
        ),
        (v.gcd, v.lcm): (Sample(_int, Draw((3,), 0, 4, kind="int")),),
        (v.bitwise_invert, v.bitwise_count): (Sample(_int),),
        v.bitwise_invert: (Sample(5),),
        v.tie_share: (Sample([1.0, 2.0, 3.0], [1.0, 0.0, 3.0], [0.5, 2.0, 3.0], smooth=False),),
    }
)
