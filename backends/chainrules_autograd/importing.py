"""Rules from functions that autograd differentiates: as oracles, or where nobody has stated one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final

import autograd.numpy
import numpy as np
from autograd.tracer import isbox

from chainrules_autograd.boxes import boxed
from chainrules_autograd.config import as_tuple, make_jvp, make_vjp
from chainrules_bridge import refuse_traced_captures
from chainrules_compat.import_rule import (
    check_flat,
    declared,
    parameters_of_imported,
    state_imported,
    without_rule,
)
from chainrules_py import NoTangent, Primitive, ZeroTangent, is_zero, zero_tangent
from chainrules_py.extend import (
    canonicalize,
    flatten,
    flatten_tangent,
    kind_of,
    name_of,
    namespace,
    partition,
    type_info,
    unflatten,
    unflatten_tangent,
    varies,
)

anp: Any = autograd.numpy

Function = Callable[..., Any]


def import_rule(
    f: Function, /, *, operands: int | None = None, to: Function | None = None
) -> Primitive[..., Any]:
    """Make a primitive that autograd differentiates, for every engine and array library.

    Parameters
    ----------
    f : callable
        A function written in ``autograd.numpy``, of arrays and numbers.
    operands : int, optional
        How many of its parameters are operands, by position; by default those without a default.
        The others are options, by name.
    to : callable, optional
        A primitive that nobody has stated a rule for: it gets this one, as a last resort.

    Returns
    -------
    Primitive
        It takes arrays of any library, and gives arrays of the same; without a copy where the two
        can share memory. With ``to``, that primitive.

    Raises
    ------
    RuleError
        If ``to`` has a rule: that one is not to be replaced in silence. If the parameters of f
        cannot be read.

    Notes
    -----
    The statement is marked with where f is defined, and is of the layer of engines: every rule of
    a backend, a third party or the user comes first. Derivatives of derivatives are functions of
    autograd's as well.

    Examples
    --------
    >>> import autograd.numpy
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> def softplus(x):
    ...     return anp.logaddexp(0.0, x)
    >>> imported = import_rule(softplus)
    >>> print(grad(lambda x: imported(x).sum())(np.zeros(2)))
    [0.5 0.5]
    """
    names, options = parameters_of_imported(f, operands)
    made = _Imported(f, len(names))
    primal = declared(f, names, options, made.value) if to is None else without_rule(to, f)
    frule, rrule = functools.partial(made.frule, primal), functools.partial(made.rrule, primal)
    state_imported(primal, f, frule, rrule, module=__name__, engine="autograd")
    return primal


@final
class _Imported:
    """A function of autograd's as others call it.

    Its push and its pull are functions of autograd's as well, imported in the same way: so each
    order has the next one, and every engine sees them being called.
    """

    def __init__(self, f: Function, operands: int) -> None:
        self.f = f
        self.n = operands
        self._halves: dict[Any, Primitive[..., Any]] = {}

    def value(self, xs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Compute the value, in arrays of the library that was given."""
        if any(map(isbox, xs)):
            return self.f(*xs, **options)
        like = next((x for x in xs if type_info(type(x)).is_array), None)
        try:
            y = self.f(*map(_entered, xs), **options)
        except Exception:  # of what NumPy does not compute with
            refuse_traced_captures(self.f, varies)
            raise
        return y if like is None or _is_numpy(like) else _left(y, like)

    def frule(
        self, g: Primitive[..., Any], tangents: tuple[Any, ...], *xs: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Value and tangent."""
        check_flat(self.f, xs)
        y = g(*xs, **options)
        places = tuple([i for i, t in enumerate(tangents) if not is_zero(t)])
        if not places:
            return y, ZeroTangent()
        leaves, layout = partition(y, _moves)
        push = self._half("push", places, len(places), options)
        dots = push(*xs, *[tangents[i] for i in places])
        return y, unflatten_tangent(layout, [dots[i] for i in range(len(leaves))])

    def rrule(
        self, g: Primitive[..., Any], *xs: Any, **options: Any
    ) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """Value and pullback, which runs the function once more."""
        check_flat(self.f, xs)
        y = g(*xs, **options)
        places = tuple([i for i, x in enumerate(xs) if _moves(x)])
        leaves, layout = partition(y, _moves)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            parts = flatten_tangent(layout, canonicalize(y, y_bar))
            given = [
                zero_tangent(x) if is_zero(t) else t for t, x in zip(parts, leaves, strict=True)
            ]
            found = self._half("pull", places, len(given), options)(*xs, *given)
            bars = {place: found[n] for n, place in enumerate(places)}
            return tuple([bars.get(i, NoTangent()) for i in range(self.n)])

        return y, pullback

    def _half(
        self, name: str, places: tuple[int, ...], count: int, options: dict[str, Any]
    ) -> Primitive[..., Any]:
        """Return the push or pull in operands `places`, of all operands and `count` tangents."""
        key = (name, places, count, *options.items())
        if key in self._halves:
            return self._halves[key]

        f, width = self.f, self.n

        def half(*given: Any) -> Any:
            xs, ts = given[:width], given[width:]

            def along(moved: Any) -> Any:
                whole = list(xs)
                for n, i in enumerate(places):
                    whole[i] = moved[n]
                return as_tuple(tuple(_leaves(f(*whole, **options))))

            varied = as_tuple(tuple([xs[i] for i in places]))
            if name == "push":
                try:
                    return make_jvp(along, varied)(as_tuple(ts))[1]
                except (
                    NotImplementedError
                ):  # autograd has reverse mode of it, whose transpose it is
                    pull, ys = make_vjp(along, varied)
                    still = as_tuple(tuple([anp.zeros_like(y) for y in ys]))
                    return make_vjp(pull, still)[0](as_tuple(ts))
            # autograd's cotangents are the conjugates of the adjoint's.
            found = make_vjp(along, varied)[0](as_tuple(tuple(map(_conjugate, ts))))
            return as_tuple(tuple([_conjugate(found[i]) for i in range(len(places))]))

        half.__name__ = f"{name}_of_{name_of(self.f)}"
        made = self._halves[key] = import_rule(half, operands=self.n + count)
        return made


def _moves(x: Any) -> bool:
    return kind_of(x) in ("real", "complex")


def _leaves(y: Any) -> list[Any]:
    """Return the arrays and numbers in a result of autograd's."""
    return [leaf for leaf in flatten(boxed(y))[0] if _moves(leaf)]


def _conjugate(t: Any) -> Any:
    return anp.conj(t) if anp.iscomplexobj(t) else t


def _is_numpy(x: Any) -> bool:
    return namespace(x) is np


def _entered(x: Any) -> Any:
    """Convert an array of another library to NumPy's, sharing memory where that is possible."""
    if not type_info(type(x)).is_array or _is_numpy(x):
        return x
    return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)


def _left(y: Any, like: Any) -> Any:
    """Convert a result to arrays of the library that was given."""
    leaves, layout = partition(y, _moves)
    xp = namespace(like)
    return unflatten(layout, [xp.asarray(np.asarray(leaf)) for leaf in leaves])
