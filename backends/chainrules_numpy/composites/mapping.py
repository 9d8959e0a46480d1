"""NumPy's functions that apply a function to elements or slices of arrays, written in operations.

They are programs that call a function many times. An engine sees each of these calls, so that the
values that the function captured are differentiated too.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from chainrules_numpy.composites.manipulation import normal_axes
from chainrules_py import ops as v
from chainrules_py.extend import made, namespace_of, type_info, untraced
from chainrules_py.ops.engine_operations import stacked

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise", "vectorize"]

Function = Callable[..., Any]


def _array(x: Any, like: Any) -> Any:
    """Convert a number, or a list of arrays and numbers, to an array of the library of ``like``."""
    return x if hasattr(x, "dtype") else stacked(x, like)


def _joined(results: list[Any], like: Any, dtype: Any = None) -> Any:
    """Stack results of one shape, in a dtype; by default in that of the first."""
    arrays = [_array(y, like) for y in results]
    dtype = arrays[0].dtype if dtype is None else dtype
    return v.stack(*[y if y.dtype == dtype else v.astype(y, dtype=dtype) for y in arrays])


# ------------------------------------------------------------------------------------ along axes


def apply_along_axis(func1d: Function, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Apply a function of one-dimensional arrays to each slice of an array along an axis.

    The axes of its results replace the axis; the dtype is that of the first result.
    """
    (axis,) = normal_axes(axis, arr.ndim)
    axis = int(axis) % arr.ndim
    order = (*(a for a in range(arr.ndim) if a != axis), axis)
    moved = v.permute_dims(arr, axes=order)
    lead = tuple(moved.shape[:-1])
    if 0 in lead:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    rows = v.reshape(moved, shape=(math.prod(lead), arr.shape[axis]))
    results = [func1d(v.index(rows, i), *args, **kwargs) for i in range(rows.shape[0])]
    joined = _joined(results, arr)
    inner = tuple(joined.shape[1:])
    made = v.reshape(joined, shape=(*lead, *inner))
    n, m = len(lead), len(inner)
    return v.permute_dims(made, axes=(*range(axis), *range(n, n + m), *range(axis, n)))


def apply_over_axes(func: Function, a: Any, axes: int | Sequence[int]) -> Any:
    """Apply a function of an array and an axis over several axes, one after the other.

    An axis that the function removes is restored with length one.
    """
    several = axes if isinstance(axes, Iterable) else (axes,)
    ndim, x = a.ndim, a
    for axis in several:
        place = axis + ndim if axis < 0 else axis
        y = _array(func(x, place), a)
        if y.ndim != x.ndim:
            y = v.expand_dims(y, axis=place)
        if y.ndim != x.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        x = y
    return x


# ------------------------------------------------------------------------------------- piecewise


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Compute each element by the function, or number, whose condition holds there.

    Each function is called with the elements where its condition holds. If several conditions hold,
    the last counts; if none does, the function without a condition, or 0. The result has the dtype
    of x.
    """
    x = _array(x, x)
    conditions = _conditions(condlist, x)
    if len(conditions) == len(funclist) - 1:
        anywhere = functools.reduce(lambda a, b: a | b, conditions)
        conditions.append(~anywhere)
    elif len(conditions) != len(funclist):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = v.zeros_like(x)
    for condition, f in zip(conditions, funclist, strict=True):
        pattern, arrays = v.Index.split(condition)
        given = f
        if callable(f):
            chosen = v.getitem(x, *arrays, index=pattern)
            if not math.prod(chosen.shape):
                continue
            given = f(chosen, *args, **kw)
        y = v.put_at(y, _array(given, x), *arrays, index=pattern)
    return y


def _conditions(given: Any, x: Any) -> list[Any]:
    """Return the list of conditions, as NumPy does: a single one need not be in a list."""
    xp = namespace_of(type(x))
    given = untraced(given)
    one = not hasattr(given, "__len__") or (hasattr(given, "ndim") and not given.ndim)
    if not one and x.ndim and len(given):
        first = given[0]
        one = not isinstance(first, (list, tuple)) and not (
            type_info(type(first)).is_array and hasattr(first, "ndim") and first.ndim
        )
    given = [given] if one else given
    return [c if getattr(c, "dtype", 0) == xp.bool else xp.asarray(c, dtype=xp.bool) for c in given]


# ------------------------------------------------------------------------------------- vectorize


def vectorize(
    pyfunc: Function | None = None,
    otypes: str | Sequence[Any] | None = None,
    doc: str | None = None,
    excluded: Iterable[int | str] | None = None,
    cache: bool = False,
    signature: str | None = None,
) -> Any:
    """Turn a function of elements into one of broadcast arrays, as `numpy.vectorize` does.

    Engines cannot trace NumPy's, which copies its arguments into arrays of objects. This function
    is a loop as well, for convenience and not for speed.

    Parameters
    ----------
    pyfunc : callable
        Takes elements, and returns a number or a tuple of numbers; with a signature, arrays. If it
        is omitted, a decorator is returned.
    otypes : str or list of dtypes, optional
        The dtypes of the results; those of the first results by default.
    doc : str, optional
        The docstring; by default that of the function.
    excluded : set of int and str, optional
        The positions and names of arguments that are passed unchanged.
    cache : bool
        Has no effect: at most the first element is computed twice, to find the dtypes.
    signature : str, optional
        The axes of arguments and results, ``"(m,n),(n)->(m)"``; other axes are broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> @vectorize
    ... def ramp(x, slope):
    ...     return slope * x if x > 0 else 0.0 * x
    >>> ramp(np.array([-1.0, 2.0]), 3.0)
    array([-0.,  6.])
    >>> grad(lambda slope: ramp(np.array([-1.0, 2.0]), slope).sum())(3.0)
    np.float64(2.0)
    """
    if pyfunc is None:
        return functools.partial(
            vectorize, otypes=otypes, doc=doc, excluded=excluded, cache=cache, signature=signature
        )
    f, kept = pyfunc, frozenset(excluded or ())
    core = None if signature is None else _parsed(signature)

    def vectorized(*args: Any, **kwargs: Any) -> Any:
        given = dict(enumerate(args)) | kwargs
        varied = {k: x for k, x in given.items() if k not in kept}
        like = next((x for x in varied.values() if hasattr(x, "dtype")), None)

        def call(values: dict[Any, Any]) -> Any:
            full = given | values
            positional = [full[i] for i in range(len(args))]
            return f(*positional, **{k: x for k, x in full.items() if isinstance(k, str)})

        if like is None:
            if any(isinstance(x, (list, tuple)) for x in varied.values()):
                raise TypeError(
                    "vectorize: of lists alone there is no array library; pass an array"
                )
            return call({})
        arrays = {k: _array(x, like) for k, x in varied.items()}
        return _looped(call, arrays, otypes, core, like)

    settings: Any = {"otypes": otypes, "doc": doc, "excluded": excluded, "signature": signature}
    found = made(vectorized, f, vectorize, **settings)
    if doc is not None:
        found.__doc__ = doc
    return found


_Core = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]


def _parsed(signature: str) -> _Core:
    """Parse the names of the core axes of the inputs, and of the outputs."""
    import re

    one = r"\((?:\w+(?:,\w+)*)?\)"
    text = re.sub(r"\s+", "", signature)
    if not re.fullmatch(f"(?:{one}(?:,{one})*)?->{one}(?:,{one})*", text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    before, after = text.split("->")
    return tuple(  # type: ignore[return-value]
        [tuple(re.findall(r"\w+", part)) for part in re.findall(one, side)]
        for side in (before, after)
    )


def _looped(
    call: Function, arrays: dict[Any, Any], otypes: Any, core: _Core | None, like: Any
) -> Any:
    axes = [()] * len(arrays) if core is None else core[0]
    if len(axes) != len(arrays):
        raise TypeError(
            f"wrong number of positional arguments: expected {len(axes)}, got {len(arrays)}"
        )
    lengths: dict[str, int] = {}
    lead: tuple[int, ...] = ()
    for x, names in zip(arrays.values(), axes, strict=True):
        split = x.ndim - len(names)
        inner = zip(names, x.shape[split:], strict=False)
        if split < 0 or any(lengths.setdefault(name, length) != length for name, length in inner):
            raise ValueError(
                f"vectorize: an argument of shape {x.shape} does not have the core dimensions "
                f"{names!r}, with the lengths {lengths}"
            )
        lead = np.broadcast_shapes(lead, tuple(x.shape[:split]))
    count = math.prod(lead)
    if not count:
        return _empty(otypes, core, lengths, lead, like)
    flat = {}
    for (key, x), names in zip(arrays.items(), axes, strict=True):
        whole = (*lead, *x.shape[x.ndim - len(names) :])
        full = x if x.shape == whole else v.broadcast_to(x, shape=whole)
        flat[key] = v.reshape(full, shape=(count, *whole[len(lead) :]))
    elements = {
        # NumPy's function gives Python's numbers of plain arrays, which do not wrap.
        key: x.tolist() if core is None and issubclass(type(x), np.ndarray) else x
        for key, x in flat.items()
    }
    results = [
        call({key: x[i] if type(x) is list else v.index(x, i) for key, x in elements.items()})
        for i in range(count)
    ]
    several = type(results[0]) is tuple
    columns = list(zip(*results, strict=True)) if several else [results]
    narrow = [flat[k].dtype not in (float, complex) for k, x in elements.items() if type(x) is list]
    if otypes is not None:
        dtypes = [_dtype(d, like) for d in otypes]
    else:  # those that NumPy's scalars have
        first = call({key: v.index(x, 0) for key, x in flat.items()}) if any(narrow) else results[0]
        dtypes = [_array(y, like).dtype for y in (first if several else [first])]
    joined = [
        _joined([_fitting(y, dtype) for y in ys], like, dtype)
        for ys, dtype in zip(columns, dtypes, strict=True)
    ]
    given = [()] * len(columns) if core is None else core[1]
    if [y.ndim - 1 for y in joined] != [len(names) for names in given]:
        shapes = [y.shape[1:] for y in joined]
        raise ValueError(f"vectorize: the shapes of results are {shapes}, and their axes {given}")
    made = tuple([v.reshape(y, shape=(*lead, *y.shape[1:])) for y in joined])
    return made if several else made[0]


def _fitting(y: Any, dtype: Any) -> Any:
    """Return a result, or raise where NumPy does not convert a number to a dtype."""
    if not isinstance(dtype, np.dtype):
        return y
    if dtype.kind in "biuf" and np.iscomplexobj(y):
        raise TypeError(f"vectorize: a result is complex, not {dtype}; pass otypes='D'")
    return np.asarray(y, dtype) if type(y) is int else y


def _empty(otypes: Any, core: _Core | None, lengths: Any, lead: tuple[int, ...], like: Any) -> Any:
    axes = [()] * len(otypes or ()) if core is None else core[1]
    if otypes is None or not lengths.keys() >= {name for names in axes for name in names}:
        raise ValueError(
            "cannot call `vectorize` on size 0 inputs without `otypes`, or with a signature that "
            "has new output dimensions"
        )
    made = [
        v.full_like(
            like, shape=(*lead, *(lengths[n] for n in names)), fill=0, dtype=_dtype(dtype, like)
        )
        for names, dtype in zip(axes, otypes, strict=True)
    ]
    return tuple(made) if len(made) > 1 else made[0]


def _dtype(dtype: Any, like: Any) -> Any:
    """Return a dtype of the library; it may be passed as NumPy's letter."""
    make = getattr(namespace_of(type(like)), "dtype", None)
    return make(dtype) if make is not None and not isinstance(dtype, make) else dtype
