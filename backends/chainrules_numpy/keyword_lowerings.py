"""Lowerings of NumPy's keywords to operations, shared by all aliases with the same keyword.

A lowering rewrites a `Call` for the value of one keyword, and does not run if the keyword is
absent.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy.memory import layout
from chainrules_py import Primitive, UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import (
    AsArgument,
    Call,
    Line,
    Lowering,
    Tracer,
    beside,
    caller,
    describe,
    find_tracers,
    has_known_layout,
    hosts,
    kind_of,
    parameters_of,
    plain,
    remedy,
    told,
    type_info,
    untraced,
)


def static(value: Any) -> Any:
    """Convert an integer, or a sequence of them, to a static option of Python integers."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, (tuple, list, range)) or getattr(value, "ndim", 0) > 0:
        return tuple(map(_whole, value))
    return _whole(value)


def _whole(value: Any) -> int:
    """Convert an integer or a boolean to a Python integer."""
    return int(value) if isinstance(value, np.bool_) else int(operator.index(value))


def as_option(name: str, *, sequence: bool = False) -> Lowering:
    """Return a lowering for an axis, shape or shift: lists and arrays of integers become tuples."""

    def in_sequence(value: Any) -> Any:
        value = static(value)
        return (value,) if type(value) is int else value

    return AsArgument(name, in_sequence if sequence else static)


def axis_of(value: Any) -> Any:
    """Return one axis, or None; as in NumPy, lists and booleans are refused."""
    if value is None or type(value) is int:
        return value
    if isinstance(value, (bool, np.bool_)):
        raise TypeError("an integer is required for the axis")
    return operator.index(value)


def axes_of(value: Any) -> Any:
    """Return the axes of a reduction: one, a tuple, or None; as in NumPy, lists are refused."""
    return tuple(map(axis_of, value)) if type(value) is tuple else axis_of(value)


def array_of(value: Any) -> Any:
    """Convert an operand to an array: lists and numbers as NumPy does; lists of arrays are stacked.

    Numbers have NumPy's dtypes, even beside arrays of another library.
    """
    cls = type(value)
    if cls in (list, tuple) and _holds_arrays(value):
        return v.stack(*[array_of(x) for x in value])
    if issubclass(cls, Tracer) and type_info(cls).is_python_number:
        return v.lift(value, to=beside() or np)
    home = beside() if cls is np.ndarray else None
    if home is not None and home in [type_info(host).namespace for host in hosts]:
        return moved_beside(value)  # an engine's operators may not take NumPy arrays
    info = type_info(cls)
    if issubclass(cls, Tracer) or info.is_array:
        return value
    if info.host is not None and info.is_number:
        return v.lift(value, to=np)  # its engine makes the array
    return moved_beside(np.asarray(value))


def unless_number(value: Any) -> Any:
    """Convert an operand to an array; return None and weakly typed Python numbers unchanged."""
    weak = value is None or type_info(type(value)).is_python_number
    return value if weak else array_of(value)


def readable(x: Any) -> Any:
    """Return the values of an engine's array in a form that NumPy reads; also in lists."""
    x = untraced(x)
    if type(x) in (list, tuple):
        return type(x)(map(readable, x))
    read = type_info(type(x)).host is None or hasattr(x, "__array_function__")
    return x if read else np.asarray(x)


def _holds_arrays(value: Any) -> bool:
    """Return whether a list holds tracers, or arrays of another library, which NumPy would lose."""
    cls = type(value)
    if cls in (list, tuple):
        return any(map(_holds_arrays, value))
    foreign = type_info(cls).is_array and not issubclass(cls, (np.ndarray, np.generic))
    return foreign or issubclass(cls, Tracer) or bool(find_tracers(value))


def numpy_dtype(x: Any) -> Any:
    """Return the dtype of any library's array as the NumPy dtype of the same name."""
    try:
        return np.dtype(x.dtype)
    except TypeError:
        return np.dtype(str(x.dtype).rpartition(".")[2])


def is_numpys(x: Any) -> bool:
    """Return whether x stands for a NumPy array or a number, with which NumPy computes."""
    cls = type_info(type(x)).dispatch_type
    return issubclass(cls, (np.ndarray, np.generic, int, float, complex))


def moved_beside(places: Any) -> Any:
    """Convert a NumPy result to an array of the library of the call.

    It is copied: tensors share memory with their source, and have no negative strides.
    """
    home = beside()
    return places if home is None else home.asarray(places.copy())


def as_array(name: str, convert: Callable[[Any], Any] = array_of) -> Lowering:
    """Return a lowering for an operand that may be a list."""

    def place(call: Call, name: str, value: Any) -> None:
        by_name = not isinstance(call.operation, Primitive) and "x" in call.options
        (call.options if by_name else call.operands)[name] = value

    return AsArgument(name, convert, place)


def as_places(name: str) -> Lowering:
    """Return a lowering for indices; booleans are the indices 0 and 1, not a mask."""

    def places(value: Any) -> Any:
        found = array_of(value)
        counted = kind_of(found) != "bool" and 0 not in found.shape
        return found if counted else v.astype(found, dtype=np.dtype(np.intp))

    return as_array(name, places)


def as_keyword(
    name: str, operation: Callable[..., Any] | None = None, *, numbers: bool = True
) -> Lowering:
    """Return a lowering for an operand by name, which may be a list or a number.

    With ``operation``, the call becomes a call of that composite, which has the keyword.
    """
    operand = array_of if numbers else unless_number
    if operation is None:
        return AsArgument(name, operand)

    def of_composite(call: Call, value: Any) -> None:
        call.options[name] = operand(value)
        call.operation = operation

    return of_composite


def _sequence(call: Call, name: str, arrays: Any) -> None:
    if isinstance(call.operation, Primitive) or parameters_of(call.operation).variadic:
        call.operands = {f"{name}{i}": x for i, x in enumerate(arrays)}
    else:
        call.operands = {name: arrays} | call.operands


as_arrays = AsArgument("arrays", lambda value: [array_of(x) for x in value], _sequence)
"""A sequence of arrays: variadic operands, or the first operand of a composite."""


def converted(call: Call, dtype: Any) -> None:
    """Lower ``dtype=``: convert the operands before, and the result after the reduction."""
    dtype = np.dtype(dtype)
    for name, x in call.operands.items():
        if numpy_dtype(x) != dtype:
            call.operands[name] = v.astype(x, dtype=dtype)
    call.after.append(lambda y: y if numpy_dtype(y) == dtype else v.astype(y, dtype=dtype))


def computed_in(call: Call, dtype: Any) -> None:
    """Lower ``dtype=`` of a ufunc: the dtype of the computation; Python numbers follow it."""
    dtype = np.dtype(dtype)
    for name, x in call.operands.items():
        sized = hasattr(x, "dtype")
        have = numpy_dtype(x) if sized else np.result_type(type_info(type(x)).dispatch_type)
        if dtype.kind not in "fc" or not np.can_cast(have, dtype, "same_kind"):
            name = call.operation.__name__
            fact, line = f"{name} of {have} has no derivative with dtype={dtype}", Line(caller())
            write = remedy(line) or f"use {line.without('dtype') or 'astype'}"
            raise UnsupportedKeywordError(told(fact, line, write))
        if sized and have != dtype:
            call.operands[name] = v.astype(x, dtype=dtype)
    call.after.append(in_scalar)


# --------------------------------------------------- NumPy scalars, and 0-d arrays


def in_scalar(y: Any) -> Any:
    """Convert a 0-d array to a scalar."""
    return v.index(y, ()) if isinstance(y, np.ndarray) and not y.ndim else y


def in_array(y: Any) -> Any:
    """Convert a scalar to a 0-d array; also each scalar of a list."""
    if type(y) in (list, tuple):
        return type(y)(map(in_array, y))
    scalar: Any = y
    return v.copy(v.broadcast_to(scalar, shape=())) if isinstance(y, np.generic) else y


def gives_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function return 0-d arrays where operations return scalars, as NumPy does."""

    @functools.wraps(f)
    def made(*operands: Any, **options: Any) -> Any:
        return in_array(f(*operands, **options))

    return made


# --------------------------------------------------------------------------------- reductions


def masked(identity: Any) -> Lowering:
    """Lower ``where=``: excluded elements are replaced by the identity."""

    def lower(call: Call, mask: Any) -> None:
        x = call.operands["x"]
        if type(identity) is float and numpy_dtype(x).kind in "biu":
            x = v.astype(x, dtype=np.exp(np.zeros(0, numpy_dtype(x))).dtype)
        call.operands["x"] = v.where(array_of(mask), x, identity)

    return lower


def _limit(x: Any, sign: float) -> Any:
    """Return the least (or greatest) possible value for the dtype of x."""
    dtype = numpy_dtype(x)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return info.min if sign < 0 else info.max
    return sign * math.inf


def masked_extreme(sign: float) -> Lowering:
    """Lower ``where=`` of max and min, which have no identity and need ``initial=`` as well."""

    def lower(call: Call, mask: Any) -> None:
        if mask is True:
            return
        if not call.after:
            raise ValueError(
                "the reduction has no identity, so to use where= one has to specify initial="
            )
        if not np.size(mask):
            return  # nothing is excluded: with initial= there is an element
        x = call.operands["x"]
        call.operands["x"] = v.where(array_of(mask), x, _limit(x, sign))

    return lower


def _if_given(lower: Lowering) -> Lowering:
    """Return a lowering for a value other than None, which stands for no value."""

    def given(call: Call, value: Any) -> None:
        if value is not None:
            lower(call, value)

    return given


def started_extreme(operation: Callable[..., Any], sign: float) -> Lowering:
    """Return a lowering for ``initial=`` of max and min, the result if there are no elements."""
    joined = started(operation)

    def lower(call: Call, start: Any) -> None:
        joined(call, start)
        x, axis = call.operands["x"], call.options.get("axis")
        if x.size == 0:
            axes = range(x.ndim) if axis is None else np.atleast_1d(axis) % x.ndim
            shape = tuple([n or int(a in axes) for a, n in enumerate(x.shape)])
            call.operands["x"] = v.full_like(x, shape=shape, fill=_limit(x, sign))

    return _if_given(lower)


def multiplied(clean: Callable[[Any], Any] = v.positive) -> Lowering:
    """Return a lowering for ``initial=`` of products, which start with it.

    Therefore they overflow where NumPy's do. ``clean`` replaces elements that do not count by one.
    """
    after = started(v.multiply)

    def lower(call: Call, start: Any) -> None:
        reduced, dtype = call.operation, numpy_dtype(call.operands["x"])
        if not math.prod(call.operands["x"].shape) or dtype.kind not in "fc":
            after(call, start)
            return

        def begun(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
            axes = range(x.ndim) if axis is None else [a % x.ndim for a in np.atleast_1d(axis)]
            first = np.zeros([n if a in axes else 1 for a, n in enumerate(x.shape)], bool)
            first[(0,) * x.ndim] = True
            factors = v.astype(v.where(first, start, 1), dtype=dtype)
            return reduced(v.multiply(clean(x), factors), axis=axis, keepdims=keepdims)

        call.operation = begun

    return _if_given(lower)


def started(operation: Callable[..., Any]) -> Lowering:
    """Return a lowering for ``initial=``, joined to the result by the reduction's own operation."""

    def lower(call: Call, start: Any) -> None:
        def join(y: Any) -> Any:
            whole = numpy_dtype(y).kind in "iu"  # NumPy starts with a number of the same dtype
            z = operation(y, v.astype(array_of(start), dtype=y.dtype) if whole else start)
            return z if z.dtype == y.dtype else v.astype(z, dtype=y.dtype)

        call.after.append(join)

    return _if_given(lower)


def ddof(call: Call, value: Any) -> None:
    """Lower ``ddof=``, which the standard calls correction."""
    if "correction" in call.options:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    call.options["correction"] = value


def flattened(call: Call, axis: Any) -> None:
    """Lower ``axis=None`` of functions that then flatten the operand in C order."""
    if axis is None:
        call.operands["x"] = v.reshape(call.operands["x"], shape=(-1,))
        call.options["axis"] = 0
    else:
        call.options["axis"] = operator.index(axis)


# -------------------------------------------------------------------------------------- shapes


def unsupported(fact: str, write: str) -> UnsupportedKeywordError:
    """Return the error for a keyword on the program's line."""
    return UnsupportedKeywordError(told(fact, Line(caller()), write))


def laid_out(x: Any) -> Any:
    """Return a plain array with the layout in memory of the program's own, or None if unknown.

    A small part of an array that was written to has memory of its own; the program's is a view.
    """
    if has_known_layout(x):
        return plain(x)
    view: Any = getattr(x, "as_view", None)
    if getattr(view, "parent", None) is None or view.pattern is None:
        return None
    whole = laid_out(view.parent)
    return None if whole is None else whole[view.pattern.join(())]


def order_of(x: Any, order: str | None) -> str:
    """Return the order, C or F, that is meant: A and K stand for that of the memory of x.

    Raises
    ------
    UnsupportedKeywordError
        If it is another, or if it is unknown which one NumPy's array would have.
    """
    order = (order or "C").upper()
    if order in ("C", "F"):
        return order
    np.ravel(0, order)  # type: ignore[call-overload]  # checks it
    if x.ndim < 2:
        return "C"
    known = laid_out(x)
    if isinstance(known, np.ndarray):
        if order == "A":
            return "F" if known.flags.fnc else "C"
        strides = [*map(abs, layout(known))]
        falling = sorted(strides, reverse=True)
        if all(strides) and strides in (falling, falling[::-1]):
            return "C" if strides == falling else "F"
    raise unsupported(
        f"order={order!r} is that of the memory of {describe(x)}, which is not known to be C or F",
        "write order='C', or order='F' for the elements of each column one after the other",
    )


def element_order(call: Call, order: str) -> None:
    """Lower ``order="F"`` of reshape: C order, with the axes reversed before and after."""
    if order == "K":
        raise ValueError("order 'K' is not permitted for reshaping")
    if order_of(call.operands["x"], order) == "C":
        return
    call.operands["x"] = v.permute_dims(call.operands["x"])
    call.options["shape"] = call.options["shape"][::-1]
    call.after.append(v.permute_dims)


def memory_order(call: Call, order: str) -> None:
    """Lower ``order=`` of a copy, whose memory is then in that order."""
    like = {**call.operands, **call.options}["x"]
    call.after.append(lambda y: in_memory_order(y, like, order))


def result_order(call: Call, order: str | None) -> None:
    """Lower ``order=`` of a ufunc, whose results are then in it."""
    if order in ("A", "a"):
        raise unsupported("order='A' is that of all operands", "write order='C' or order='F'")
    if isinstance(call.operation, Primitive) and not any(
        getattr(x, "ndim", 0) for x in call.operands.values()
    ):
        return  # numbers have no order, and the ufunc itself returns their type
    call.after.append(
        lambda y: (
            tuple([in_memory_order(each, each, order) for each in y])
            if type(y) is tuple
            else in_memory_order(y, y, order)
        )
    )


def on_cpu(call: Call, device: Any) -> None:
    """Lower ``device=``, of which NumPy has one."""
    if device != "cpu" or not is_numpys({**call.operands, **call.options}["x"]):
        raise unsupported(f"device={device!r} has no derivative here", "leave device= out")


def cast_by(function: Callable[..., Any]) -> Lowering:
    """Return a lowering for ``casting=``, under which NumPy computes the same numbers or raises."""

    def lower(call: Call, casting: str) -> None:
        if call.after:
            raise unsupported(
                "casting= beside dtype=, order= or out= has no derivative here",
                "leave casting= out",
            )
        operands = [
            info.dispatch_type(1)
            if (info := type_info(type(x))).is_python_number
            else x
            if x is None
            else np.empty(0, numpy_dtype(array_of(x)))
            for x in {**call.operands, **call.options}.values()
        ]
        with np.errstate(all="ignore"):
            function(*operands, casting=casting)

    return lower


def in_memory_order(y: Any, like: Any, order: str | None) -> Any:
    """Copy an array unless its memory is in an order, which may be that of another array.

    What a compiler records has its layout in the payload.
    """
    order = (order or "K").upper()
    np.copy(0, order)  # type: ignore[call-overload]  # checks it
    if order in "KA" and not has_known_layout(like) and hasattr(y, "forget_view"):
        y.forget_view((like,))
    known, made = [getattr(plain(x), "payload", plain(x)) for x in (like, y)]
    flags = getattr(known, "flags", None)
    if y.ndim == 0 or flags is None:
        return y
    axes: Any = range(y.ndim)
    if order == "F" or (order == "A" and getattr(flags, "fnc", False)):
        axes = axes[::-1]
    elif order == "K" and like.ndim == y.ndim:
        axes = sorted(axes, key=lambda k: -abs(known.strides[k]))
    if np.transpose(made, axes).flags.c_contiguous:
        return y
    turned = v.copy(v.permute_dims(y, axes=tuple(axes)))
    return v.permute_dims(turned, axes=tuple(np.argsort(axes).tolist()))


def of_shape(fill: int) -> Lowering:
    """Return a lowering for ``shape=`` of zeros_like and ones_like."""

    def lower(call: Call, shape: Any) -> None:
        shape = static(shape)
        call.operation = v.full_like
        call.options |= {"shape": shape if type(shape) is tuple else (shape,), "fill": fill}
        if len(call.options["shape"]) == call.operands["x"].ndim:
            memory_order(call, "K")

    return lower
