"""What people call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py import NoTangent, NotDifferentiableError, ProjectionError, Tangent, ZeroTangent
from chainrules_py.calling import check_cotangent, own
from chainrules_py.errors import describe
from chainrules_py.project import Space, kind_of, project, space, zero_tangent
from chainrules_py.structure import fields_of, is_structure_type, rebuild
from chainrules_py.tangents import canonicalize, deliver, is_zero, unthunk
from chainrules_tape.backward import Bars, backward
from chainrules_tape.config import config
from chainrules_tape.forward import dual, open_dual
from chainrules_tape.seeds import check_scalar, lower, one
from chainrules_tape.tape import Tape
from chainrules_tape.tracing import new_level
from chainrules_tape.variables import Variable

__all__ = ["grad", "jvp", "value_and_grad", "vjp"]

PLAIN = (tuple, list, dict)


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of a function and its pullback.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers, and structures of them.
    *primals
        Where to differentiate it.

    Returns
    -------
    y
        ``f(*primals)``.
    pullback : callable
        ``pullback(y_bar)`` is a tuple with one cotangent per primal; it can be called any number
        of times. Dense zeros where nothing flows, `NoTangent()` for what cannot be perturbed; a
        tuple, list or dict for one, `Tangent[P]` for other structures.

    Examples
    --------
    >>> y, pullback = vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> y, pullback(1.0)
    (6.0, (3.0, 2.0))
    """
    tape = Tape()
    traced = [_lift(x, tape) for x in primals]
    y_traced = f(*traced)
    tape.close()
    starts: list[tuple[tuple[Any, ...], int]] = []
    y = lower(y_traced, tape, (), starts)

    def pullback(y_bar: Any) -> tuple[Any, ...]:
        y_bar = check_cotangent(y, y_bar)
        bars = Bars(tape)
        first = -1
        for path, index in starts:
            bar = y_bar
            for key in path:
                bar = bar if is_zero(bar) else bar[key]
            if is_zero(bar):
                continue
            bars.add(index, bar)
            first = max(first, index)
        backward(tape, bars, first)
        theirs = (y_bar, y, *primals)
        given: set[int] = set()
        return tuple(
            [_gather(x, t, bars, theirs, given) for x, t in zip(primals, traced, strict=True)]
        )

    return y, pullback


def _lift(x: Any, tape: Tape) -> Any:
    """A primal with its leaves on the tape."""
    cls = type(x)
    if is_structure_type(cls):
        return rebuild(x, [_lift(field, tape) for _, field in fields_of(x)])
    return tape.leaf(x) if kind_of(x) in ("real", "complex", "int") else x


def _gather(x: Any, traced: Any, bars: list[Any], theirs: tuple[Any, ...], given: set[int]) -> Any:
    """The cotangent of a primal, as a person gets it; no array of those ``given`` before."""
    cls = type(x)
    if is_structure_type(cls):
        fields = [
            (key, _gather(field, t, bars, theirs, given))
            for (key, field), (_, t) in zip(fields_of(x), fields_of(traced), strict=True)
        ]
        if cls in PLAIN:
            return rebuild(x, [bar for _, bar in fields])
        return Tangent.of(cls, dict(fields))
    if not isinstance(traced, Variable):
        return NoTangent()
    bar = bars[traced.index]
    bar = deliver(unthunk(bar)) if bar is not None else ZeroTangent()
    if is_zero(bar):
        return zero_tangent(x)
    mine = own(bar, (*theirs, bar) if id(bar) in given else theirs)
    given.add(id(mine))
    return mine


def jvp(
    f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Any, Any]:
    """The value of a function and its derivative in a direction.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers, and structures of them.
    primals : tuple
        Where to differentiate it.
    tangents : tuple
        The direction: one tangent per primal, ``ZeroTangent()`` for one that is held fixed.

    Returns
    -------
    y, y_dot
        The value and its tangent; a dense zero where nothing flows.

    Raises
    ------
    ProjectionError
        If a tangent does not belong to its primal.

    Examples
    --------
    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    if len(primals) != len(tangents):
        msg = f"jvp takes one tangent for each of {len(primals)} primals, got {len(tangents)}"
        raise ProjectionError(msg)
    level = new_level()
    entered = []
    for x, t in zip(primals, tangents, strict=True):
        t = unthunk(canonicalize(x, t))
        if not is_zero(t):
            of = space(x)
            if is_zero(of):
                msg = (
                    f"{describe(x)} cannot be perturbed, "
                    f"and a tangent {describe(t)} was given for it"
                )
                raise ProjectionError(msg)
            if type(of) is not Space or of.kind != "int":
                t = project(t, of)
        entered.append(dual(x, t, level))
    y, y_dot = open_dual(f(*entered), level)
    if is_zero(y_dot):
        return y, _plain(y, zero_tangent(y))
    return y, _plain(y, own(deliver(y_dot), (*primals, *tangents, y)))


def _plain(y: Any, t: Any) -> Any:
    """Tangents of tuples, lists and dicts in the same container, with zeros filled in."""
    cls = type(y)
    if not is_structure_type(cls):
        return zero_tangent(y) if is_zero(t) and not is_zero(space(y)) else t
    fields = {key: _plain(field, t if is_zero(t) else t[key]) for key, field in fields_of(y)}
    return rebuild(y, list(fields.values())) if cls in PLAIN else Tangent.of(cls, fields)


def value_and_grad(
    f: Callable[..., Any], argnums: int | tuple[int, ...] = 0
) -> Callable[..., tuple[Any, Any]]:
    """A function that gives the value of f together with its gradient; see `grad`.

    Examples
    --------
    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """

    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def value_and_gradient(*operands: Any, **keywords: Any) -> tuple[Any, Any]:
        chosen = (argnums,) if isinstance(argnums, int) else argnums
        places = [_place(n, len(operands)) for n in chosen]

        def of_chosen(*xs: Any) -> Any:
            full = list(operands)
            for place, x in zip(places, xs, strict=True):
                full[place] = x
            return f(*full, **keywords)

        y, pullback = vjp(of_chosen, *[operands[p] for p in places])
        check_scalar(y)
        bars = pullback(one(y))
        return y, bars[0] if isinstance(argnums, int) else bars

    return value_and_gradient


def _place(n: int, count: int) -> int:
    if not -count <= n < count:
        msg = f"argnums names argument {n}, and there are {count}"
        raise NotDifferentiableError(msg)
    return n % count


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The gradient of a function with one real number for a result.

    Parameters
    ----------
    f : callable
        A function of arrays, numbers, and structures of them.
    argnums : int or tuple of int
        The arguments to differentiate in; with a tuple, the gradient is a tuple.

    Returns
    -------
    callable
        Takes what f takes. Its result has the structure of the argument: dense zeros where nothing
        flows, `NoTangent()` for what cannot be perturbed, `Tangent[P]` for a dataclass.

    Raises
    ------
    NotDifferentiableError
        When called, if the result is not one real, floating-point number.

    Examples
    --------
    >>> grad(lambda x: x * x * x)(2.0)
    12.0
    >>> grad(lambda x: x * grad(lambda y: x * y * y)(x))(3.0)
    54.0
    """
    both = value_and_grad(f, argnums)

    @functools.wraps(f, assigned=("__name__", "__doc__"), updated=())
    def gradient(*operands: Any, **keywords: Any) -> Any:
        return both(*operands, **keywords)[1]

    return gradient


config.vjp, config.jvp = vjp, jvp  # what rules call back into
