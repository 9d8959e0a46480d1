"""Calls of NumPy's functions that act element by element: arithmetic, powers, angles, choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls


def every_second(x: Any) -> Any:
    """Take every second element along the last axis, so that the result is not contiguous."""
    return x[..., ::2]


def unary(*names: str, low: float = -2.0, high: float = 2.0, **more: Any) -> None:
    """Arrays of each kind, and a number of Python's."""
    for name in names:
        enter_calls(
            name,
            *(Sample(Draw(shape, low, high), **more) for shape in ((2, 3), (), (1,), (0,))),
            Sample(Draw((2, 4), low, high, make=every_second), **more),
        )
        if not name.startswith("ndarray."):
            enter_calls(name, Sample(Draw(None, low, high), **more))


def binary(
    *names: str,
    left: tuple[float, float] = (-2.0, 2.0),
    right: tuple[float, float] = (0.5, 2.0),
    **more: Any,
) -> None:
    """Each operand broadcast, 0-d, without elements, a number, a list, integers, booleans."""
    shapes: tuple[tuple[Any, Any], ...] = (
        ((2, 3), (2, 3)),
        ((3,), (2, 1)),
        ((2, 1), (3,)),
        ((), (2,)),
        ((1,), ()),
        ((0,), (1,)),
        ((2, 3), None),
        (None, (2,)),
        (None, None),
    )
    whole = Draw((3,), 1, 4, kind="int")
    for name in names:
        enter_calls(
            name,
            *(Sample(Draw(a, *left), Draw(b, *right), **more) for a, b in shapes),
            Sample(Draw((2, 3), *left), whole, **more),
            Sample(whole, Draw((2, 3), *right), **more),
            Sample(Draw((3,), *left), Draw((3,), kind="bool", make=lambda b: b | True), **more),
            Sample(Draw((3,), *left), [right[0], right[1], 1.0], **more),
            Sample([left[0], left[1], 1.0], Draw((3,), *right), **more),
            Sample(Draw((3,), *left), right[1], **more),
            Sample(2, Draw((3,), *right), **more),
        )


# ------------------------------------------------------------------------------- arithmetic

binary("add", "subtract", "multiply", "divide", "true_divide", complex=True)
# Away from the jumps, where x / y is a whole number.
binary("remainder", "mod", "fmod", "floor_divide", left=(5.1, 5.4), right=(1.1, 1.2))
unary("negative", "positive", "square", complex=True)
unary("reciprocal", low=0.5, complex=True)

# ----------------------------------------------------------------------------------- powers

binary("power", "pow", "float_power", left=(0.5, 2.0), right=(-2.0, 2.0), complex=True)
unary("sqrt", low=0.5, complex=True)
unary("cbrt", low=0.5)
binary("hypot")

# --------------------------------------------------------------- exponentials and logarithms

unary("exp", "exp2", "expm1", complex=True)
unary("log", "log1p", "log2", "log10", low=0.5, complex=True)
binary("logaddexp", "logaddexp2")

# ----------------------------------------------------------------------------------- angles

unary("sin", "cos", "tan", "sinh", "cosh", "tanh", low=-1.0, high=1.0, complex=True)
unary("arcsinh", "asinh", "arctan", "atan", low=-0.7, high=0.7, complex=True)
unary("arcsin", "asin", "arccos", "acos", "arctanh", "atanh", low=-0.7, high=0.7, complex=True)
unary("arccosh", "acosh", low=1.5, high=3.0, complex=True)
binary("arctan2", "atan2")
unary("deg2rad", "radians", "rad2deg", "degrees")
unary("sinc", complex=True)

# ----------------------------------------------------- extrema, bounds, absolute values, signs

binary("maximum", "minimum", "fmax", "fmin", left=(0.0, 0.4), complex=True)
unary("absolute", "abs", low=0.5, complex=True)
unary("absolute", "abs", low=-2.0, high=-0.5, complex=True)
unary("fabs", low=-2.0, high=-0.5)
unary("sign", low=0.5, complex=True)
binary("copysign", left=(-2.0, -0.5))
binary("nextafter", left=(0.0, 0.4), smooth=False)
unary("conjugate", "conj", complex=True)

# --------------------------------------------------------------------- without a derivative

binary("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", left=(-2.0, 0.4))
unary("isfinite", "isinf", "isnan", complex=True)
unary("signbit", "floor", "ceil", "trunc", "rint", low=0.1, high=0.4)
unary("spacing", smooth=False)
binary("logical_and", "logical_or", "logical_xor")
unary("logical_not")
unary("round", "around", "fix", "ndarray.round", low=0.1, high=0.4)
for _name in ("round", "around", "ndarray.round"):
    enter_calls(
        _name,
        *(Sample(Draw((3,), 0.16, 0.24), decimals=n, complex=True) for n in (0, 1, -1)),
    )
binary("isclose", "allclose", "array_equal", "array_equiv")
enter_calls("isclose", Sample(Draw((3,)), Draw((3,)), rtol=1e-3, atol=1.0, equal_nan=True))
enter_calls("allclose", Sample(Draw((3,)), Draw((3,)), rtol=1e-3, atol=1.0, equal_nan=True))
enter_calls("array_equal", Sample(Draw((3,)), Draw((3,)), equal_nan=True))
unary("isreal", "iscomplex", complex=True)
unary("isneginf", "isposinf", "isrealobj", "iscomplexobj")
unary("min_scalar_type")
enter_calls("can_cast", Sample(Draw((3,)), "float32"), Sample(Draw((3,)), int, casting="unsafe"))
enter_calls("common_type", Sample(Draw((3,)), Draw(())), Sample(Draw((3,), kind="complex")))
enter_calls(
    "result_type", Sample(Draw((3,)), "float32"), Sample(Draw(None), Draw((2,), kind="int"))
)
for _name in ("may_share_memory", "shares_memory"):
    enter_calls(_name, Sample(Draw((3,)), Draw((3,))), Sample(Draw((3,)), Draw((3,)), max_work=1))
_whole, _few = Draw((2, 3), 0, 8, kind="int"), Draw((3,), 0, 4, kind="int")
for _name in (
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "left_shift",
    "bitwise_left_shift",
    "right_shift",
    "bitwise_right_shift",
    "gcd",
    "lcm",
):
    enter_calls(_name, Sample(_whole, _few), Sample(_whole, 3), Sample([1, 2, 3], _few))
for _name in ("invert", "bitwise_invert", "bitwise_not", "bitwise_count"):
    enter_calls(_name, Sample(_whole), Sample(5))

# ------------------------------------------------------------- whole numbers, powers of two

for _name in ("divmod", "remainder", "fmod", "floor_divide"):
    enter_calls(
        _name, *(Sample([5.5 * a, 5.6 * a], [1.5 * b, 1.6]) for a in (1, -1) for b in (1, -1))
    )
binary("divmod", left=(5.1, 5.4), right=(1.1, 1.2))
unary("modf", low=1.1, high=1.9)
unary("modf", low=-1.9, high=-1.1)
unary("frexp", low=0.6, high=0.9)
unary("frexp", low=-30.0, high=-17.0)
_places = Draw((3,), -2, 3, kind="int")
enter_calls(
    "ldexp",
    Sample(Draw((2, 3)), _places),
    Sample(Draw((2, 1)), _places),
    Sample(Draw(()), _places),
    Sample(Draw((3,)), 2),
    Sample(Draw((3,)), [1, 2, 3]),
    Sample(Draw(None), 2),
    Sample(Draw(None), _places),
    Sample(Draw((0,)), 2),
)
binary("heaviside")

# -------------------------------------------------------------------- complex numbers, parts

unary("real", "imag", "ndarray.real", "ndarray.imag", complex=True)
unary("ndarray.conj", "ndarray.conjugate", complex=True)
unary("angle", low=0.5, complex=True)
enter_calls("angle", Sample(Draw((3,), 0.5), deg=True, complex=True), Sample(Draw((3,)), True))
unary("real_if_close", complex=True)
_almost_real = Draw((2, 3), kind="complex", make=lambda z: z.real + 1e-15j)
enter_calls(
    "real_if_close",
    Sample(_almost_real, smooth=False),
    Sample(Draw((3,), kind="complex"), tol=1.0),
    Sample(Draw((3,), 0.1, 0.2, kind="complex"), tol=1e17),
)
enter_calls(
    "sort_complex",
    Sample(Draw((5,), apart=0.1)),
    Sample(Draw((5,), kind="complex")),
    Sample(Draw((2, 4), apart=0.1)),
    Sample(Draw((0,))),
)

# ---------------------------------------------------------- complex where there is no real value

for _name, _low, _high in (
    *[(f"lib.scimath.{name}", 0.5, 2.0) for name in ("sqrt", "log", "log2", "log10")],
    *[(f"lib.scimath.{name}", -0.7, 0.7) for name in ("arcsin", "arccos", "arctanh")],
):
    unary(_name, low=_low, high=_high, complex=True)
    unary(_name, low=-3.0, high=-1.5)
    unary(_name, low=1.5, high=3.0)
    enter_calls(
        _name,
        Sample(Draw((4,), -3.0, 3.0, make=lambda x: x + 0.5 * (abs(x) < 0.3))),
        Sample([0.5, -0.5]),
    )
binary("lib.scimath.power", left=(0.5, 2.0), right=(-2.0, 2.0), complex=True)
enter_calls(
    "lib.scimath.logn",
    Sample(Draw((2, 3), 1.5, 3.0), Draw((3,), 0.3, 0.7), complex=True),
    Sample(Draw((2, 1), -3.0, -1.5), Draw((3,), -3.0, 0.7)),
    Sample(2, Draw((3,), -3.0, -0.5)),
    Sample([2, 3], Draw((), 0.3, 0.7)),
    Sample(Draw(None, 1.5, 3.0), Draw(None, 0.3, 0.7)),
)
enter_calls(
    "lib.scimath.power",
    Sample(Draw((3,), -2.0, -0.5), Draw((3,))),
    Sample(Draw((3,), -2.0, -0.5), -2),
    Sample(Draw((3,)), [1, 2, 3]),
    Sample(2, Draw((3,))),
    Sample([2, 3], [-1, 2]),
)

# ------------------------------------------------------------------------------- choosing

_condition = Draw((2, 3), kind="bool")
enter_calls(
    "where",
    Sample(_condition, Draw((2, 3)), Draw((2, 3)), complex=True),
    Sample(_condition, Draw((3,)), Draw((2, 1)), complex=True),
    Sample(_condition, Draw(()), 0.5),
    Sample(_condition, 2, Draw((3,))),
    Sample(_condition, Draw((2, 3)), False),
    Sample(_condition, [1.0, 2.0, 3.0], Draw((2, 3))),
    Sample([True, False], Draw((2,)), Draw((2,), kind="complex")),
    Sample(True, Draw((2,)), Draw(None)),
    Sample(Draw((3,), 0, 2, kind="int"), Draw((3,)), Draw((3,))),
    Sample(Draw((3,))),
)
enter_calls(
    "select",
    Sample([_condition, Draw((3,), kind="bool")], [Draw((2, 3)), Draw((3,))]),
    Sample([_condition, _condition], [Draw((2, 3)), Draw((2, 1))], Draw((3,)), complex=True),
    Sample([_condition], [Draw((2, 3))], default=Draw(None)),
    Sample([_condition, [True, False, True]], [1.0, Draw(None)], 7),
    Sample([True, Draw((3,), kind="bool")], [Draw((3,)), [1.0, 2.0, 3.0]]),
)
_which = Draw((2, 3), 0, 3, kind="int")
enter_calls(
    "choose",
    Sample(_which, [Draw((2, 3)), Draw((3,)), Draw(())], complex=True),
    Sample(_which, [Draw((2, 1)), 0.5, Draw(None)]),
    Sample(_which, Draw((3, 2, 3))),
    Sample(Draw((3,), -5, 8, kind="int"), [Draw((3,)), Draw((3,))], mode="wrap"),
    Sample(Draw((3,), -5, 8, kind="int"), [Draw((3,)), Draw((3,))], mode="clip"),
    Sample(Draw((3,), kind="bool"), (Draw((3,)), Draw((2, 1)))),
    Sample([0, 1], [[1.0, 2.0], Draw((2,))], None, "raise"),
)
_least, _most = Draw((2, 3), -1.0, -0.5), Draw((3,), 0.5, 1.0)
for _name in ("clip", "ndarray.clip"):
    enter_calls(
        _name,
        Sample(Draw((2, 3)), _least, _most, complex=True),
        Sample(Draw((2, 1)), _least, Draw(())),
        Sample(Draw((3,)), -0.5, 0.5),
        Sample(Draw((3,)), None, 0.5),
        Sample(Draw((2, 3)), min=_least),
        Sample(Draw((2, 3)), max=Draw(None)),
        Sample(Draw((2, 3)), min=-0.5, max=_most),
        Sample(Draw((3,)), [-0.5, 0.0, 0.5], [0.0, 0.5, 1.0]),
        Sample(Draw((2, 3), -1.0, -0.5), _most, _least),
        Sample(Draw((2, 3)), kind_max := Draw((3,), 1, 3, kind="int"), kind_max),
        Sample(Draw((0,)), -0.5, 0.5),
    )
enter_calls("ndarray.clip", Sample(Draw((3,)), -0.5), Sample(Draw((3,))))
enter_calls(
    "clip",
    Sample(Draw((2, 3)), a_min=_least, a_max=_most),
    Sample(Draw((2, 3)), a_min=None, a_max=_most),
    Sample(Draw(None), Draw(None, -1.0, 0.0), 0.5),
    Sample([-1.0, 0.5, 2.0], Draw(()), 3.0),
    Sample(Draw((2, 3), kind="int"), _least, _most),
)


def with_gaps(x: Any) -> Any:
    """Infinities and NaN among the elements."""
    x = x.copy()
    x[..., :3] = [np.nan, np.inf, -np.inf]
    return x


_gaps = Draw((2, 5), make=with_gaps)
unary("nan_to_num", complex=True)
enter_calls(
    "nan_to_num",
    Sample(_gaps, complex=True),
    Sample(_gaps, nan=Draw(None), posinf=Draw(None), neginf=Draw(None)),
    Sample(_gaps, nan=Draw(()), posinf=Draw((5,)), neginf=Draw((2, 1))),
    Sample(_gaps, True, 1.0, 2.0, 3.0),
    Sample(Draw((3,), kind="complex", make=with_gaps), nan=Draw(None), posinf=2.0),
    Sample(Draw((3,), kind="int"), nan=1.0),
)

# -------------------------------------------------------------------- angles, interpolation

enter_calls(
    "unwrap",
    Sample(Draw((7,), -3.0, 30.0)),
    Sample(Draw((2, 5), -3.0, 30.0), axis=0),
    Sample(Draw((2, 5), -3.0, 30.0), 7.0, axis=-1),
    Sample(Draw((2, 5), -3.0, 30.0), period=4.0),
    Sample(Draw((2, 5), -3.0, 30.0), discont=5.0, period=Draw(None, 3.0, 4.0)),
    Sample(Draw((5,), -3.0, 30.0), period=Draw((), 3.0, 4.0)),
    Sample(Draw((1,))),
)
unary("i0", low=-9.0, high=20.0)
enter_calls("i0", Sample([0.0, 1e-8, 100.0, -30.0]))
_knots = Draw((5,), apart=0.3, make=np.sort)
_values = Draw((5,))
enter_calls(
    "interp",
    Sample(Draw((4,), -3.0, 3.0), _knots, _values),
    Sample(Draw((2, 3), -3.0, 3.0), _knots, Draw((5,), kind="complex")),
    Sample(Draw((), -1.0, 1.0), _knots, _values),
    Sample(Draw(None, -1.0, 1.0), _knots, _values),
    Sample(0.3, _knots, _values),
    Sample([0.3, 0.4], _knots, _values),
    Sample(Draw((8,), -4.0, 4.0), _knots, _values, left=Draw(None), right=Draw(None)),
    Sample(Draw((8,), -4.0, 4.0), _knots, _values, Draw(()), 2),
    Sample(Draw((4,)), [-1.0, 0.0, 1.0], [1, 2, 0]),
    Sample(Draw((3,)), Draw((1,)), Draw((1,))),
    Sample(Draw((0,)), _knots, _values),
    Sample(Draw((6,), -9.0, 9.0), _knots, _values, period=4.5),
    Sample(Draw((6,), -9.0, 9.0), Draw((5,), apart=0.3), _values, period=Draw(None, 4.4, 4.6)),
    Sample(Draw((6,), -9.0, 9.0), Draw((5,), apart=0.3), _values, period=-4.5, left=1.0),
)

# ------------------------------------------------------------- methods and keywords of ufuncs

_box = Draw((2, 3, 2))
for _name in ("add", "multiply", "maximum", "minimum", "fmax", "fmin", "logaddexp", "logaddexp2"):
    _complex = not _name.startswith("logaddexp")
    enter_calls(
        f"{_name}.reduce",
        Sample(_box, complex=_complex),
        Sample(_box, -1, complex=_complex),
        Sample(_box, axis=(0, -1), keepdims=True),
        Sample(_box, axis=None),
        Sample(_box, axis=1, initial=Draw(())),
        Sample(_box, axis=1, initial=0.5, where=Draw((2, 3, 2), kind="bool")),
        Sample(Draw((3,)), None, None, None, True),
        Sample(Draw(())),
        Sample(Draw((0,)), initial=1.0),
    )
for _name in ("add", "multiply", "logical_and", "logical_or"):
    enter_calls(f"{_name}.reduce", Sample(_box, where=Draw((2, 3, 2), kind="bool")))
for _name in ("logaddexp", "logaddexp2"):
    enter_calls(f"{_name}.reduce", Sample(Draw((0,)), smooth=False))
for _name in ("add", "multiply", "maximum", "minimum"):
    enter_calls(
        f"{_name}.accumulate",
        Sample(_box, complex=True),
        Sample(_box, -1),
        Sample(_box, axis=1, complex=True),
        Sample(Draw((0,))),
    )
for _name in (
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "hypot",
    "arctan2",
    "less",
):
    enter_calls(
        f"{_name}.outer",
        Sample(Draw((2, 3), 0.5), Draw((2,), 2.1, 3.0)),
        Sample(Draw((2,), 0.5), Draw(())),
        Sample(Draw((), 0.5), Draw((2,))),
        Sample(Draw((2,), 0.5), 3.0),
        Sample([0.5, 1.5], Draw((2,), 2.1, 3.0)),
        Sample(Draw((3,), 1, 4, kind="int"), Draw((2,), 2.1, 3.0)),
    )
enter_calls("add", Sample(Draw((3,)), Draw((3,)), dtype="float32", smooth=False))
for _name in ("sin", "sqrt", "exp"):
    enter_calls(
        _name,
        Sample(Draw((3,), 0.5), dtype=np.float64),
        Sample(Draw((3,), 0.5), dtype=complex),
        Sample(Draw((3,), 0.5), dtype=np.float32, smooth=False),
        Sample(Draw((3,), 0.5), where=True, casting="same_kind", order="K", subok=True),
    )
for _name in ("absolute", "fabs", "sign"):
    enter_calls(
        _name,
        Sample(Draw((3,), 0.5), dtype=np.float64),
        Sample(Draw((3,), 0.5), dtype=np.float32, smooth=False),
    )
for _name in ("add", "multiply", "power", "arctan2"):
    enter_calls(_name, Sample(Draw((3,), 0.5), 2, dtype=float, out=None))
