"""Higher-order functions: solving, integrating, applying functions; import them from here.

Each takes a function, and is differentiable in its other operands and in the values that the
function captured, to any order and in both modes, by every engine. On plain values they compute.

==================  ===========================================================================
`root`              a point where a function is zero
`fixed_point`       a point that a function maps to itself
`minimize`          a point where a function is least
`linear_solve`      the solution of a linear system that is given by a function
`odeint`            the states of a differential equation
`map`, `reduce`     the stacked results of a function on slices; its repeated application to them
`scan`              both: a value carried along slices, and the stacked results of the steps
`vectorize`         a function of elements as one of arrays
`apply_along_axis`  a function of vectors on the slices along an axis
`apply_over_axes`   a function of an array and an axis, over several axes
`piecewise`         functions applied to the elements where their conditions hold
==================  ===========================================================================
"""

from chainrules_py.composites.mapping import apply_along_axis, apply_over_axes, piecewise, vectorize
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
    "apply_along_axis",
    "apply_over_axes",
    "fixed_point",
    "linear_solve",
    "map",
    "minimize",
    "odeint",
    "piecewise",
    "reduce",
    "root",
    "scan",
    "vectorize",
]
