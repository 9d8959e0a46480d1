"""Hooks on functions: the cotangent of every result passes through a user-defined function.

A hook wraps each rule of the function, so that every engine that uses the rules, this one or
another, applies it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any, Self, final

import chainrules_py.ops as v
from chainrules_py import (
    MutationError,
    NotDifferentiableError,
    TracerError,
    ZeroTangent,
    is_zero,
    rules_for,
    space,
    unthunk,
)
from chainrules_py.extend import (
    Bound,
    Recipe,
    Request,
    Statement,
    Tracer,
    annotate,
    any_engine,
    deliver,
    describe,
    differentiates,
    find_tracers,
    name_of,
    primal_of,
    project_exactly,
    remove,
    type_info,
)

_transposed: contextvars.ContextVar[frozenset[Any]] = contextvars.ContextVar(
    "transposed", default=frozenset()
)
"""The hooks being transposed, to push a tangent."""


@final
class Hook:
    """Registered hook; ``remove()`` removes it, and so does the end of a ``with`` block."""

    __slots__ = ("_remove",)

    def __init__(self, remove: Callable[[], object] | None) -> None:
        self._remove = remove

    def remove(self) -> None:
        """Remove the hook; a second call has no effect."""
        if self._remove is not None:
            self._remove()
            self._remove = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


@final
class Passing:
    """Application of a user-defined function to a cotangent."""

    __slots__ = ("_is_compared", "f", "linear")

    def __init__(self, f: Callable[[Any], Any], linear: bool) -> None:
        self.f = f
        self.linear = linear
        self._is_compared = not linear

    def __call__(self, bar: Any, of: Any, outer: bool) -> Any:
        """Return the cotangent that continues; None to leave it unchanged.

        ``outer`` is whether an outer level differentiates the value that the hook is on.
        """
        if self in _transposed.get():
            return None
        # The array may also be the cotangent of other values, or the seed.
        shown = deliver(unthunk(bar))
        traced = issubclass(type(shown), Tracer)
        memory = type_info(type(shown)).memory
        if traced:
            shown = shown.owned()
        elif memory is not None and memory.read_only is not None:
            shown = memory.read_only(shown)
        try:
            bar = self.f(shown)
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise MutationError(
                f"the hook {name_of(self.f)} writes to the cotangent {describe(shown)}, which is "
                f"read-only, as other values may have it too; give a new one: 2 * g for g *= 2"
            ) from error
        if bar is None or (bar is shown and not traced):
            return None
        bar = unthunk(bar)
        if (outer or differentiated(shown)) and not self.linear:
            raise NotDifferentiableError(
                f"the hook {name_of(self.f)} changes a cotangent, and the gradient is "
                f"differentiated: it would be no derivative of anything; say linear=True if the "
                f"hook is linear, or give None in hooks that only look"
            )
        if not (self._is_compared or traced or is_zero(bar) or 0 in getattr(bar, "shape", ())):
            self._is_compared = True
            self._compare(shown, bar)
        return bar if is_zero(bar) else project_exactly(bar, of, "cotangent")

    def _compare(self, shown: Any, bar: Any) -> None:
        """Raise unless three times a cotangent gives three times the result."""
        many = self.f(3.0 * shown)
        off = abs((3.0 * shown if many is None else unthunk(many)) - 3.0 * bar)
        most, size = [v.max(t) if getattr(t, "shape", ()) else t for t in (off, abs(bar))]
        if bool(most > 0.02 * size):  # not if one of them is NaN
            raise NotDifferentiableError(
                f"the hook {name_of(self.f)} is said to be linear, and of three times a cotangent "
                f"it does not give three times as much: leave linear=True out"
            )

    def transposed(self, t: Any) -> Any:
        """Push a tangent by the transpose of the hook, which is linear."""
        if is_zero(t):
            return t

        def through(bar: Any) -> Any:
            found = self.f(bar)
            return bar if found is None else found

        # Calls of the hooked function inside the hook do not apply the hook again.
        token = _transposed.set(_transposed.get() | {self})
        try:
            (found,) = any_engine.rrule_via_ad(through, t)[1](t)
        finally:
            _transposed.reset(token)
        return found


def differentiated(x: Any) -> bool:
    """Return whether a value is, or holds, one that a level differentiates."""
    return any([differentiates(type(tracer)) for tracer in find_tracers(x)])


# ------------------------------------------------------------- hooks on all calls of a function


def hang_on_rules(f: Callable[..., Any], passing: Passing) -> Hook:
    """Wrap each rule of a function in a hook."""
    inside = [s for s in rules_for(f) if s.recipe is not None and not s.recipe.is_constant]
    if primal_of(f) is None or not inside:
        raise TracerError(
            f"{name_of(f)} is a function without a rule; hang the hook on values that it gives"
        )
    around = [_hooked(s, passing) for s in inside]

    def undo() -> None:
        found = {s: _without(s, passing) for s in rules_for(f)}
        hung = {s: inner for s, inner in found.items() if inner is not s}
        remove(hung.keys(), hung.values())

    try:
        remove(inside, around)
    except BaseException:
        undo()  # because the caller has no `Hook` to remove
        raise
    return Hook(undo)


def _without(s: Statement, passing: Passing) -> Statement:
    """Return a statement without a hook, which others may wrap by now."""
    if not isinstance(s.recipe, Hooked):
        return s
    inner = _without(s.recipe.inside, passing)
    if s.recipe.passing is passing:
        return inner
    return s if inner is s.recipe.inside else _hooked(inner, s.recipe.passing)


def _hooked(s: Statement, passing: Passing) -> Statement:
    return Statement(
        s.primal,
        s.signature,
        s.varargs,
        s.source,
        Hooked(s, passing),
        modes=s.modes,
        requires=s.requires,
        override=s.override,
        transposed=s.transposed,
        layer=s.layer,
    )


@final
class Hooked(Recipe):
    """Recipe of a statement with a hook on the cotangent of its result.

    Attributes
    ----------
    inside : Statement
        The statement.
    """

    is_hooked = True

    def __init__(self, inside: Statement, passing: Passing) -> None:
        self.inside = inside
        self.passing = passing
        self.constructor = f"hook on {inside.recipe.constructor}"
        self.functions = (*inside.recipe.functions, passing.f)
        self.always = inside.recipe.always

    def stated_in(self, n: int) -> tuple[bool, ...]:
        """Return in which of n operands a derivative is stated."""
        return self.inside.recipe.stated_in(n)  # type: ignore[no-any-return]

    def checked(self, request: Request) -> Callable[..., Any]:
        """Return the function that computes the value of a call after checking its operands."""
        return self.inside.recipe.checked(request)  # type: ignore[no-any-return]

    def _request(self, request: Request) -> Request:
        return Request(
            self.inside, request.operands, request.wanted, request.primal, request.config
        )

    def reverse(self, request: Request) -> Bound:
        """Bind the rule, whose pull gets the cotangent that the hook returns."""
        inner = self.inside.recipe.reverse(self._request(request))
        zero: Any = (
            ZeroTangent() if len(request.active) == 1 else (ZeroTangent(),) * len(request.active)
        )

        def pull(y_bar: Any, of: Any, outer: bool, half: Callable[..., Any], *saved: Any) -> Any:
            found = self.passing(y_bar, of, outer)
            found = y_bar if found is None else found
            return zero if is_zero(found) else half(found, *saved)

        annotate(pull, request)

        def run(links: Any, *xs: Any, **options: Any) -> Any:
            y, (half, links, *saved) = inner.run(links, *xs, **options)
            return y, (pull, links, space(y), differentiated(y), half, *saved)

        return Bound(request, run, may_be_zero=True)

    def forward(self, request: Request) -> Bound:
        """Bind the rule, and push its tangent by the transpose of the hook."""
        inner = self.inside.recipe.forward(self._request(request))

        def run(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            if not self.passing.linear:
                raise NotDifferentiableError(
                    f"a hook is attached to {request.statement.primal.__name__}, which acts in "
                    f"reverse mode: forward mode would skip it; remove it, or write linear=True"
                )
            y, y_dot = inner.run(tangents, *xs, **options)
            return y, self.passing.transposed(unthunk(y_dot))

        return Bound(request, run)
