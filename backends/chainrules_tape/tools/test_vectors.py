"""Export calls of operations, with their values and derivatives, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from chainrules_py import Primitive
from chainrules_py.extend import kind_of
from chainrules_tape import vjp


def oracle(calls: Iterable[tuple[Primitive[..., Any], tuple[Any, ...], dict[str, Any]]]) -> str:
    """Return calls of operations as JSON, for other engines to test against.

    Parameters
    ----------
    calls : iterable of tuple
        ``(operation, operands, options)``; the operation returns one array or number.

    Returns
    -------
    str
        A list of objects with ``function``, ``operands``, ``options``, ``value``, ``cotangent`` (of
        the value) and ``expected``: a gradient for each operand, None for operands without one.
        Arrays are objects with ``dtype``, ``shape`` and ``data`` in C order; complex numbers are
        pairs, and their cotangents are those of the real adjoint.

    Examples
    --------
    >>> from chainrules_py.ops import multiply
    >>> found = json.loads(oracle([(multiply, (2.0, 3.0), {})]))
    >>> [found[0][key]["data"] for key in ("value", "cotangent")]
    [[6.0], [0.75]]
    >>> [bar["data"] for bar in found[0]["expected"]]
    [[2.25], [1.5]]
    """
    rows = []
    for operation, operands, options in calls:
        moving = [i for i, x in enumerate(operands) if kind_of(x) in ("real", "complex")]

        def along(
            *xs: Any, call: Any = (operation, operands, options), places: Any = moving
        ) -> Any:
            f, given, named = call[0], list(call[1]), call[2]
            for i, x in zip(places, xs, strict=True):
                given[i] = x
            return f(*given, **named)

        y, pullback = vjp(along, *[operands[i] for i in moving])
        steps = 0.5 + 0.25 * np.cos(np.arange(np.size(y), dtype=float))
        y_bar = steps.reshape(np.shape(y)).astype(np.asarray(y).dtype)
        bars: dict[int, Any] = dict(zip(moving, pullback(y_bar), strict=True))
        rows.append({
            "function": operation.__name__,
            "operands": [_data(x) for x in operands],
            "options": {name: repr(value) for name, value in options.items()},
            "value": _data(y),
            "cotangent": _data(y_bar),
            "expected": [_data(bars[i]) if i in bars else None for i in range(len(operands))],
        })  # fmt: skip
    return json.dumps(rows, indent=1)


def _data(x: Any) -> dict[str, Any]:
    x = np.asarray(x)
    flat = np.stack([x.real, x.imag], axis=-1) if x.dtype.kind == "c" else x
    shape = (x.size, 2) if x.dtype.kind == "c" else (x.size,)
    return {
        "dtype": str(x.dtype),
        "shape": list(x.shape),
        "data": flat.reshape(shape).tolist(),
    }
