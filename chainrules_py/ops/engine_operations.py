"""Operations for in-place writes, for engines, which refer to no operation by its name.

``x[i] = y`` is the operation `store`, which returns a new array. An engine writes in place if it
may, and gives the result the derivative of that operation.
"""

import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

from chainrules_py.ops import (
    Index,
    add_at,
    arange_like,
    astype,
    broadcast_to,
    concat,
    copy,
    cumulative_sum,
    diagonal,
    expand_dims,
    flip,
    getitem,
    imag,
    matrix_transpose,
    mean,
    permute_dims,
    put_at,
    real,
    reshape,
    round_decimals,
    scatter_add,
    sliding_window_view,
    squeeze,
    stack,
    sum,
    take,
    to_device,
)
from chainrules_py.ops import where as select
from chainrules_py.ops.indexing import place, stacked
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.type_info import namespace_of

__all__ = [
    "Index",
    "adds_in_place",
    "converted",
    "converting",
    "duplicate",
    "gives_views",
    "joining",
    "masked",
    "place",
    "places_of_joined",
    "read",
    "read_rows_by",
    "read_whole",
    "reading_rows",
    "reads_rows",
    "reshaping",
    "rounded",
    "shape_back",
    "shaped",
    "shaping",
    "sharing",
    "stacked",
    "store",
    "subscripts",
    "with_memory",
    "written_through",
]

read, store = getitem, put_at
"""The operations of ``x[i]`` and ``x[i] = y``."""
read_whole = Index.split(Ellipsis)[0]
"""The index of all elements."""
read_rows_by = {"index": Index((Index.HOLE,))}
"""The options of reading with a single array as index."""

sharing = {
    **dict.fromkeys((astype, to_device, copy), "copy"),
    **dict.fromkeys((sum, mean, cumulative_sum, concat, stack, select), "copy"),
    **dict.fromkeys((take, scatter_add, put_at), "copy"),
    **dict.fromkeys((diagonal, expand_dims, flip, imag, matrix_transpose), "view"),
    **dict.fromkeys((permute_dims, real, sliding_window_view, squeeze), "view"),
    broadcast_to: "filled",
    reshape: "layout",
}
"""How the result of an operation that rearranges an array shares its memory, where that is fixed.

A "copy" is a separate array to the program, though the operation may return its operand itself. A
"view" is a view in NumPy, for every memory layout, whatever it is here. "filled" is a view in NumPy
too, and may be a copy here, whose layout differs from NumPy's. "layout" is a view or a copy,
depending on the memory layout of the array."""


shaping = (permute_dims, reshape, squeeze)
"""They return a 0-d array for a number, and a scalar of a library unchanged."""
converting = (astype,)
"""Their results may be booleans, which have no derivative."""


def with_memory(x: Any) -> Any:
    """Return a 0-d array of a scalar."""
    return copy(broadcast_to(x, shape=()))


def gives_views(operation: Primitive[..., Any]) -> bool:
    """Return whether an operation that rearranges an array may return a view of it."""
    return sharing.get(operation) != "copy"


def written_through(
    parent: Any, child: Any, operation: Primitive[..., Any], rest: tuple[Any, ...], options: Any
) -> Any:
    """Compute the value of an array after its view was written to.

    Parameters
    ----------
    parent : array
        The viewed array.
    child : array
        The new elements of the view.
    operation, rest, options
        The view is ``operation(parent, *rest, **options)``, a rearrangement. The operation is
        applied to the indices of the elements.
    """
    plain = untraced(parent)
    size = math.prod(plain.shape)
    places = reshape(arange_like(plain, stop=size), shape=plain.shape)
    places = reshape(operation(places, *rest, **options), shape=(-1,))
    if places.shape[0] > size:
        raise ValueError("assignment destination is read-only")  # as for NumPy's broadcast views
    flat = reshape(parent, shape=(-1,))
    flat = put_at(flat, reshape(child, shape=(-1,)), places, index=Index((Index.HOLE,)))
    return reshape(flat, shape=plain.shape)


def subscripts(cls: type) -> bool:
    """Return whether reading an array of a class may subscript it: the library declares that."""
    return (
        not issubclass(cls, Tracer)
        and getattr(read.implementation((cls,)), "subscripts", False) is True
    )


def reading_rows(cls: type) -> Callable[[Any, Any], Any]:
    """Return the function ``(x, indices)`` that reads rows of an array of a class."""
    return getattr(read.implementation((cls,)), "rows", operator.getitem)


def reads_rows(operation: Any, options: dict[str, Any]) -> bool:
    """Return whether a call with an array of indices reads rows: entries along the first axis."""
    if operation is take:
        return options["axis"] == 0  # type: ignore[no-any-return]
    return operation is read and options == read_rows_by


def adds_in_place(recipe: Any) -> bool:
    """Return whether a recipe of reading adds cotangents at the same index by `add_at`."""
    return getattr(recipe, "pull_into", None) is add_at


def places_of_joined(operation: Primitive[..., Any]) -> Callable[..., Any] | None:
    """Return a function from arrays to their indices in the joined result, or None.

    ``places(arrays, options)`` returns the index of each array, or None if the operation flattens
    them. For an operation that does not join, `places_of_joined` returns None.
    """
    places: dict[Any, Callable[..., Any]] = {stack: _stacked_places, concat: _joined_places}
    return places.get(operation)


def _stacked_places(arrays: list[Any], options: dict[str, Any]) -> Any:
    ahead = (slice(None),) * (options.get("axis", 0) % (arrays[0].ndim + 1))
    return [(*ahead, i) for i in range(len(arrays))]


def _joined_places(arrays: list[Any], options: dict[str, Any]) -> Any:
    axis = options.get("axis", 0)
    if axis is None:
        return None
    ends = [0, *itertools.accumulate([x.shape[axis] for x in arrays])]
    ahead = (slice(None),) * (axis % arrays[0].ndim)
    return [(*ahead, slice(*part)) for part in itertools.pairwise(ends)]


def reshaping(cls: type) -> Callable[..., Any]:
    """Return the function that reshapes an array of a class: ``(x, shape=shape)``."""
    return reshape.implementation((cls,)) or reshape


def joining(cls: type) -> Callable[..., Any]:
    """Return the function that joins any number of arrays of a class along their first axis."""
    join: Any = concat.implementation((cls,)) or concat
    return lambda arrays: join(*arrays, axis=0)


def shape_back(x: Any, shape: tuple[int, ...]) -> Any:
    """Reshape an array, in C order."""
    return reshape(x, shape=shape)


def duplicate(x: Any) -> Any:
    """Copy an array to new memory."""
    return copy(x)


def added_to(x: Any, y: Any, index: Index) -> Any:
    """Add to an array at a basic index, in a copy."""
    return scatter_add(x, y, index=index)


def masked(mask: Any, x: Any, f: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Compute f elementwise where a mask is true, at 1 elsewhere; the result there is that of x."""
    if not hasattr(mask, "shape"):
        mask = namespace_of(type(untraced(x))).asarray(mask)
    return select(
        mask, f(*[select(mask, y, True) if hasattr(y, "dtype") else y for y in operands]), x
    )


def converted(x: Any, dtype: Any) -> Any:
    """Convert an array to a dtype, if it has another."""
    return x if x.dtype == dtype else astype(x, dtype=dtype)


def shaped(x: Any, shape: tuple[int, ...]) -> Any:
    """Broadcast an array to a shape, if it has another."""
    return x if x.shape == shape else broadcast_to(x, shape=shape)


def rounded(x: Any, decimals: int) -> Any:
    """Compute ``round(x, decimals)``."""
    return round_decimals(x, decimals=decimals)
