"""autograd's own differentiation, as rules and solvers see it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import autograd.builtins
import autograd.core

from chainrules_autograd.boxes import boxed
from chainrules_py import Config, ForwardMode, ReverseMode
from chainrules_py.project import Space, kind_of, space
from chainrules_py.recipes.leaves import assembled, canonical, dense, densely, flat, leaf_spaces
from chainrules_py.structure import TreeDef, flatten, unflatten
from chainrules_py.tangents import ZeroTangent, is_zero
from chainrules_py.vocabulary import conj

__all__ = [
    "AutogradConfig",
    "as_tuple",
    "config",
    "conjugated",
    "make_jvp",
    "make_vjp",
    "moves",
]


# autograd has no types, and what it is inferred to give is not what it gives.
as_tuple: Any = autograd.builtins.tuple
make_vjp: Any = autograd.core.make_vjp
make_jvp: Any = autograd.core.make_jvp


def moves(x: Any) -> bool:
    """Whether autograd takes derivatives in a value: a floating-point array or number."""
    return kind_of(boxed(x)) in ("real", "complex")


def conjugated(t: Any) -> Any:
    """The conjugate, if that is another: autograd's cotangents are those of our adjoints."""
    t = boxed(t)  # what autograd made itself is a box of its own, of which nobody knows the kind
    return conj(t) if kind_of(t) == "complex" else t


class AutogradConfig(Config):
    """What autograd can do for a rule: differentiate functions that it was given, in both modes."""

    capabilities = frozenset((ReverseMode, ForwardMode))

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Value and pullback, by ``make_vjp``."""
        call = _Opened(f, operands, options)
        with _quiet():
            pull, found = make_vjp(call, tuple(call.moved))
        y = call.closed(found)
        onto = space(y)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            entries = zip(flat(canonical(y_bar, onto, f), onto), leaf_spaces([onto]), strict=True)
            bars = [of.zeros() if is_zero(bar) else bar for bar, of in entries if _moves(of)]
            given = pull(as_tuple(tuple(map(conjugated, bars)))) if bars else None
            return call.tangents(given)

        return y, pullback

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Value and tangent, by ``make_jvp``."""
        call = _Opened(f, operands, options)
        onto = [space(x) for x in operands]
        dots = []
        for t, of in zip(tangents, onto, strict=True):
            entries = zip(flat(canonical(t, of, f), of), leaf_spaces([of]), strict=True)
            dots += [of.zeros() if is_zero(t) else t for t, of in entries if _moves(of)]
        with _quiet():
            found, found_dot = make_jvp(call, tuple(call.moved))(as_tuple(tuple(dots)))
        y = call.closed(found)
        rest = iter([boxed(found_dot[i]) for i in range(call.count)])
        spaces = leaf_spaces([space(y)])
        parts = [next(rest) if _moves(of) else ZeroTangent() for of in spaces]
        return y, dense(assembled(space(y), iter(parts)), space(y))

    def vjp(self, f: Callable[..., Any], /, *operands: Any) -> tuple[Any, Callable[..., Any]]:
        """As the engines that are announced have it; see `chainrules_py.loading.hosted`."""
        y, pullback = self.rrule_via_ad(f, *operands)
        return y, densely(pullback, operands)

    def jvp(
        self, f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        """As the engines that are announced have it."""
        return self.frule_via_ad(tuple(tangents), f, *primals)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without autograd's word that a result depends on nothing, which is no news here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Output seems independent of input")
        yield


def _moves(of: Space) -> bool:
    return of.kind in ("real", "complex")


class _Opened:
    """A function of structures as one of the tuple of the arrays and numbers in them."""

    def __init__(
        self, f: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        self.f = f
        self.options = options
        self.operands = operands
        self.leaves, self.treedef = flatten(operands)
        self.places = [i for i, x in enumerate(self.leaves) if moves(x)]
        self.moved = [self.leaves[i] for i in self.places]
        self.out: tuple[list[Any], TreeDef] | None = None
        self.count = 0

    def __call__(self, moved: Any) -> Any:
        leaves = list(self.leaves)
        for n, i in enumerate(self.places):
            leaves[i] = boxed(moved[n])
        y, treedef = flatten(boxed(self.f(*unflatten(self.treedef, leaves), **self.options)))
        found = [leaf for leaf in y if moves(leaf)]
        self.out = ([None if moves(leaf) else leaf for leaf in y], treedef)
        self.count = len(found)
        return as_tuple(tuple(found))

    def closed(self, found: Any) -> Any:
        """What the function gave, from the arrays in it."""
        assert self.out is not None
        leaves, treedef = self.out
        rest = iter([boxed(found[i]) for i in range(self.count)])
        return unflatten(treedef, [next(rest) if x is None else x for x in leaves])

    def tangents(self, bars: Any) -> tuple[Any, ...]:
        """One cotangent for each operand."""
        rest = iter([] if bars is None else [boxed(bars[i]) for i in range(len(self.places))])
        given = []
        for x in self.operands:
            of = space(x)
            entries = [
                conjugated(next(rest)) if bars is not None and _moves(part) else ZeroTangent()
                for part in leaf_spaces([of])
            ]
            given.append(assembled(of, iter(entries)))
        return tuple(given)


config = AutogradConfig()
"""The engine as rules see it."""
