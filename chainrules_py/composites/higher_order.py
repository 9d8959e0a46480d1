"""Higher-order functions: solving, integrating, repeating; import them from here.

Each takes a function, and is differentiable in its other operands and in the values that the
function captured, to any order and in both modes, by every engine. On plain values they compute.

================  ===========================================================================
`root`            a point where a function is zero
`fixed_point`     a point that a function maps to itself
`minimize`        a point where a function is least
`linear_solve`    the solution of a linear system that is given by a function
`odeint`          the states of a differential equation
`map`, `reduce`   the stacked results of a function on slices; its repeated application to them
`scan`            both: a value carried along slices, and the stacked results of the steps
================  ===========================================================================
"""

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

__all__ = [
    "fixed_point",
    "linear_solve",
    "map",
    "minimize",
    "odeint",
    "reduce",
    "root",
    "scan",
]
