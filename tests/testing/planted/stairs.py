"""Functions that round, on purpose or in few digits inside, with wrong rules and right ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.testing.planted.build import Plant, Right, alone, numpy_pair, numpy_rule, slope
from tests.testing.planted.draws import normal, positive

AT = np.array([2.04, -2.55, 0.42, -0.57, -0.45])
ABOVE = np.array([1.04, 1.11, 0.57, 1.55, 0.49])
NARROW = {"single": np.float32, "half": np.float16}


def rounded(digits: int) -> Any:
    return lambda x: np.round(x, digits)


def inside(f: Any, dtype: Any) -> Any:
    """A function whose operands are rounded to few digits first."""
    return lambda *xs: np.asarray(f(*[np.asarray(x).astype(dtype) for x in xs]), float)


def softmax(x):
    e = np.exp(x)
    return e / e.sum()


def softmax_pull(t, x):
    s = softmax(x)
    return s * (t - np.sum(t * s))


WRONG: dict[str, Plant] = {
    f"straight through {k} digits": Plant(
        slope(rounded(k), lambda _y, x: 1.0 + 0.0 * x), (AT,), "off by the constant 1"
    )
    for k in range(1, 9)
}
WRONG |= {
    f"zero, single inside {name}": Plant(
        slope(inside(f, np.float32), lambda _y, x: 0.0 * x), (ABOVE,), "zero"
    )
    for name, f in {"sine": np.sin, "square": np.square, "logarithm": np.log}.items()
}
RIGHT: dict[str, Right] = {
    f"rounded to {k} digits": Right(slope(rounded(k), lambda _y, x: 0.0 * x), normal((5,)))
    for k in range(1, 9)
}
RIGHT |= {
    f"{name}, single inside": Right(
        slope(inside(f, np.float32), lambda _y, x: 0.0 * x), normal((5,))
    )
    for name, f in {
        "thousandths": lambda x: np.ceil(1000 * x),
        "signs": np.sign,
    }.items()
}
for _name, _dtype in NARROW.items():
    WRONG |= {
        f"twice the cosine, {_name} inside": Plant(
            slope(inside(np.sin, _dtype), lambda _y, x: 2.0 * np.cos(x)), (AT,), "factor 2"
        ),
        f"sign of a sine, {_name} inside": Plant(
            slope(inside(np.cos, _dtype), lambda _y, x: np.sin(x)), (AT,), "wrong sign"
        ),
        f"one too many, {_name} inside": Plant(
            slope(inside(np.exp, _dtype), lambda y, _x: 1.0 + y), (AT,), "off by the constant 1"
        ),
        f"reciprocal, {_name} inside": Plant(
            slope(inside(np.log, _dtype), lambda _y, x: x), (ABOVE,), "reciprocal"
        ),
        f"sum for mean, {_name} inside": Plant(
            numpy_rule(inside(np.mean, _dtype), lambda t, x: np.full_like(x, t)), (AT,), "factor 5"
        ),
    }
    RIGHT |= {
        f"sine, {_name} inside": Right(
            slope(inside(np.sin, _dtype), lambda _y, x: np.cos(x)), normal((5,))
        ),
        f"logarithm, {_name} inside": Right(
            slope(inside(np.log, _dtype), lambda _y, x: 1.0 / x), positive((5,))
        ),
        f"softmax, {_name} inside": Right(
            numpy_rule(inside(softmax, _dtype), softmax_pull), normal((5,))
        ),
        f"product of matrices, {_name} inside": Right(
            numpy_pair(
                inside(np.matmul, _dtype),
                lambda t, a, b: alone(a, b) or t @ b.T,
                lambda t, a, b: alone(a, b) or a.T @ t,
            ),
            normal((3, 4), (4, 2)),
        ),
    }
RIGHT |= {
    "quarters below": Right(
        slope(lambda x: np.floor(4 * x) / 4, lambda _y, x: 0.0 * x), normal((7,))
    ),
    "eight bits": Right(
        slope(lambda x: np.round(127 * x) / 127, lambda _y, x: 0.0 * x), positive((6,))
    ),
    "thousandths, as whole numbers": Right(
        slope(lambda x: (1000 * x).astype(int) / 1000, lambda _y, x: 0.0 * x), positive((6,))
    ),
}
