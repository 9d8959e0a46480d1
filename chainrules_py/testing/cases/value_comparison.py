"""Values of any library as checks compare them: numbers, precision, bytes, types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.tangents.space import kind_of, space
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.zeros import AbstractTangent, NoTangent, is_zero
from chainrules_py.testing.cases.backends import to_numpy
from chainrules_py.values.pytree import map_leaves
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_py.values.type_info import type_info


def value_vector(y: Any) -> Any:
    """Return all floating-point numbers in a value as one vector of real numbers."""
    if is_structure_type(type(y)):
        return np.concatenate([np.zeros(0), *(value_vector(field) for _, field in fields_of(y))])
    kind = kind_of(y)
    if kind not in ("real", "complex"):
        return np.zeros(0)
    values = to_numpy(y)
    flat = values.reshape(values.size)
    return (
        np.concatenate([flat.real, flat.imag]).astype(float)
        if kind == "complex"
        else flat.astype(float)
    )


def resolution(x: Any) -> float:
    """Return the machine epsilon of the lowest precision in a value."""
    if is_structure_type(type(x)):
        return max([0.0, *(resolution(field) for _, field in fields_of(x))])
    if kind_of(x) not in ("real", "complex"):
        return 0.0
    return float(np.finfo(to_numpy(x).dtype).eps)


_WIDE = {"float32": "float64", "complex64": "complex128", "float16": "float64"}
_NARROW = {"float64": "float32", "complex128": "complex64"}


def _recast(x: Any, table: dict[str, str]) -> Any:
    if kind_of(x) not in ("real", "complex") or not hasattr(x, "dtype"):
        return x
    values = to_numpy(x)
    to = table.get(values.dtype.name)
    if to is None:
        return x
    if isinstance(x, np.generic):
        return np.dtype(to).type(x)
    xp: Any = type_info(type(x)).namespace
    device = getattr(x, "device", None)
    return xp.asarray(values.astype(to), **({} if device is None else {"device": device}))


def widened(x: Any) -> Any:
    """Convert everything in single or half precision in a value to double precision."""
    return map_leaves(lambda leaf: _recast(leaf, _WIDE), x)


def narrowed(x: Any) -> Any:
    """Convert everything in double precision in a value to single precision."""
    return map_leaves(lambda leaf: _recast(leaf, _NARROW), x)


def fingerprint(x: Any) -> Any:
    """Return every byte of a value or a tangent, to detect writes to it."""
    if isinstance(x, Tangent):
        return [(key, fingerprint(part)) for key, part in x.fields()]
    if isinstance(x, AbstractTangent):
        return type(x)
    if is_structure_type(type(x)):
        return [(key, fingerprint(field)) for key, field in fields_of(x)]
    if kind_of(x) == "none":
        return None
    values = to_numpy(x)
    # Beside objects, numbers of 80 bits are no bytes alone: their padding is anything.
    is_text = values.dtype.hasobject or values.dtype.char in "gG"
    bits = repr(values.tolist()) if is_text else values.tobytes()
    return values.shape, values.dtype, bits


def _class(x: Any) -> type:
    """Return the class of a value; for numbers of Python and NumPy, that of NumPy's 0-d arrays."""
    return (
        np.ndarray
        if type(x) in (bool, int, float, complex) or isinstance(x, np.generic)
        else type(x)
    )


def differs(y: Any, want: Any, precision: float) -> str | None:
    """Describe how a value differs from another beyond rounding; None if it does not."""
    if _class(y) is not _class(want):
        return f"a {type(y).__qualname__}, not a {type(want).__qualname__}"
    if is_structure_type(type(y)):
        for (key, a), (_, b) in zip(fields_of(y), fields_of(want), strict=True):
            if (problem := differs(a, b, precision)) is not None:
                return f"{key}: {problem}"
        return None
    if kind_of(y) == "none":
        return None if y is want or y == want else f"{y!r}, not {want!r}"
    a, b = to_numpy(y), to_numpy(want)
    # Python's numbers have one precision.
    plain = any(type_info(type(x)).is_plain_number for x in (y, want))
    if a.shape != b.shape or (a.dtype != b.dtype and not (plain and a.dtype.kind == b.dtype.kind)):
        return f"{describe(y)}, not {describe(want)}"
    near = 100 * precision * min(1.0, float(np.max(np.abs(b), initial=0.0, where=np.isfinite(b))))
    if not np.allclose(a, b, rtol=100 * precision, atol=near, equal_nan=True):
        return f"it differs by {float(np.max(np.abs(a - b))):.3g}"
    return None


def mismatch(t: Any, x: Any, name: str) -> str:
    """Describe what is wrong with the type of a tangent; empty if nothing is."""
    if t is None:
        return f"{name} is None"
    if is_zero(space(x)):
        return (
            ""
            if isinstance(t, NoTangent)
            else f"{name} is {describe(t)}, and nothing can be perturbed there: NoTangent()"
        )
    if is_zero(t):
        return ""
    if is_structure_type(type(x)):
        if not isinstance(t, Tangent) or t.primal_type is not type(x):
            return f"{name} is {describe(t)}, no Tangent of {type(x).__qualname__}"
        fields = dict(fields_of(x))
        return "; ".join(
            p for key, part in t.fields() if (p := mismatch(part, fields[key], f"{name}.{key}"))
        )
    kind, of = kind_of(t), kind_of(x)
    if kind == "none":
        return f"{name} is {describe(t)}, for {describe(x)}"
    if kind == "complex" and of != "complex":
        return f"{name} is complex, and its primal is real"
    if kind not in ("real", "complex"):
        return f"{name} is {describe(t)}, and tangents are floating"
    if tuple(getattr(t, "shape", ())) != tuple(getattr(x, "shape", ())):
        return f"{name} has the shape of {describe(t)}, and its primal is {describe(x)}"
    if not hasattr(x, "dtype"):
        return ""
    if not hasattr(t, "dtype") or (of != "int" and t.dtype != x.dtype):
        return f"{name} is {describe(t)}, and its primal is {describe(x)}"
    if type(t).__module__.partition(".")[0] != type(x).__module__.partition(".")[0]:
        return f"{name} is of another library: {type(t).__module__}"
    if getattr(t, "device", None) != getattr(x, "device", None):
        return f"{name} is on {t.device}, and its primal on {x.device}"
    return ""


def is_refused(ask: Callable[[int], Any], i: int) -> bool:
    """Return whether a rule refuses the derivative to an operand."""
    try:
        ask(i)
    except Exception as error:  # other checks report other errors
        stated = "cannot be transposed" not in str(error)  # not linear, which other checks find
        return stated and isinstance(error, NotDifferentiableError)
    return False
