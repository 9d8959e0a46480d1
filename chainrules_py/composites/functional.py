"""Functions of functions: solving, integrating, applying. The one place to import them from.

Each takes a function, and is differentiated in its other operands and in what the function
captured, to any order and in both modes, by every engine. On plain values they just compute.

==================  ===========================================================================
`root`              where a function is zero
`fixed_point`       where a function gives what it is given
`minimize`          where a function is least
`linear_solve`      where a linear function, known by its products alone, gives what it has to
`odeint`            the states of a differential equation
`map`, `reduce`     the results of a function on slices; what they add up to, one after the other
`scan`              both: what is carried along slices, and what each step gives besides
`vectorize`         a function of elements as one of arrays
`apply_along_axis`  a function of vectors on the slices along an axis
`apply_over_axes`   a function of an array and an axis, over several axes
`piecewise`         functions of the elements where their conditions hold
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
