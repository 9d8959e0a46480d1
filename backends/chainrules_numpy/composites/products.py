"""Products of arrays, norms of matrices, and sums over named axes in NumPy's notation."""

import builtins
import operator
import string
from typing import Any

import numpy as np

from chainrules_numpy.composites.manipulation import moveaxis, normal_axes
from chainrules_py import ops as v
from chainrules_py.extend import describe, kind_of, namespace_of

# ---------------------------------------------------------------- sums over named axes


def einsum(operands: Any, *, optimize: Any = False) -> Any:
    """Compute ``np.einsum``, with both notations of axes, ellipses, and implicit output."""
    first, *rest = operands
    if not isinstance(first, str):
        first, rest = _from_lists(list(operands))
    first = first.replace(" ", "")
    subscripts = _written_out(first, rest)
    # A user's path is for this sum only; the paths of the derivatives are computed.
    how = optimize if isinstance(optimize, (bool, str)) else True
    return v.einsum(*rest, subscripts=subscripts, optimize=how)


def _from_lists(operands: list[Any]) -> tuple[str, list[Any]]:
    """Convert ``x, [0, 1], y, [1, 2], [0, 2]`` to subscripts, with letters for the integers."""
    output = operands.pop() if len(operands) % 2 else None
    terms = [_letters(places) for places in operands[1::2]]
    text = ",".join(terms) + ("" if output is None else "->" + _letters(output))
    return text, operands[::2]


def _letters(places: Any) -> str:
    if not all([place is Ellipsis or 0 <= place < 52 for place in places]):
        raise ValueError("subscript is not within the valid range [0, 52)")
    return "".join("..." if place is Ellipsis else string.ascii_letters[place] for place in places)


def _written_out(subscripts: str, operands: list[Any]) -> str:
    """Expand the subscripts: letters for an ellipsis, and an explicit output."""
    inputs, arrow, output = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(operands):
        raise ValueError(
            f"einsum({subscripts!r}) names {len(terms)} operands, and got {len(operands)}"
        )
    for term, x in zip(terms, operands, strict=True):
        lengths = {(c, n) for c, n in zip(term, getattr(x, "shape", ()), strict=False) if n != 1}
        if "..." not in term and len(lengths) > len({c for c, _ in lengths}):
            raise ValueError(
                f"{term!r} names axes of different lengths alike, in an array of shape {x.shape}"
            )
    free = [c for c in reversed(string.ascii_letters) if c not in subscripts]
    counts = [
        builtins.max(getattr(x, "ndim", 0) - len(term.replace("...", "")), 0)
        if "..." in term
        else 0
        for term, x in zip(terms, operands, strict=True)
    ]
    longest = builtins.max(counts, default=0)
    hidden = "".join(free[:longest])
    terms = [
        term.replace("...", hidden[longest - n :]) for term, n in zip(terms, counts, strict=True)
    ]
    if not arrow:
        named = "".join(terms)
        once = sorted(c for c in set(named) - set(hidden) if named.count(c) == 1)
        output = hidden + "".join(once)
    return f"{','.join(terms)}->{output.replace('...', hidden)}"


# ---------------------------------------------------------------- products


def vdot(a: Any, b: Any) -> Any:
    """Sum conj(a) b over all elements."""
    return v.vecdot(v.reshape(a, shape=(-1,)), v.reshape(b, shape=(-1,)))


def matvec(x1: Any, x2: Any) -> Any:
    """Multiply each matrix by its vector."""
    if x1.ndim < 2:
        raise ValueError(f"matvec: operand 0 has {x1.ndim} axes, and a matrix has two")
    return v.squeeze(v.matmul(x1, v.expand_dims(x2, axis=-1)), axis=-1)


def vecmat(x1: Any, x2: Any) -> Any:
    """Multiply the conjugate of each vector by its matrix."""
    return v.squeeze(v.matmul(v.expand_dims(v.conj(x1), axis=-2), x2), axis=-2)


def kron(a: Any, b: Any) -> Any:
    """Multiply each element of a by the whole of b."""
    n = builtins.max(a.ndim, b.ndim)
    first, second = (1,) * (n - a.ndim) + a.shape, (1,) * (n - b.ndim) + b.shape
    left = v.reshape(a, shape=tuple(k for length in first for k in (length, 1)))
    right = v.reshape(b, shape=tuple(k for length in second for k in (1, length)))
    shape = tuple(map(operator.mul, first, second))
    return v.reshape(v.multiply(left, right), shape=shape)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """Compute the vector product; for two vectors in the plane, only the third component."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = _last(a, axisa), _last(b, axisb)
    lengths = {a.shape[-1], b.shape[-1]}
    if not lengths <= {2, 3}:
        raise ValueError(
            f"cross({describe(a)}, {describe(b)}) takes vectors of two or three components; "
            f"choose the axis that has them"
        )
    a1, a2, b1, b2 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
    third = a1 * b2 - a2 * b1
    if lengths == {2}:
        return third
    if a.shape[-1] == 2:
        parts = [a2 * b[..., 2], -(a1 * b[..., 2]), third]
    elif b.shape[-1] == 2:
        parts = [-(a[..., 2] * b2), a[..., 2] * b1, third]
    else:
        parts = [a2 * b[..., 2] - a[..., 2] * b2, a[..., 2] * b1 - a1 * b[..., 2], third]
    return moveaxis(v.stack(*parts, axis=-1), -1, axisc)  # laid out as NumPy's result


def _last(x: Any, axis: int) -> Any:
    (axis,) = normal_axes(axis, x.ndim)
    order = (*(i for i in range(x.ndim) if i != axis), axis)
    return x if axis == x.ndim - 1 else v.permute_dims(x, axes=order)


def cross_of_three(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Compute the vector product of vectors of three components, as in the standard."""
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross({describe(x1)}, {describe(x2)}, axis={axis}) takes vectors of three "
            f"components; choose the axis that has them"
        )
    return cross(x1, x2, axis=axis)


def matrix_power(a: Any, n: int) -> Any:
    """Raise a matrix, or its inverse, to a power by repeated squaring."""
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(
            f"matrix_power of an array of shape {a.shape}, which is no square matrix"
        )
    n = operator.index(n)
    if n < 0:
        a, n = v.inv(a), -n
    if n == 0:
        return v.broadcast_to(v.eye_like(a, rows=a.shape[-1]), shape=a.shape)
    if n == 3:  # as NumPy rounds it
        return v.matmul(v.matmul(a, a), a)
    result = None
    while n:
        if n & 1:
            result = a if result is None else v.matmul(result, a)
        n >>= 1
        a = v.matmul(a, a) if n else a
    return result


def multi_dot(arrays: Any) -> Any:
    """Multiply matrices in the order that takes the fewest multiplications.

    Cormen, Leiserson, Rivest, Stein, Introduction to Algorithms, section 15.2.
    """
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    first, last = arrays[0], arrays[-1]
    if len(arrays) == 2:
        return v.dot(first, last)
    axes = [x.ndim for x in arrays]
    if not ({axes[0], axes[-1]} <= {1, 2} and {*axes[1:-1]} <= {2}):
        raise np.linalg.LinAlgError(
            f"multi_dot of arrays with {axes} axes: each has two, the ends have one or two"
        )
    arrays = list(arrays)
    if first.ndim == 1:
        arrays[0] = v.expand_dims(first, axis=0)
    if last.ndim == 1:
        arrays[-1] = v.expand_dims(last, axis=-1)
    n = len(arrays)
    sizes = [x.shape[0] for x in arrays] + [arrays[-1].shape[1]]
    cost: dict[tuple[int, int], tuple[int, int]] = {(i, i + 1): (0, 0) for i in range(n)}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length
            cost[i, j] = builtins.min(
                (cost[i, k][0] + cost[k, j][0] + sizes[i] * sizes[k] * sizes[j], k)
                for k in range(i + 1, j)
            )

    def product(i: int, j: int) -> Any:
        k = cost[i, j][1]
        return v.matmul(product(i, k), product(k, j)) if j - i > 1 else arrays[i]

    y, whole = product(0, n), slice(None)
    if first.ndim > 1 and last.ndim > 1:
        return y
    return v.index(y, (0 if first.ndim == 1 else whole, 0 if last.ndim == 1 else whole))


# ---------------------------------------------------------------- norms


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Compute ``np.linalg.norm`` of vectors, of matrices, or of all elements."""
    if axis is None and ord is not None and x.ndim not in (1, 2):
        raise ValueError(
            f"norm({describe(x)}, ord={ord!r}) is of vectors or matrices; say which axis"
        )
    if axis is None and ord in ("f", "fro") and x.ndim == 2:
        ord = None
    if axis is None and (ord is None or (ord == 2 and x.ndim == 1)):
        return v.vector_norm(x, axis=None, keepdims=keepdims)
    if axis is None and x.ndim == 1:
        axis = 0
    axes = (0, 1) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    if len(axes) == 1:
        order: Any = 2 if ord is None else ord
        return v.vector_norm(x, axis=axes[0], keepdims=keepdims, ord=order)
    if len(axes) != 2:
        raise ValueError(f"norm(axis={axis!r}) is of vectors along one axis, or of matrices in two")
    if ord in (None, "f", "fro"):
        return v.vector_norm(x, axis=axes, keepdims=keepdims)
    axes = normal_axes(axes, x.ndim)
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    y = matrix_norm(v.permute_dims(x, axes=(*rest, *axes)), ord=ord)
    return v.expand_dims(y, axis=tuple(sorted(axes))) if keepdims else y


def _at_last(x: Any, i: int) -> Any:
    return v.index(x, (*(slice(None),) * (x.ndim - 1), i))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Compute the norm of each matrix, by its elements, singular values, columns or rows."""
    normal_axes((-2, -1), x.ndim)
    if ord == "fro":
        return v.vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (1, -1, float("inf"), -float("inf")):
        along = -2 if abs(ord) == 1 else -1
        if kind_of(x) not in ("real", "complex"):
            x = v.astype(x, dtype=namespace_of(type(x)).float64)
        sizes = v.sum(v.abs(x), axis=along)
        # The maximum of no sizes is 0.
        pick = v.min if ord < 0 else v.max if sizes.shape[-1] else v.sum
        y = pick(sizes, axis=-1)
    elif ord in (2, -2, "nuc"):
        s = v.svdvals(x)
        whole = ord == "nuc" or (ord == 2 and not s.shape[-1])
        y = v.sum(s, axis=-1) if whole else _at_last(s, 0 if ord == 2 else -1)
    else:
        raise ValueError(
            f"matrix_norm(ord={ord!r}): there are 'fro', 'nuc', 1, -1, 2, -2, inf and -inf"
        )
    return v.expand_dims(v.expand_dims(y, axis=-1), axis=-1) if keepdims else y
