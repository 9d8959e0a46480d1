"""Calls derived from one: other points, shapes and options, from its operands and signature alone.

Each is one more call of the function that a person would expect its rule to be right for. What the
function itself does not take is left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial
from inspect import Parameter
from typing import Any, NamedTuple

import numpy as np

import chainrules_py.testing.diagnosis as make
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.primitives.signature import REQUIRED
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.values import fingerprint, value_vector
from chainrules_py.testing.diagnosis import (
    is_float_array,
    is_number,
    is_sorted,
    is_whole,
    other_values,
)
from chainrules_py.values.pytree import PLAIN, flatten, map_leaves


class Call(NamedTuple):
    """Call of the same function that is judged besides the one that was given.

    What is wrong there is "wrong only for" what the name says.
    """

    name: str
    operands: tuple[Any, ...]
    options: dict[str, Any]


AT_KINKS = ("all zeros", "two zeros", "ties", "the same object twice", "positive operands")
"""Calls at which a right rule may have any of several derivatives."""

AT_LARGE = ("another point", "negative operands", "another shape: one element fewer")
"""Calls derived of a large one of which there is no smaller one."""


def value_at(case: Case, operands: tuple[Any, ...], f: Any = None, **other: Any) -> Any:
    """Compute the value of another call; None where the function does not take it."""
    try:
        return (f or case.f)(*operands, **{**case.options, **other})
    except Exception:
        return None


# ------------------------------------------------------------------------------ other points


def _is_floating(x: Any) -> bool:
    return is_float_array(x) or is_number(x)


def _leaves(x: Any) -> list[Any]:
    """List the floating numbers and arrays of an operand that people make: not of a library's."""
    plain = isinstance(x, (tuple, list, dict)) or is_dataclass(x)
    return [n for n in (flatten(x)[0] if plain else [x]) if _is_floating(n)]


def _floating(case: Case) -> list[int]:
    return [i for i, x in enumerate(case.operands) if _leaves(x)]


def _changed(
    xs: tuple[Any, ...], change: Callable[[Any], Any], places: Iterable[int]
) -> tuple[Any, ...]:
    chosen = set(places)
    return tuple([_mapped(change, x) if i in chosen else x for i, x in enumerate(xs)])


def _mapped(change: Callable[[Any], Any], x: Any) -> Any:
    one = lambda leaf: _as(leaf, change(np.asarray(leaf))) if _is_floating(leaf) else leaf
    return map_leaves(one, x)


def _as(x: Any, values: Any) -> Any:
    return np.asarray(values, x.dtype) if isinstance(x, np.ndarray) else type(x)(values)


def near_calls(case: Case) -> Iterator[Call]:
    """Other numbers nearby; and in disorder, where they increase."""
    rng = np.random.default_rng(7)
    shaken: Any = lambda x: x * (1.0 + 0.25 * rng.uniform(-1.0, 1.0, x.shape))
    places = _floating(case)
    rising = [i for i in places if is_sorted(case.operands[i])]
    if len(places) != 1 or not rising:
        yield _call(case, "another point", shaken, places)
    if rising:
        name = DISORDER if len(places) == 1 else DISORDER_OF_SEVERAL
        yield _call(case, name, _in_disorder, rising)


def _in_disorder(x: Any) -> Any:
    """Put the last number first, and the second half backwards: an order unlike its inverse."""
    rolled = np.roll(x, 1, axis=-1)
    half = x.shape[-1] // 2 + 1
    return np.concatenate([rolled[..., :half], rolled[..., half:][..., ::-1]], axis=-1)


DISORDER = "another order of the elements"
DISORDER_OF_SEVERAL = "another order of the elements of an operand that increases"
"""Of several operands one may be a grid, which has to: what is wrong there is told, no more."""


def first_calls(case: Case) -> Iterator[Call]:
    """List those that find most mistakes: of other signs, shorter, with one axis more or less."""
    xs, places = case.operands, _floating(case)
    arrays = [i for i in places if is_float_array(xs[i]) and xs[i].ndim]
    one_sign = any(_has_one_sign(x) for i in places for x in _leaves(xs[i]))
    if one_sign and not any(map(is_sorted, xs)):
        yield _call(case, "operands of both signs", make.of_both_signs, places)
    else:
        yield _call(case, "negative operands", partial(make.times, -1.0), places)
    if arrays and all(xs[i].size for i in arrays):
        yield _call(case, "another shape: one element fewer", make.cut(-1), arrays)
        yield _call(case, "a leading axis", lambda x: make.stacked(x, 2), arrays)
    elif numbers := [i for i in places if _is_floating(xs[i]) and np.ndim(xs[i]) == 0]:
        made = tuple(
            [x * np.asarray([1.0, 1.125]) if i in numbers else x for i, x in enumerate(xs)]
        )
        yield Call("an array in place of a number", made, case.options)
    yield from _row_calls(case, arrays)
    yield from _index_calls(case)
    yield from _entry_calls(case)


def _has_one_sign(x: Any) -> bool:
    return not np.iscomplexobj(x) and bool(np.all(np.greater(x, 0)) or np.all(np.less(x, 0)))


def _row_calls(case: Case, arrays: list[int]) -> Iterator[Call]:
    """List vectors in the place of matrices, one at a time: ``matmul`` takes them on both sides."""
    for i in arrays if len(arrays) > 1 else ():
        if case.operands[i].ndim == 2 and case.operands[i].size:
            yield _call(case, f"a vector for argument {i + 1}", _first_line(i), [i])


def _first_line(i: int) -> Callable[[Any], Any]:
    return lambda x: x[:, 0].copy() if i else x[0].copy()


def point_calls(case: Case) -> Iterator[Call]:
    """Other numbers of the same shapes: negated, large and small, rolled, at zeros."""
    places = _floating(case)
    # What iterates may not come there, or not soon.
    if not case.options.keys() & _TOLERANCES and not any(map(callable, case.operands)):
        wide = 30.0, 1000.0, -30.0, -1000.0, 1e-3, 1e-9
        for factor in wide if case.precision < 1e-10 else (30.0, -30.0, 1e-3):
            name = "large operands" if abs(factor) > 1.0 else "small operands"
            if factor > 0.0 or len(places) == 1:
                yield _call(case, name, partial(make.times, factor), places)
    yield from [Call(name, xs, case.options) for name, xs in make.tied(case.operands)]
    yield _call(case, "negative operands", partial(make.times, -1.0), places)
    yield _call(case, "operands of both signs", make.of_both_signs, places)
    yield _call(case, "operands of both signs", partial(make.of_both_signs, first=-1.0), places)
    places = [i for i in places if not is_sorted(case.operands[i])]
    real = [i for i in places if not any(map(np.iscomplexobj, _leaves(case.operands[i])))]
    yield _call(case, "positive operands", np.abs, real)
    yield from _sign_calls(case, real)
    for i in places:
        x = case.operands[i]
        if len(places) > 1:
            yield _call(case, f"another sign of argument {i + 1}", np.negative, [i])
        if is_float_array(x) and x.size > 1:
            roll = lambda x: np.roll(x.reshape(-1), 1).reshape(x.shape)
            yield _call(case, "another order of the elements", roll, [i])
        if is_float_array(x) and x.size > 2:
            yield _call(case, "two zeros", lambda x: make.with_zeros(x, [0, -1]), [i])
        if is_float_array(x) and x.size > 1:
            yield _call(case, "ties", make.with_tie, [i])
            if x.ndim == 1:  # a matrix of equal numbers is singular
                yield _call(case, "ties", lambda x: np.full_like(x, x[0]), [i])
        yield _call(case, "all zeros", np.zeros_like, [i])
    yield _call(case, "all zeros", np.zeros_like, places)


def _sign_calls(case: Case, places: list[int]) -> Iterator[Call]:
    """List all signs of few numbers; which ones the others have is left to the draw."""
    for i in filter(lambda i: _is_floating(case.operands[i]), places):
        size = np.size(case.operands[i])
        for signs in itertools.product((1.0, -1.0), repeat=size) if 1 < size < _FEW else ():
            name = f"signs {' '.join(['+' if s > 0.0 else '-' for s in signs])}"
            yield _call(case, name, make.with_signs(signs), [i])


def _alike(case: Case, *calls: tuple[Any, ...]) -> bool:
    """Tell whether another call gives the numbers of the first, in whatever order."""
    ys = [np.sort(value_vector(value_at(case, operands))) for operands in calls]
    return any(y.shape == ys[0].shape != (0,) and np.allclose(y, ys[0]) for y in ys[1:])


def _call(case: Case, name: str, change: Callable[[Any], Any], places: Iterable[int]) -> Call:
    return Call(name, _changed(case.operands, change, places), case.options)


_TOLERANCES = {"tol", "rtol", "atol", "max_steps", "maxiter"}


# ------------------------------------------------------------------------------ other shapes


def shape_calls(case: Case) -> Iterator[Call]:
    """Other shapes: one axis more, one element fewer and more, one operand more; other indices."""
    xs = case.operands
    arrays = [i for i, x in enumerate(xs) if is_float_array(x) and x.ndim]
    if arrays:
        for what, axis in (("element", -1), ("row", 0)) if all(xs[i].size for i in arrays) else ():
            fewer = _call(case, f"another shape: one {what} fewer", make.cut(axis), arrays)
            yield fewer
            # What takes no shorter ones reads a fixed number of them.
            reads = all(xs[i].shape[axis] > 1 for i in arrays)
            if not reads or value_at(case, fewer.operands) is not None:
                yield _call(case, f"another shape: one {what} more", make.extended(axis), arrays)
        yield from _axis_calls(case, arrays)
        for i in arrays:
            if len(xs) > 1 and xs[i].shape[-1] > 2:
                name = f"another length of argument {i + 1}"
                yield _call(case, name, lambda x: x[..., :-1], [i])
            if xs[i].size:
                number = type(xs[i].reshape(-1)[0].item())(xs[i].reshape(-1)[0])
                operands = (*xs[:i], number, *xs[i + 1 :])
                yield Call(f"a number for argument {i + 1}", operands, case.options)
    for other in make.exchanged(xs):
        yield Call("another shape: arguments exchanged", other, case.options)


def _axis_calls(case: Case, arrays: list[int]) -> Iterator[Call]:
    """List operands with one axis more, of the length of another, and of one of its own.

    Whoever takes one axis for another gets no error where they have one length.
    """
    xs, most = case.operands, _FEW + 1
    lengths = {n for i in arrays for n in xs[i].shape}
    apart = next(n for n in range(2, len(lengths) + 3) if n not in lengths)
    some = xs[arrays[0]].shape
    counts = [apart, *dict.fromkeys(n for n in (some[0], some[-1]) if 1 < n < most)]
    alone = [(f"a leading axis of argument {i + 1}", [i]) for i in arrays[:2] if len(arrays) > 1]
    for name, chosen in (("a leading axis", arrays), *alone):
        for k in counts:
            yield _call(case, name, lambda x, k=k: make.stacked(x, k), chosen)  # type: ignore[misc]
    if len(lengths) > 1 and max(lengths) < most:
        for of in lengths:
            xs = _changed(xs, make.of_lengths(of, max(lengths)), arrays)
        stacks = _changed(xs, lambda x: make.stacked(x, max(lengths)), arrays)
        yield Call("axes of one length, and a leading axis", stacks, case.options)


def _entry_calls(case: Case) -> Iterator[Call]:
    """List more entries of a list, tuple or dictionary, or more operands, of unlike lengths too."""
    xs = case.operands
    fixed = len(getattr(case.f, "operands", ())) if getattr(case.f, "variadic", None) else len(xs)
    places = [(i, x) for i, x in enumerate(xs[:fixed]) if type(x) in PLAIN and len(x)]
    for i, x in (*places, (fixed, xs[fixed:])) if xs[fixed:] else places:
        if not case.inputs.size or not any(map(_is_floating, flatten(x)[0])):
            continue
        for count, axis in itertools.product((len(x) + 1, len(x) + 2), (None, 0, -1)):
            made = make.of_entries(x, count, axis, _mapped)
            given = (*xs[:i], *made) if i == fixed else (*xs[:i], made, *xs[i + 1 :])
            unlike = " of unlike lengths" if axis is not None else ""
            yield Call(f"{count} entries{unlike}", given, case.options)


_FEW, _PAIRS = 4, 12


def row_calls(case: Case, name: str, operands: tuple[Any, ...]) -> Iterator[Call]:
    """List the calls that a call with a leading axis stacks: where one is wrong it is no axis."""
    if name == "a leading axis":
        pairs = zip(operands, case.operands, strict=True)
        stacks = [np.ndim(x) > np.ndim(given) for x, given in pairs]
        for k in range(len(operands[stacks.index(True)])):
            row = [x[k].copy() if s else x for x, s in zip(operands, stacks, strict=True)]
            yield Call("another point", tuple(row), case.options)


def _index_calls(case: Case) -> Iterator[Call]:
    """Other masks and flags; whole numbers that may be indices, repeated, from the end, in turn."""
    xs = case.operands
    lengths = {n for x in xs if is_float_array(x) for n in x.shape}
    for i, x in enumerate(xs):
        for mask in [] if _is_promise(case, i) else make.other_masks(x):
            yield Call("another mask", (*xs[:i], mask, *xs[i + 1 :]), case.options)
        if type(x) is np.ndarray and x.dtype == bool and x.any():
            yield Call("an empty mask", (*xs[:i], np.zeros_like(x), *xs[i + 1 :]), case.options)
        if type(x) is not np.ndarray or x.dtype.kind != "i" or not x.size:
            continue
        orders = make.reordered(xs, i)
        if orders and _alike(case, *orders):
            yield Call("another order of the indices", orders[1], case.options)
        several = np.repeat(x, 2, -1) if x.ndim and x.size == 1 else x
        repeated = np.full_like(several, x.reshape(-1)[0])
        yield Call("a repeated index", (*xs[:i], repeated, *xs[i + 1 :]), case.options)
        yield Call("other indices", (*xs[:i], x + 2, *xs[i + 1 :]), case.options)
        for n, index in itertools.product(lengths, (x, repeated)):
            if -n <= x.min() and x.max() < n:
                calls = [(*xs[:i], other, *xs[i + 1 :]) for other in (index, make.turned(index, n))]
                have, want = (value_vector(value_at(case, call)) for call in calls)
                if np.array_equal(have, want):
                    name = "a negative index" if index is x else "a repeated index"
                    yield Call(name, calls[1], case.options)


# ---------------------------------------------------------------------------- whole numbers


def whole_number_calls(case: Case) -> Iterator[Call]:
    """List floating-point numbers in place of whole ones, the same and others; other whole ones."""
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
            other = *xs[:i], _as(xs[i], n), *xs[i + 1 :]
            yield Call(f"another whole number for argument {i + 1}", other, case.options)


def _numbers(y: Any) -> Any:
    try:
        return np.asarray(y, dtype=complex)
    except (TypeError, ValueError):
        return value_vector(y)


# ---------------------------------------------------------------------------------- options

_KNOWN = ("axis", "keepdims")
_PROMISES = ("_", "assume", "symmetric", "hermitian", "overwrite", "check", "unique", "sorted")
"""How options are called that say of the operands what only who calls can know."""


def _is_promise(case: Case, i: int) -> bool:
    names = getattr(case.f, "operands", ())
    return isinstance(case.operands[i], bool) and str(names[i : i + 1])[2:].startswith(_PROMISES)


def option_calls(case: Case) -> Iterator[Call]:
    """Other values of the options, by the type of their default and by their annotation.

    Each by itself, and the first of them two by two.
    """
    taken: dict[str, list[tuple[str, Any]]] = {}
    declared = _declared(case)
    for name, default in declared.items():
        if name.startswith(_PROMISES):
            continue
        given = case.options.get(name, default)
        values = other_values(case.f, name, given, declared)
        others = [0, 1] if name == "axis" and given is None else [*values, *_default(default)]
        for value in others:
            if type(value) is int and value < 0 and _is_count(case, name, value):
                continue
            options = {**case.options, name: value}
            if not _is_another(case, value_at(case, case.operands, None, **options), given, value):
                continue
            taken.setdefault(name, []).append((name, value))
            if name not in _KNOWN:
                yield Call(f"{name}={_shown(value, given)}", case.operands, options)
        for value, meant in make.spelled(given):
            kinds = [{**case.options, name: other} for other in (value, meant)]
            ys = [value_at(case, case.operands, None, **options) for options in kinds]
            if ys[0] is not None and fingerprint(ys[0]) == fingerprint(ys[1]):
                yield Call(f"{name} spelled {value!r}", case.operands, kinds[0])
    arrays = [i for i, x in enumerate(case.operands) if is_float_array(x)]
    for name, axes in make.turned_axes({**_declared(case), **case.options}, case.operands):
        several = _changed(case.operands, lambda x: make.stacked(x, 2), arrays)
        operands = several if len(axes) > np.ndim(case.operands[0]) else case.operands
        yield Call(f"{name}={axes!r}", operands, {**case.options, name: axes})
    if "axis" in declared and np.ndim(case.operands[0] if case.operands else 0) == 1:
        several = _changed(case.operands, lambda x: make.stacked(x, 2), arrays)
        for axis in (0, 1):
            name = f"axis={axis} with a leading axis"
            yield Call(name, several, {**case.options, "axis": axis})
    yield from _held_calls(case, declared)
    few = [values[:2] for values in taken.values()]
    pairs = [p for a, b in itertools.combinations(few, 2) for p in itertools.product(a, b)]
    for pair in pairs[:_PAIRS]:
        text = ", ".join([f"{name}={_shown(value)}" for name, value in pair])
        yield Call(text, case.operands, {**case.options, **dict(pair)})


def _held_calls(case: Case, known: Iterable[str]) -> Iterator[Call]:
    """List other values of operands without a derivative: texts, members, None, slices, places."""
    xs, names = case.operands, case.operand_names()
    defaults = getattr(getattr(case.f, "signature", None), "parameters", {})
    for i, (name, given) in enumerate(zip(names, xs, strict=True)):
        default = getattr(defaults.get(name), "default", Parameter.empty)
        if case.parts[i].size or type(given) in (bool, int):
            continue
        values = _of_places(given) + other_values(case.f, name, given, known)
        for value in [*values, *_default(default)]:
            other = (*xs[:i], value, *xs[i + 1 :])
            if _is_another(case, value_at(case, other), given, value):
                yield Call(f"{name}={_shown(value, given)}", other, case.options)


def _default(default: Any) -> list[Any]:
    return [] if default is REQUIRED or default is Parameter.empty else [default]


def _of_places(given: Any) -> list[Any]:
    """List tuples with another slice in the place of one."""
    entries = list(enumerate(given if type(given) is tuple else ()))
    slices = [(k, x) for k, x in entries if type(x) is slice]
    return [(*given[:k], y, *given[k + 1 :]) for k, x in slices for y in make.slices_beside(x)]


def _is_another(case: Case, y: Any, given: Any, value: Any) -> bool:
    """Tell whether a function takes a value; one of another type only if it makes a difference."""
    if y is None or value is given or (type(value) is type(given) and repr(value) == repr(given)):
        return False
    return type(value) is type(given) or given is not None or fingerprint(y) != fingerprint(case.y)


def _shown(value: Any, given: Any = ()) -> str:
    shown = "an array" if isinstance(value, np.ndarray) else repr(value)
    return f"{shown} for None" if given is None else shown


def _declared(case: Case) -> Mapping[str, Any]:
    return case.f.options if isinstance(case.f, Primitive) else case.options


def _is_count(case: Case, name: str, value: int) -> bool:
    """Tell whether a function takes a negative number for none, as a count of steps."""
    values = []
    for n in (value, value - 1, 0):
        try:
            values.append(fingerprint(case.f(*case.operands, **{**case.options, name: n})))
        except Exception:
            return False
    return bool(values[0] == values[1] == values[2])
