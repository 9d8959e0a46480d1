"""Calls derived from one call: other points, shapes and options.

Each is a call for which users expect the rule to be right. Calls that the function itself rejects
are left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial
from inspect import Parameter
from typing import Any, NamedTuple

import numpy as np

from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import REQUIRED
from chainrules_py.testing.cases import operand_variants as make
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.operand_variants import (
    is_float_array,
    is_number,
    is_sorted,
    is_whole,
)
from chainrules_py.testing.cases.other_option_values import other_axes, other_values
from chainrules_py.testing.cases.value_comparison import differs, fingerprint, value_vector
from chainrules_py.values.pytree import PLAIN, flatten, map_leaves


class Call(NamedTuple):
    """Call of the same function that is checked besides the given one.

    A mistake there is "wrong only for" the name. At a kink a right rule may return any of several
    derivatives, so that more directions are checked.
    """

    name: str
    operands: tuple[Any, ...]
    options: dict[str, Any]
    at_kink: bool = False


Calls = Iterator[Call]


def value_at(case: Case, operands: tuple[Any, ...], **other: Any) -> Any:
    """Compute the value of another call; None where the function rejects it."""
    try:
        return case.f(*operands, **{**case.options, **other})
    except Exception:
        return None


def _is_floating(x: Any) -> bool:
    return is_float_array(x) or is_number(x)


def _leaves(x: Any) -> list[Any]:
    """List the floating-point numbers and arrays in a Python container, or the operand itself."""
    plain = isinstance(x, (tuple, list, dict)) or is_dataclass(x)
    return [n for n in (flatten(x)[0] if plain else [x]) if _is_floating(n)]


def _floating(case: Case) -> list[int]:
    return [i for i, x in enumerate(case.operands) if _leaves(x)]


def _arrays(case: Case) -> list[int]:
    return [i for i, x in enumerate(case.operands) if is_float_array(x) and x.ndim]


def _mapped(change: Callable[[Any], Any], x: Any) -> Any:
    one = lambda leaf: _as(leaf, change(np.asarray(leaf))) if _is_floating(leaf) else leaf
    return map_leaves(one, x)


def _as(x: Any, values: Any) -> Any:
    return np.asarray(values, x.dtype) if isinstance(x, np.ndarray) else type(x)(values)


def _call(
    case: Case, name: str, change: Callable[[Any], Any], places: Iterable[int], **more: Any
) -> Call:
    """Return the call with changed numbers in the operands at some indices."""
    chosen = set(places)
    xs = [_mapped(change, x) if i in chosen else x for i, x in enumerate(case.operands)]
    return Call(name, tuple(xs), case.options, **more)


def _put(case: Case, i: int, x: Any) -> tuple[Any, ...]:
    return (*case.operands[:i], x, *case.operands[i + 1 :])


# ------------------------------------------------------------------------------ other points

DISORDER_OF_SEVERAL = "another order of the elements of an operand that increases"
"""Name of the call in another order if f has several floating-point operands. One of them may be a
grid, which has to increase, so that a mistake there is reported, but is no failure."""


def near_calls(case: Case) -> Calls:
    """Yield a call at other numbers nearby, and in another order if an operand increases."""
    shaken = partial(make.shaken, np.random.default_rng(7))
    places = _floating(case)
    rising = [i for i in places if is_sorted(case.operands[i])]
    if len(places) != 1 or not rising:
        yield _call(case, "another point", shaken, places)
    if rising:
        name = "another order of the elements" if len(places) == 1 else DISORDER_OF_SEVERAL
        yield _call(case, name, make.in_disorder, rising)


def first_calls(case: Case) -> Calls:
    """Yield the calls that find most mistakes: other signs, shorter, one axis more or less."""
    xs, places, arrays = case.operands, _floating(case), _arrays(case)
    one_sign = any(_has_one_sign(x) for i in places for x in _leaves(xs[i]))
    if one_sign and not any(map(is_sorted, xs)):
        yield _call(case, "operands of both signs", make.of_both_signs, places)
    else:
        yield _call(case, "negative operands", partial(make.times, -1.0), places)
    if arrays and all(xs[i].size for i in arrays):
        yield _call(case, "another shape: one element fewer", make.cut(-1), arrays)
        yield _call(case, "a leading axis", lambda x: make.stacked(x, 2), arrays)
    elif numbers := [i for i in places if _is_floating(xs[i]) and np.ndim(xs[i]) == 0]:
        row = np.asarray([1.0, 1.125])
        made = tuple([x * row if i in numbers else x for i, x in enumerate(xs)])
        yield Call("an array in place of a number", made, case.options)
    for i in arrays if len(arrays) > 1 else ():
        if xs[i].ndim == 2 and xs[i].size:  # ``matmul`` takes vectors on both sides
            line = xs[i][:, 0] if i else xs[i][0]
            yield Call(f"a vector for argument {i + 1}", _put(case, i, line.copy()), case.options)
    yield from _index_calls(case)
    yield from _entry_calls(case)


def _has_one_sign(x: Any) -> bool:
    return not np.iscomplexobj(x) and bool(np.all(np.greater(x, 0)) or np.all(np.less(x, 0)))


def point_calls(case: Case) -> Calls:
    """Yield calls at other numbers of the same shapes: negated, large, small, equal, zero."""
    places, xs = _floating(case), case.operands
    # Iterations may not converge there, or only slowly.
    if not case.options.keys() & _TOLERANCES and not any(map(callable, xs)):
        wide = 30.0, 1000.0, -30.0, -1000.0, 1e-3, 1e-9
        for factor in wide if case.precision < 1e-10 else (30.0, -30.0, 1e-3):
            name = "large operands" if abs(factor) > 1.0 else "small operands"
            if factor > 0.0 or len(places) == 1:
                yield _call(case, name, partial(make.times, factor), places)
    yield from [Call(name, ys, case.options, True) for name, ys in make.tied(xs)]
    yield _call(case, "negative operands", partial(make.times, -1.0), places)
    yield _call(case, "operands of both signs", make.of_both_signs, places)
    for i in places:
        x = xs[i]
        if is_float_array(x) and x.size:
            # A sorted operand stays sorted.
            place = int(np.argmin(np.abs(x))) if is_sorted(x) else 0
            zeroed = _put(case, i, make.with_zeros(x, [place]))
            yield Call("a zero", zeroed, case.options, True)
        if is_sorted(x):
            continue
        if is_float_array(x) and x.size > 2:
            some = partial(make.with_zeros, places=[0, -1])
            yield _call(case, "two zeros", some, [i], at_kink=True)
        if is_float_array(x) and x.size > 1:
            yield _call(case, "ties", make.with_tie, [i], at_kink=True)
            if x.ndim == 1:  # a matrix of equal numbers is singular
                yield _call(case, "ties", lambda x: np.full_like(x, x[0]), [i], at_kink=True)
        yield _call(case, "all zeros", np.zeros_like, [i], at_kink=True)
    unsorted = [i for i in places if not is_sorted(xs[i])]
    yield _call(case, "all zeros", np.zeros_like, unsorted, at_kink=True)


_TOLERANCES = {"tol", "rtol", "atol", "max_steps", "maxiter"}


# ------------------------------------------------------------------------------ other shapes


def shape_calls(case: Case) -> Calls:
    """Yield calls of other shapes and layouts: 0-d, longer, empty, broadcast, strided."""
    xs, options = case.operands, case.options
    every = [i for i, x in enumerate(xs) if make.is_numpy(x)]
    changed: Any = lambda change: tuple([change(x) if i in every else x for i, x in enumerate(xs)])
    # Arrays of integers may be indices into others, so that their shapes depend on each other.
    if every and all(case.parts[i].size or not xs[i].size for i in every):
        if options.get("axis") is None:  # a 0-d array has no axis
            yield Call("0-d", changed(lambda x: x.reshape(-1)[:1].sum(keepdims=False)), options)
        yield Call("size 1", changed(lambda x: x[(slice(0, 1),) * x.ndim]), options)
        for place in (slice(0, 0), (..., slice(0, 0))):
            yield Call("an empty array", changed(lambda x, p=place: x[p] if x.ndim else x), options)
    for name, lay in _LAYOUTS.items():
        yield Call(name, changed(lambda x, lay=lay: lay(x) if x.ndim and x.size else x), options)
    yield from _broadcast_calls(case, every)
    arrays = _arrays(case)
    for what, axis in (("element", -1), ("row", 0)) if all(xs[i].size for i in arrays) else ():
        yield _call(case, f"another shape: one {what} fewer", make.cut(axis), arrays)
        yield _call(case, f"another shape: one {what} more", make.extended(axis), arrays)
    # A rule that confuses two axes raises no error where they have the same length.
    lengths = {n for i in arrays for n in xs[i].shape}
    apart = next(n for n in range(2, len(lengths) + 3) if n not in lengths)
    for k in (apart, *sorted(n for n in lengths if 1 < n < 5)) if arrays else ():
        longer = lambda x, k=k: make.stacked(x, k)
        yield _call(case, "a leading axis", longer, arrays)
        for i in arrays[:2] if len(arrays) > 1 else ():
            yield _call(case, f"a leading axis of argument {i + 1}", longer, [i])
    for i in arrays:
        if len(xs) > 1 and xs[i].shape[-1] > 2:
            yield _call(case, f"another length of argument {i + 1}", make.cut(-1), [i])
        if xs[i].size:
            number = xs[i].reshape(-1)[0].item()
            yield Call(f"a number for argument {i + 1}", _put(case, i, number), options)


_LAYOUTS: Mapping[str, Callable[[Any], Any]] = {
    "non-contiguous input": make.strided,
    "non-contiguous input (Fortran order)": np.asfortranarray,
    "read-only input": make.read_only,
}


def _broadcast_calls(case: Case, arrays: list[int]) -> Calls:
    """Yield calls with an operand that broadcasts, if the result keeps its shape."""
    for i in arrays if len(arrays) > 1 and hasattr(case.y, "shape") else ():
        x = case.operands[i]
        if not x.ndim or x.shape != case.y.shape or x.shape[0] < 2:
            continue
        for narrow in (x[:1], x[0], x[..., :1]):
            operands = _put(case, i, np.ascontiguousarray(narrow))
            y = value_at(case, operands)
            same = value_at(case, _put(case, i, np.broadcast_to(narrow, x.shape).copy()))
            if y is not None and differs(y, same, case.precision) is None:
                yield Call(f"a broadcast operand, argument {i + 1}", operands, case.options)


def _entry_calls(case: Case) -> Calls:
    """Yield calls with more entries in a list, tuple or dictionary, or with more operands."""
    xs = case.operands
    fixed = len(getattr(case.f, "operands", ())) if getattr(case.f, "variadic", None) else len(xs)
    places = [(i, x) for i, x in enumerate(xs[:fixed]) if type(x) in PLAIN and len(x)]
    for i, x in (*places, (fixed, xs[fixed:])) if xs[fixed:] else places:
        if not case.inputs.size or not any(map(_is_floating, flatten(x)[0])):
            continue
        for count in (len(x) + 1, len(x) + 2):
            made = make.of_entries(x, count, _mapped)
            given = (*xs[:i], *made) if i == fixed else _put(case, i, made)
            yield Call(f"{count} entries", given, case.options)


def _index_calls(case: Case) -> Calls:
    """Yield calls with other masks, and other, repeated, negative or reordered indices."""
    xs, options = case.operands, case.options
    lengths = {n for x in xs if is_float_array(x) for n in x.shape}
    for i, x in enumerate(xs):
        for mask in [] if _is_promise(case, i) else make.other_masks(x):
            yield Call("another mask", _put(case, i, mask), options)
        if type(x) is np.ndarray and x.dtype == bool and x.any():
            yield Call("an empty mask", _put(case, i, np.zeros_like(x)), options)
        if type(x) is not np.ndarray or x.dtype.kind != "i" or not x.size:
            continue
        orders = make.reordered(xs, i)
        ys = [np.sort(value_vector(value_at(case, operands))) for operands in orders]
        if any(y.shape == ys[0].shape != (0,) and np.allclose(y, ys[0]) for y in ys[1:]):
            yield Call("another order of the indices", orders[1], options)
        several = np.repeat(x, 2, -1) if x.ndim and x.size == 1 else x
        repeated = np.full_like(several, x.reshape(-1)[0])
        yield Call("a repeated index", _put(case, i, repeated), options)
        yield Call("other indices", _put(case, i, x + 2), options)
        for n, index in itertools.product(lengths, (x, repeated)):
            if -n <= x.min() and x.max() < n:
                calls = [_put(case, i, other) for other in (index, make.turned(index, n))]
                have, want = (value_vector(value_at(case, call)) for call in calls)
                if np.array_equal(have, want):
                    name = "a negative index" if index is x else "a repeated index"
                    yield Call(name, calls[1], options)


# ---------------------------------------------------------------------------- whole numbers


def whole_number_calls(case: Case) -> Calls:
    """Yield calls with floating-point numbers for integers, and with other integers."""
    xs = case.operands
    places = [i for i, x in enumerate(xs) if is_whole(x)]
    for chosen in {tuple(places), *[(i,) for i in places]} if places else ():
        operands, other = (
            tuple([make.floating(x, d) if i in chosen else x for i, x in enumerate(xs)])
            for d in (0.0, 0.375)
        )
        have, want = _numbers(value_at(case, operands)), _numbers(case.y)
        if have.shape == want.shape and np.allclose(have, want, rtol=1e-6, equal_nan=True):
            yield Call("", operands, case.options)
            yield Call("", other, case.options)
    for i, n in itertools.product(places, (3, 2, 1, 0, -1)):
        if n != xs[i] if type(xs[i]) is int else xs[i].ndim == 0:
            other = _put(case, i, _as(xs[i], n))
            yield Call(f"another whole number for argument {i + 1}", other, case.options)


def _numbers(y: Any) -> Any:
    try:
        return np.asarray(y, dtype=complex)
    except (TypeError, ValueError):
        return value_vector(y)


# ---------------------------------------------------------------------------------- options

_KNOWN = ("axis", "keepdims")
_PROMISES = ("_", "assume", "symmetric", "hermitian", "overwrite", "check", "unique", "sorted")
"""Prefixes of options that promise a property of the operands, which only the caller knows."""


def _is_promise(case: Case, i: int) -> bool:
    names = getattr(case.f, "operands", ())
    return isinstance(case.operands[i], bool) and str(names[i : i + 1])[2:].startswith(_PROMISES)


def option_calls(case: Case) -> Calls:
    """Yield calls with other axes, keepdims, and other values of the remaining options."""
    declared = case.f.options if isinstance(case.f, Primitive) else case.options
    yield from _axis_calls(case, declared)
    for name, default in declared.items():
        if name in _KNOWN or name.startswith(_PROMISES):
            continue
        given = case.options.get(name, default)
        for value in [*other_values(case.f, name, given, declared), *_default(default)]:
            if type(value) is int and value < 0 and _is_count(case, name, value):
                continue
            if _is_another(case, value_at(case, case.operands, **{name: value}), given, value):
                options = {**case.options, name: value}
                yield Call(f"{name}={_shown(value, given)}", case.operands, options)
    defaults = getattr(getattr(case.f, "signature", None), "parameters", {})
    for i, (name, given) in enumerate(zip(case.operand_names(), case.operands, strict=True)):
        if case.parts[i].size or type(given) in (bool, int):
            continue
        default = getattr(defaults.get(name), "default", Parameter.empty)
        for value in [*other_values(case.f, name, given, declared), *_default(default)]:
            other = _put(case, i, value)
            if _is_another(case, value_at(case, other), given, value):
                yield Call(f"{name}={_shown(value, given)}", other, case.options)


def _axis_calls(case: Case, declared: Mapping[str, Any]) -> Calls:
    """Yield calls with other axes, and with a leading axis added to vectors."""
    names = {*case.options, *declared} & {*_KNOWN}
    arrays = [i for i, x in enumerate(case.operands) if make.is_numpy(x)]
    if not names or not arrays:
        return
    ndim, default = case.operands[arrays[0]].ndim, declared.get("axis")
    for name, changed in other_axes(names, case.options, ndim, default):
        # The function may happen to take None.
        told = f"{name}, for None" if changed.get("axis", 0) is None is not default else name
        yield Call(told, case.operands, {**case.options, **changed})
    if "axis" in names and ndim == 1:
        for axis in (0, 1):
            name, options = f"axis={axis} with a leading axis", {**case.options, "axis": axis}
            several = _call(case, name, lambda x: make.stacked(x, 2), _arrays(case))
            yield several._replace(options=options)


def _default(default: Any) -> list[Any]:
    return [] if default is REQUIRED or default is Parameter.empty else [default]


def _is_another(case: Case, y: Any, given: Any, value: Any) -> bool:
    """Return whether a function takes another value; one of another type must change the result."""
    if y is None or value is given or (type(value) is type(given) and repr(value) == repr(given)):
        return False
    return type(value) is type(given) or given is not None or fingerprint(y) != fingerprint(case.y)


def _shown(value: Any, given: Any = ()) -> str:
    shown = "an array" if isinstance(value, np.ndarray) else repr(value)
    return f"{shown} for None" if given is None else shown


def _is_count(case: Case, name: str, value: int) -> bool:
    """Return whether negative numbers count as zero, as for a count of steps."""
    ys = [value_at(case, case.operands, **{name: n}) for n in (value, value - 1, 0)]
    return all(y is not None and fingerprint(y) == fingerprint(ys[0]) for y in ys)
