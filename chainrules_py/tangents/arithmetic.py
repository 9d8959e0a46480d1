"""Arithmetic of tangents: sums, multiples, and steps along one.

These are *functions* that check the classes of their operands first. The operators of the classes
call them and exist for users. Engines never write ``a + b`` where either may be one of these
classes: strict arrays and ``array += ...`` raise, and the ``__add__`` of a user-defined class comes
first.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from chainrules_py.errors import NotDifferentiableError, ProjectionError, describe
from chainrules_py.tangents.checks import (
    check_is_tangent,
    check_keys,
    check_shape,
    is_constant,
    is_number_or_array,
    not_a_tangent_of,
    shape_of,
    taken,
)
from chainrules_py.tangents.custom_space import own_space
from chainrules_py.tangents.structural import (
    Tangent,
    check_fits,
    class_for,
    common_length,
    map_fields,
)
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.zeros import (
    NONE,
    ZERO,
    AbstractTangent,
    AbstractZero,
    Algebra,
    NoTangent,
    NotImplementedTangent,
    Summand,
    missing,
)
from chainrules_py.values.array_conversion import as_array
from chainrules_py.values.caches import forgets
from chainrules_py.values.object_contents import holds_numbers
from chainrules_py.values.pytree import PLAIN
from chainrules_py.values.structure import (
    fields_of,
    is_structure_type,
    primal_class,
    rebuild,
    structure_of,
)
from chainrules_py.values.type_info import type_info

Owned: TypeAlias = bool | dict[Any, Any]
"""Which parts of a sum the engine owns: all (True), none (False), or by key."""


def add_tangents(a: Any, b: Any) -> Any:
    """Return the sum of two tangents of one primal, without writing to either.

    Parameters
    ----------
    a, b : tangents
        Arrays, numbers, or instances of the classes of tangents.

    Returns
    -------
    tangent
        If one is zero, the other one, without a copy or computing a thunk; ``NoTangent()`` only if
        both are zeros. A `Tangent` is added field by field. If one is a `NotImplementedTangent`,
        the first of these.

    Raises
    ------
    ProjectionError
        If the two cannot belong to one primal, or one is not a tangent. Shapes of arrays are
        compared by the library that adds them.

    Examples
    --------
    >>> from chainrules_py import NoTangent, Tangent, ZeroTangent
    >>> add_tangents(Tangent[tuple](1.0), Tangent[tuple](2.0, 3.0))
    Tangent[tuple](3.0, 3.0)
    >>> add_tangents(NoTangent(), ZeroTangent())
    NoTangent()
    """
    if type(a) in _plain_types and type(b) in _plain_types:
        return a + b
    _check_plain(a)
    _check_plain(b)
    if (unknown := missing((a, b))) is not None:
        return unknown
    if isinstance(a, AbstractZero):
        return a if isinstance(a, NoTangent) and isinstance(b, AbstractZero) else b
    if isinstance(b, AbstractZero):
        return a
    if isinstance(a, Thunk) or isinstance(b, Thunk):
        return add_tangents(unthunk(a), unthunk(b))
    if isinstance(a, Summand):
        return a.plus(b) if isinstance(b, Summand) else a.added_to(b)
    if isinstance(b, Summand):
        return b.added_to(a)
    if not (isinstance(a, Tangent) or isinstance(b, Tangent)):
        return a + b
    length, entries = common_length(a, b), dict(a._entries)
    for key, value in b._entries.items():
        entries[key] = _add_entries(entries[key], value) if key in entries else value
    return a._of(entries, length)


# Users get the entries of a gradient that belong to a list, tuple or dict as the same container.


def _add_entries(a: Any, b: Any) -> Any:
    """Add entries of two `Tangent`s, field by field in plain containers."""
    if type(a) is type(b) and type(a) in PLAIN:
        given = dict(fields_of(b))
        if given.keys() == dict(fields_of(a)).keys():
            return rebuild(a, [_add_entries(x, given[key]) for key, x in fields_of(a)])
    return add_tangents(a, b)


def _each(f: Callable[[Any], Any], t: Any) -> Any:
    """Call a function on an entry of a `Tangent`, field by field in a plain container."""
    return rebuild(t, [_each(f, x) for _, x in fields_of(t)]) if type(t) in PLAIN else f(t)


def scale(t: Any, c: Any) -> Any:
    """Return a tangent times a number, without writing to either.

    Parameters
    ----------
    t : tangent
    c : number or 0-d array
        A zero times anything is a zero; the product of two zeros is ``ZeroTangent()`` unless both
        are ``NoTangent()``.

    Examples
    --------
    >>> from chainrules_py import Tangent, ZeroTangent
    >>> scale(Tangent[list](1.0, ZeroTangent()), 3)
    Tangent[list](3.0, ZeroTangent())
    """
    return _multiple(operator.mul, t, c)


def _divide(t: Any, c: Any) -> Any:
    """Return ``t / c``: not ``t * (1 / c)``, which rounds twice."""
    if isinstance(c, AbstractTangent):
        raise TypeError(
            f"cannot divide {describe(t)} by {describe(c)}: a tangent is never a divisor"
        )
    return _multiple(operator.truediv, t, c)


def _multiple(by: Callable[[Any, Any], Any], t: Any, c: Any) -> Any:
    """Return a tangent multiplied or divided by a number, entry by entry for a structure."""
    _check_plain(t)
    _check_plain(c)
    if zeros := [x for x in (t, c) if isinstance(x, AbstractZero)]:
        return zeros[0] if len({*zeros}) == 1 else ZERO
    if (unknown := missing((t, c))) is not None:
        return unknown
    if isinstance(t, Thunk) or isinstance(c, Thunk):
        return _multiple(by, unthunk(t), unthunk(c))
    if isinstance(c, AbstractTangent) and not isinstance(t, Summand):
        t, c = c, t
    if isinstance(t, Summand) and by is operator.truediv:
        return t.times(1 / c)
    if isinstance(t, Summand):
        return t.times(c)
    if not isinstance(t, Tangent):
        return by(t, c)
    _check_factor(t, c)
    return map_fields(lambda entry: _each(lambda x: _multiple(by, x, c), entry), t)


def move(primal: Any, t: Any) -> Any:
    """Return the primal moved along a tangent: ``primal + t``, in the structure of the primal.

    Parameters
    ----------
    primal : array, number, or structure
    t : tangent
        For a structure also a plain container of the same shape, see `canonicalize`.

    Returns
    -------
    same type as primal
        The primal itself if the tangent is zero. A structure is rebuilt, and shares with the primal
        the fields whose tangent is zero.

    Raises
    ------
    ProjectionError
        If the tangent does not fit: structure, field names, length, or shape.
    NotDifferentiableError
        If the tangent is a `NotImplementedTangent`.

    Examples
    --------
    >>> move({"w": 1.0, "b": 2.0}, Tangent[dict]({"w": 0.5}))
    {'w': 1.5, 'b': 2.0}
    """
    t = unthunk(t)
    if isinstance(t, AbstractZero):
        return primal
    if isinstance(t, NotImplementedTangent):
        raise NotDifferentiableError(t.said)
    if isinstance(primal, AbstractTangent):
        return add_tangents(primal, t)
    if is_structure_type(type(primal)):
        if not isinstance(t, Tangent):
            t = canonicalize(primal, t)
        items = fields_of(primal)
        check_fits(primal, items, t)
        return rebuild(primal, [move(value, t._entries.get(key, ZERO)) for key, value in items])
    _check_leaf(primal, t)
    check_shape(primal, t)
    return t.added_to(primal) if isinstance(t, Summand) else primal + t


def canonicalize(primal: Any, t: Any) -> Any:
    """Return a tangent in the form that engines expect: `Tangent[P]` for each structure.

    Only the structure is checked; `project` handles shape, dtype and device. A table is replaced by
    the array of its numbers, just as an operand is.

    Parameters
    ----------
    primal : array, number, or structure
    t : tangent
        Or, for a structure, a plain container of the same shape: an instance of the same class, or
        the plain tuple, list or dict that the class derives from. In a container, a value that
        cannot be perturbed (None, string, flag, function) may be its own tangent and becomes
        ``NoTangent()``.

    Raises
    ------
    ProjectionError
        If the structures differ, or if a tangent is None.

    Examples
    --------
    >>> canonicalize({"w": (1.0, 2.0), "b": 3.0}, {"w": (10.0, 20.0), "b": 0.0})
    Tangent[dict]({'w': Tangent[tuple](10.0, 20.0), 'b': 0.0})
    >>> canonicalize((1.0, 2.0), [1.0, 2.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    chainrules_py.errors.ProjectionError: [float, float] is not a tangent of (float, float); ...
    """
    t = unthunk(t)
    if isinstance(t, (AbstractZero, NotImplementedTangent)):
        return t
    structure = structure_of(type(primal))
    if structure is None:
        if type(t) not in taken:
            t = as_array(t)
        _check_leaf(primal, t)
        return t
    items = structure.items(primal)
    if not isinstance(t, Tangent):
        t = own_space(primal_class(type(primal))).take(t)
    if isinstance(t, Tangent):
        check_fits(primal, items, t)
        given, canonical = t._entries, canonicalize
    else:
        given, canonical = _plain_entries(primal, items, t), _canonicalize_mirrored
    entries = {key: canonical(value, given[key]) for key, value in items if key in given}
    length = len(items) if structure.kind == "positions" else None
    return class_for(type(primal))._of(entries, length)


def _canonicalize_mirrored(primal: Any, t: Any) -> Any:
    """Canonicalise an entry of a plain container, where a constant may be its own tangent."""
    if is_constant(primal) and type(t) is type(primal):
        return NONE
    if t is primal and not is_number_or_array(primal) and not is_structure_type(type(primal)):
        if holds_numbers(primal):
            raise ProjectionError(
                f"{describe(t)} stands for its own tangent, and holds numbers that no derivative "
                f"is known in: write NoTangent() where it is held fixed, or register_structure "
                f"the class"
            )
        return NONE
    return canonicalize(primal, t)


def _plain_entries(primal: Any, items: list[tuple[Any, Any]], t: Any) -> dict[Any, Any]:
    """Return the entries of a plain container that mirrors a primal, by the keys of the primal."""
    check_is_tangent(t)
    same = type(t) is type(primal)
    if not same and not (type(t) in PLAIN and isinstance(primal, type(t))):
        raise ProjectionError(not_a_tangent_of(primal, t))
    given = fields_of(t)
    if isinstance(t, (tuple, list)):
        if len(given) != len(items):
            raise ProjectionError(not_a_tangent_of(primal, t))
        return {key: value for (key, _), (_, value) in zip(items, given, strict=True)}
    entries = dict(given)
    check_keys(type(primal), entries, dict(items))
    if missing := [
        key
        for key, x in items
        if key not in entries
        and (
            is_structure_type(type(x))
            or holds_numbers(x)
            or (is_number_or_array(x) and "int" in str(getattr(x, "dtype", type(x).__name__)))
        )  # as in gradients, which have no key for texts, flags, dates and classes
    ]:
        raise ProjectionError(
            f"{describe(t)} is not a tangent of {describe(primal)}: {missing[0]!r} is missing; "
            f"write ZeroTangent() where nothing flows, or Tangent[{type(primal).__name__}](...)"
        )
    return entries


def accumulate(total: Any, t: Any, owned: Owned) -> tuple[Any, Owned]:
    """Add a cotangent to a running total, in place if the engine owns the total.

    The first addition allocates, later ones add in place. The results of rules are never written
    to, so that rules may return cotangents, views and broadcasts.

    Parameters
    ----------
    total : tangent
        The sum so far; initially ``ZeroTangent()``.
    t : tangent
        The tangent to add. It is never written to, but the new total may be this object.
    owned : bool or dict
        The value that the last call returned for this total; initially False. For a `Tangent` it
        holds by key whether an entry is an owned sum. Treat it as opaque.

    Returns
    -------
    total : tangent
        The new total; do not use the old one any more.
    owned : bool or dict
        To be passed to the next call.

    Examples
    --------
    >>> from chainrules_py import ZeroTangent
    >>> from chainrules_py.extend import Thunk
    >>> total, owned = ZeroTangent(), False
    >>> for t in (1.0, ZeroTangent(), Thunk(lambda: 2.0)):
    ...     total, owned = accumulate(total, t, owned)
    >>> total
    3.0
    """
    if type(total) in _plain_types and type(t) in _plain_types:
        if owned is True and type(t) is type(total):
            test = type_info(type(total)).library.mutable
            same = test is not None and total.shape == t.shape and total.dtype == t.dtype
            # Otherwise the sum would broadcast or promote, which an in-place sum does not.
            if same and test(total):  # type: ignore[misc]  # not None here
                total += t  # an array that adds in place returns itself
                return total, True
        return total + t, True
    if total is ZERO and type(t) in _plain_types:
        return t, False
    _check_plain(total)
    _check_plain(t)
    if isinstance(t, AbstractZero) and not isinstance(total, AbstractZero):
        return total, owned
    if not isinstance(total, AbstractZero) and missing((total, t)) is None:
        if not (isinstance(total, AbstractTangent) or isinstance(t, AbstractTangent)):
            return accumulate(total, t, owned)  # classes seen for the first time are plain now
        if isinstance(total, Thunk) or isinstance(t, Thunk):
            return accumulate(unthunk(total), unthunk(t), owned)
        if isinstance(total, Tangent) and isinstance(t, Tangent):
            return _accumulate_fields(total, t, owned)
    return add_tangents(total, t), False


def _accumulate_fields(total: Any, t: Any, owned: Owned) -> tuple[Any, Owned]:
    """Add the entries of a `Tangent`, in time proportional to those of ``t`` once owned.

    Reading the n items of a list one by one gives n tangents of one entry each; their sum takes
    time proportional to n.
    """
    length = common_length(total, t)
    if isinstance(owned, dict):
        total._length = length
    else:
        total, owned = total._of(dict(total._entries), length), {}
    entries = total._entries
    for key, value in t._entries.items():
        if key in entries:
            entries[key], owned[key] = accumulate(entries[key], value, owned.get(key, False))
        else:
            entries[key] = value
    return total, owned


def _check_plain(t: Any) -> None:
    """Raise for structures, which ``+`` would concatenate or move, and for non-tangents."""
    if type(t) in _plain_types or isinstance(t, AbstractTangent):
        return
    if is_structure_type(type(t)):
        raise ProjectionError(
            f"{describe(t)} is a structure, and its tangent a Tangent[{type(t).__qualname__}]; "
            f"write Tangent[{type(t).__qualname__}](...), and x + t for a step from x along t"
        )
    check_is_tangent(t)
    _plain_types.add(type(t))


_plain_types: set[type] = set()
"""Classes of arrays and numbers that have passed `_check_plain` once."""
forgets(lambda: (_plain_types,))


def _check_leaf(primal: object, t: object) -> None:
    check_is_tangent(t)
    if isinstance(t, Tangent) or is_structure_type(type(t)):
        raise ProjectionError(not_a_tangent_of(primal, t))
    if is_constant(primal):
        raise ProjectionError(
            f"{describe(primal)} cannot be perturbed: its tangent is NoTangent(), not {describe(t)}"
        )


def _check_factor(t: Tangent[Any], c: object) -> None:
    if isinstance(c, Tangent) or shape_of(c) not in (None, ()):
        raise ProjectionError(
            f"{describe(t)} is scaled by numbers, not by {describe(c)}; write c * t for a number c"
        )


Algebra.add, Algebra.scale, Algebra.move = add_tangents, scale, move
Algebra.divide = _divide
