"""Options of operations whose linear operands have an additional leading axis.

That axis is for directions. Each function takes the operands, with that axis, and the options of a
call, and returns the operands and options to use instead; or None if the operation has no such
call, and is called for each direction separately.
"""

from typing import Any

from chainrules_py.ops import Index, broadcast_to
from chainrules_py.registry.bind.batched_tangents import aligned
from chainrules_py.tangents.space import Space, kind_of


def moved(axis):
    """Renumber an axis after a new first axis; an axis counted from the end stays."""
    return axis if axis < 0 else axis + 1


def matrices(operands, options):
    """Keep operands and options for matrices; None for vectors, whose directions are a matrix."""
    return (operands, options) if operands[0].ndim > 2 else None


def from_end(axis, ndim):
    """Count axes from the end, so that leading axes do not matter; None is all axes.

    A 0-d array has none, although NumPy accepts one.
    """
    if axis is None or not ndim:
        return tuple(range(-ndim, 0))
    if isinstance(axis, tuple):
        return tuple([from_end(a, ndim) for a in axis])
    return axis if axis < 0 else axis - ndim


def along_axes(operands, options):
    """Renumber ``axis``, which is one axis, several, or None for all.

    For a 0-d array, whose only axis here is that of directions, a reduction is over no axis.
    """
    axis, number = options["axis"], "keepdims" in options and operands[0].ndim == 1
    if axis is None or number:
        axes = tuple(range(1, operands[0].ndim))
    else:
        axes = tuple(map(moved, axis)) if isinstance(axis, tuple) else moved(axis)
    return operands, {**options, "axis": axes}


def along_axis(operands, options):
    """Renumber ``axis``, which is one axis; None flattens, and is possible for one axis only.

    A 0-d array is flattened for any axis.
    """
    ndim = getattr(operands[0], "ndim", 2)
    if options["axis"] is None or ndim == 1:
        return (operands, {**options, "axis": 1}) if ndim == 2 else None
    return along_axes(operands, options)


def joined(operands, options):
    """Renumber ``axis`` as `along_axis` does, if all operands are linear."""
    if options["axis"] is None and any(x.ndim != 2 for x in operands):
        return None
    return along_axis(operands, options)


def squeezed(operands, options):
    """Renumber ``axis``; None is all axes of length one, and a 0-d array has none."""
    if options["axis"] is None or operands[0].ndim == 1:
        shape = operands[0].shape
        ones = tuple(i for i in range(1, len(shape)) if shape[i] == 1)
        return operands, {**options, "axis": ones}
    return along_axes(operands, options)


def permuted(operands, options):
    """Renumber ``axes``, which is a permutation; None reverses."""
    n = operands[0].ndim - 1
    axes = options["axes"] or range(n - 1, -1, -1)
    return operands, {**options, "axes": (0, *[axis % n + 1 for axis in axes])}


def shaped(operands, options):
    """Extend ``shape``, the shape of the result, in which -1 is ambiguous for no direction."""
    n, shape = operands[0].shape[0], options["shape"]
    return None if n == 0 and -1 in shape else (operands, {**options, "shape": (n, *shape)})


def broadcasted(operands, options):
    """Extend ``shape`` as `shaped` does, for an operand that may have fewer axes."""
    return shaped((aligned(operands[0], len(options["shape"])),), options)


def tiled(operands, options):
    """Align the operand with ``repetitions``, which may be more than its axes."""
    return (aligned(operands[0], len(options["repetitions"])),), options


def indexed(operands, options):
    """Extend the pattern ``index`` by a slice for the leading axis.

    None if arrays in it are not adjacent, since their axes would precede the leading one.
    """
    index = options["index"]
    if Index.HOLE in index:
        picking = [i for i, e in enumerate(index) if _picks(e)]
        if picking[-1] - picking[0] >= len(picking):
            return None
    return operands, {**options, "index": index.below(slice(None))}


def _picks(entry):
    """Return whether an entry acts as an array beside arrays: all except slices and new axes."""
    return type(entry) is int or (type(entry) is tuple and entry[0] is not slice)


def scattered(operands, options):
    """Extend ``index`` as `indexed` does, with a second operand that broadcasts to x[index]."""
    x, y, *arrays = operands
    if getattr(y, "ndim", 1) - 1 != _picked(x.ndim - 1, options["index"], arrays):
        return None
    return indexed(operands, options)


def _picked(ndim, index, arrays):
    """Count the axes of x[index], for an x with ``ndim`` axes."""
    together, rest = 0, iter(arrays)
    for entry in index:
        if entry is Index.HOLE:
            array = next(rest)
            mask = kind_of(array) == "bool"
            ndim -= array.ndim if mask else 1
            together = max(together, 1 if mask else getattr(array, "ndim", 0))
        elif type(entry) is int:
            ndim -= 1
        elif entry is None or (type(entry) is tuple and entry[0] is bool):  # a mask without axes
            ndim += 1
    return ndim + together


def padded(operands, options):
    """Extend ``widths``, one pair per axis, by no margin along the leading axis."""
    value: Any = operands[1]
    if type(value) is not Space and getattr(value, "ndim", False):
        return None
    return operands, {**options, "widths": ((0, 0), *options["widths"])}


def along_places(operands, options):
    """Repeat the indices of `take_along_axis`, which are the same in all directions."""
    x, *others, places = operands
    places = broadcast_to(places, shape=(x.shape[0], *places.shape))
    return along_axis((x, *others, places), options)
