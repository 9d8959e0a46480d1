"""Samples of the words that act element by element."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from chainrules_py import vocabulary as v
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.testing.samples.sample import Draw, Sample, enter_samples

_word: Any


def _unary(
    words: Iterable[Primitive[..., Any]], low: float = -2.0, high: float = 2.0, **more: Any
) -> None:
    """Enter for each word an array, a 0-d one, one without elements, and a number of Python's."""
    for word in words:
        enter_samples(
            word, *(Sample(Draw(shape, low, high), **more) for shape in ((2, 3), (), (0,), None))
        )


def _binary(
    words: Iterable[Primitive[..., Any]],
    left: tuple[float, float] = (-2.0, 2.0),
    right: tuple[float, float] = (0.5, 2.0),
    **more: Any,
) -> None:
    """Equal shapes, each operand broadcast, 0-d, without elements, and numbers of Python's."""
    shapes: tuple[tuple[Any, Any], ...] = (
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
    for word in words:
        enter_samples(word, *(Sample(Draw(a, *left), Draw(b, *right), **more) for a, b in shapes))


# ------------------------------------------------------------------------------- arithmetic

_binary((v.add, v.subtract, v.multiply, v.divide), complex=True)
_binary((v.strong_multiply,), complex=True)
# Away from the jumps, where x / y is a whole number.
_binary((v.remainder, v.floor_divide), (5.1, 5.9), (1.1, 1.2))
_binary((v.fmod,), (5.1, 5.9), (1.1, 1.2))
enter_samples(v.remainder, Sample([5.5, -5.5, 5.5, -5.5], [1.5, 1.5, -1.5, -1.5]))
enter_samples(v.fmod, Sample([5.5, -5.5, 5.5, -5.5], [1.5, 1.5, -1.5, -1.5]))
_binary((v.divmod,), (5.1, 5.4), (1.1, 1.2))
enter_samples(v.divmod, Sample([5.5, -5.5, 5.5, -5.5], [1.5, 1.5, -1.5, -1.5]))
_unary((v.modf,), 1.1, 1.9)
_unary((v.frexp,), 0.6, 0.9)
for _word in (v.modf, v.frexp):
    enter_samples(_word, Sample([-2.7, 12.3, 0.3]), Sample(-1.7))
_places = Draw((3,), -2, 3, kind="int")
enter_samples(
    v.ldexp,
    Sample(Draw((2, 3)), _places),
    Sample(Draw((2, 1)), _places),
    Sample(Draw((3,)), 2),
    Sample(Draw(()), -1),
    Sample(1.5, 2),
)
_unary((v.negative, v.positive, v.square), complex=True)
_unary((v.reciprocal,), 0.5, 2.0, complex=True)
enter_samples(v.lift, Sample(0.5, to="namespace"), Sample(2, to="namespace"))

# ----------------------------------------------------------------------------------- powers

_binary((v.pow,), (0.5, 2.0), (-2.0, 2.0), complex=True)
enter_samples(
    v.pow,
    Sample(Draw((3,)), 3),
    Sample(Draw((3,), 0.5, 2.0), 0.5),
    Sample(Draw((3,), 0.5, 2.0), -2),
    Sample(2.0, Draw((3,))),
    Sample(1.5, 2),
    Sample(-1.5, 3),
)
_unary((v.sqrt,), 0.5, 2.0, complex=True)
_unary((v.cbrt,), 0.5, 2.0)
enter_samples(v.cbrt, Sample(Draw((3,), -2.0, -0.5)), Sample(-0.7))
_binary((v.hypot,))

# --------------------------------------------------------------- exponentials and logarithms

_unary((v.exp, v.expm1), complex=True)
_unary((v.exp2,), complex=True)
_unary((v.log, v.log1p, v.log2, v.log10), 0.5, 2.0, complex=True)
_binary((v.logaddexp,))
_binary((v.logaddexp2, v.logaddexp_share))

# ----------------------------------------------------------------------------------- angles

_unary((v.sin, v.cos, v.tan, v.sinh, v.cosh, v.tanh, v.asinh), -1.0, 1.0, complex=True)
_unary((v.asin, v.acos, v.atan, v.atanh), -0.7, 0.7, complex=True)
_unary((v.acosh,), 1.5, 3.0, complex=True)
# In the left half of the plane: the other branch of the root.
enter_samples(
    v.acosh,
    Sample(
        Draw((3,), kind="complex", make=lambda z: -1.0 - abs(z.real) + 1j * (0.2 + abs(z.imag)))
    ),
    Sample(-1.5 + 0.5j),
)
_binary((v.atan2,))
enter_samples(v.atan2, Sample(Draw((3,)), Draw((3,), -2.0, -0.5)))
_turns = Draw((2, 5), -3.0, 30.0)
enter_samples(
    v.unwrap,
    Sample(Draw((7,), -3.0, 30.0), 2 * math.pi),
    Sample(_turns, 4.0, axis=0),
    Sample(_turns, Draw((), 3.0, 4.0), axis=-1, discont=5.0),
)
_unary((v.deg2rad, v.rad2deg))
_unary((v.sinc,), complex=True)
enter_samples(v.sinc, Sample([0.0, 1e-9, -1e-4, 0.3]), Sample(0.0))

# ----------------------------------------------------- extrema, bounds, absolute values, signs

_binary((v.maximum, v.minimum), (0.0, 0.4))
_binary((v.fmax, v.fmin), (0.0, 0.4))
_plane = Draw((2, 3), kind="complex")
for _word in (v.maximum, v.minimum, v.clip_below, v.clip_above):
    enter_samples(_word, Sample(_plane, _plane, without=("array_api_strict",)))
for _word in (v.fmax, v.fmin):
    enter_samples(_word, Sample(_plane, _plane))
for _word in (v.maximum, v.minimum):
    enter_samples(
        _word,
        Sample([1.0, 2.0, 3.0], [3.0, 2.5, 1.0]),
        Sample([1.0, 2.0, 2.0], [1.0, 2.0, 3.0], smooth=False),
        Sample(1.5, 1.5, smooth=False),
    )
for _word in (v.fmax, v.fmin):
    enter_samples(
        _word,
        Sample([1.0, math.nan, 3.0], [3.0, 2.5, math.nan], smooth=False),
        Sample(1.5, 1.5, smooth=False),
    )
for _word in (v.clip_below, v.clip_above):
    enter_samples(
        _word,
        Sample([-1.0, 0.2, 2.0], 0.5),
        Sample([-1.0, 0.2, 2.0], [0.5]),
        Sample([[-1.0], [2.0]], [0.5, 0.7, 0.9]),
        Sample([0.5, 1.0], 0.5, smooth=False),
        Sample(0.2, 0.5),
        Sample(0.7, 0.5),
    )
enter_samples(
    v.clip,
    Sample([-1.0, 0.2, 2.0], 0.0, 1.0),
    Sample([[-1.0], [0.2], [2.0]], [0.0, 0.1], [1.0]),
    Sample([-1.0, 0.2, 2.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
    Sample([0.0, 1.0], 0.0, 1.0, smooth=False),
    Sample(0.2, 0.0, 1.0),
    Sample(-0.2, 0.0, 1.0),
    Sample(1.2, 0.0, 1.0),
)
for _word in (v.cumulative_max, v.cumulative_min):
    enter_samples(
        _word,
        Sample(Draw((5,), apart=0.1), axis=0),
        Sample(Draw((2, 5), apart=0.1), axis=-1),
        Sample(Draw((3, 2), apart=0.1), axis=0),
        Sample([1.0, 3.0, 3.0, 0.0], axis=0, smooth=False),
        Sample(Draw((0,)), axis=0),
    )
_binary((v.heaviside,))
enter_samples(v.heaviside, Sample([-1.0, 0.0, 2.0], 0.3, smooth=False))
_which = Draw((2, 3), 0, 3, kind="int")
enter_samples(
    v.choose,
    Sample(_which, Draw((2, 3)), Draw((2, 3)), Draw((2, 3)), complex=True),
    Sample(_which, Draw((2, 1)), Draw((3,)), Draw(())),
    Sample(Draw((2,), 0, 2, kind="int"), Draw((2, 2)), Draw((2,))),
)
enter_samples(
    v.nan_to_num,
    Sample(Draw((2, 3)), 0.0, 1.0, -1.0, complex=True),
    Sample([math.nan, math.inf, -math.inf, 2.0], 3.0, 4.0, 5.0, smooth=False),
    Sample(Draw((2, 3)), Draw(()), Draw((3,)), Draw((2, 1))),
)
_condition = Draw((2, 3), kind="bool")
enter_samples(
    v.where,
    Sample(_condition, Draw((2, 3)), Draw((2, 3)), complex=True),
    Sample(_condition, Draw((3,)), Draw((2, 1)), complex=True),
    Sample(Draw((3,), kind="bool"), Draw((2, 1)), Draw(()), complex=True),
    Sample(_condition, Draw((2, 3)), 0.5),
    Sample(_condition, 0.5, Draw((3,))),
    Sample(Draw((), kind="bool"), Draw(()), Draw(())),
    Sample(True, 0.5, 1.5),
    Sample(False, 0.5, 1.5),
)
for _low, _high in ((-2.0, -0.5), (0.5, 2.0)):
    _unary((v.abs, v.sign), _low, _high, complex=True)
enter_samples(v.abs, Sample([0.0, 1.0], smooth=False, complex=True), Sample(0.0, smooth=False))
enter_samples(v.sign, Sample([0.0, 1.0], smooth=False, complex=True), Sample(0.0, smooth=False))
_binary((v.copysign,), (0.5, 2.0))
enter_samples(v.copysign, Sample([1.0, -1.0, 1.0, -1.0], [1.0, 1.0, -1.0, -1.0]), Sample(-1.0, 2.0))
_binary((v.nextafter,), (0.5, 2.0), smooth=False)

# ------------------------------------------------------------- the parts of complex numbers

_unary((v.conj,), complex=True)
_unary((v.real,), complex=True)
for _shape in ((2, 3), (), None):
    enter_samples(v.imag, Sample(Draw(_shape, kind="complex")))
enter_samples(v.imag, Sample(Draw((2,))), Sample(0.5))
enter_samples(
    v.real_if_close,
    Sample(Draw((2, 3)), complex=True),
    Sample(Draw((2, 3), kind="complex"), tol=1.0),
)
enter_samples(
    v.complex_outside,
    Sample(Draw((2, 3), 0.5, 2.0), low=0.0, high=math.inf, complex=True),
    Sample([0.5, -0.5], low=0.0, high=1.0),
    Sample(Draw(()), low=2.0, high=3.0),
)

# --------------------------------------------------------------------------- Bessel functions

for _order in (0, 1, 3):
    enter_samples(
        v.bessel_i,
        Sample(Draw((2, 3), -9.0, 9.0), order=_order),
        Sample(Draw(()), order=_order),
        Sample([0.0, 1e-8, 20.0], order=_order),
        Sample(Draw((0,)), order=_order),
    )

# --------------------------------------------------------------------- without a derivative

_binary((v.equal, v.not_equal, v.less, v.less_equal, v.greater, v.greater_equal), (-2.0, 0.4))
_unary((v.isfinite, v.isinf, v.isnan, v.signbit, v.floor, v.ceil, v.trunc), 0.1, 0.4)
_unary((v.round,), 0.1, 0.4)
_unary((v.spacing,), 0.1, 0.4, smooth=False)
for _decimals in (0, 1, -1):
    enter_samples(
        v.round_decimals,
        Sample(Draw((3,), 0.16, 0.24), decimals=_decimals),
        Sample(0.17, decimals=_decimals),
    )
_bool, _int = Draw((2, 3), kind="bool"), Draw((2, 3), 0, 8, kind="int")
for _word in (v.logical_and, v.logical_or, v.logical_xor):
    enter_samples(_word, Sample(_bool, Draw((3,), kind="bool")), Sample(True, False))
enter_samples(v.logical_not, Sample(_bool), Sample(True))
for _word in (
    v.bitwise_and,
    v.bitwise_or,
    v.bitwise_xor,
    v.bitwise_left_shift,
    v.bitwise_right_shift,
):
    enter_samples(_word, Sample(_int, Draw((3,), 0, 4, kind="int")), Sample(5, 3))
for _word in (v.gcd, v.lcm):
    enter_samples(_word, Sample(_int, Draw((3,), 0, 4, kind="int")))
for _word in (v.bitwise_invert, v.bitwise_count):
    enter_samples(_word, Sample(_int))
enter_samples(v.bitwise_invert, Sample(5))
enter_samples(v.tie_share, Sample([1.0, 2.0, 3.0], [1.0, 0.0, 3.0], [0.5, 2.0, 3.0], smooth=False))
