"""Samples of operations that take functions; these are written in operations, for every library."""

from typing import Any

from chainrules_py import ops as v
from chainrules_py.ops import (
    fixed_point,
    linear_solve,
    map,
    minimize,
    odeint,
    reduce,
    root,
    scan,
)
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table


def cubic(x: Any, a: Any, b: Any) -> Any:
    """Compute a x + x³ - b, whose root is sought."""
    return a * x + x * x * x - b


def quadratic_form(x: Any, a: Any, b: Any) -> Any:
    """Compute a function of x that is least where a x + x³ = b."""
    return v.sum(0.5 * a * x * x + 0.25 * x * x * x * x - b * x)


def damped(x: Any, a: Any) -> Any:
    """Compute a map of x that contracts by a third."""
    return v.sin(x) * 0.3 + a


def banded(y: Any, d: Any) -> Any:
    """Multiply by a matrix that is not symmetric."""
    return d * y + 0.3 * v.roll(y, shift=1)


def decay(y: Any, t: Any, k: Any) -> Any:
    """Compute the slope of a solution that relaxes towards a wave."""
    return v.sin(t) - k * y


def blend(a: Any, b: Any) -> Any:
    """Combine two slices."""
    return v.sin(a) * b + a


def step(a: Any, b: Any) -> Any:
    """Return the next carry and an output, from two slices."""
    return v.sin(a) * b, a * b


POSITIVE = Draw((3,), 1.0, 2.0)

enter_table(
    {
        root: (
            Sample(cubic, Draw((3,)), POSITIVE, Draw((3,))),
            Sample(cubic, 0.5, 1.5, Draw(None)),
            Sample(cubic, Draw((2, 3)), Draw((2, 3), 1.0, 2.0), Draw((2, 3)), batch=2),
        ),
        fixed_point: (Sample(damped, Draw((3,)), Draw((3,))),),
        minimize: (Sample(quadratic_form, Draw((3,)), POSITIVE, Draw((3,))),),
        linear_solve: (
            Sample(banded, Draw((3,)), POSITIVE, complex=True),
            Sample(banded, Draw((3,)), POSITIVE, solver="gmres"),
        ),
        odeint: (Sample(decay, Draw((2,)), [0.0, 0.1], 0.5, rtol=1e-9, atol=1e-9),),
        map: (
            Sample(blend, Draw((3, 2)), Draw((3, 2))),
            Sample(v.sin, Draw((3,))),
        ),
        reduce: (
            Sample(blend, Draw((3, 2)), Draw((2,))),
            Sample(blend, Draw((4,)), None),
        ),
        scan: (
            Sample(step, Draw((2,)), Draw((3, 2))),
            Sample(step, 0.5, Draw((4,)), length=4),
        ),
    }
)
