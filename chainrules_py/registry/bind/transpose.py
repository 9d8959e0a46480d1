"""Statements of one mode: the other is its transpose, by the word `transposed`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.config import Capability, ReverseMode
from chainrules_py.errors import NotDifferentiableError
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.bind import Bound, Recipe, Request, annotate
from chainrules_py.registry.statement import MODES, Source, Statement
from chainrules_py.registry.table import enter
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import NotImplementedTangent
from chainrules_py.vocabulary.higher_order import transposed


class OneMode(Recipe):
    """Recipe of one ``mode``, as a person wrote it: a subclass has the method of that mode."""

    mode: str

    def reverse(self, request: Request) -> Bound:
        """Bind the transpose of the push."""
        return _transpose(self, request)

    def linearize(self, request: Request) -> Bound:
        """Bind the transpose of the pull, or one more run of the push for each tangent."""
        if self.mode == "forward":
            return super().linearize(request)
        return _transpose(self, request)


class _MissingError(NotDifferentiableError):
    """A tangent that is not implemented, on its way out of a transposition."""

    def __init__(self, tangent: NotImplementedTangent) -> None:
        super().__init__(tangent.reason)
        self.tangent = tangent


class _Implemented(Recipe):
    """A recipe of one mode whose half raises where it gives what is not implemented."""

    def __init__(self, recipe: OneMode) -> None:
        self.mode = recipe.mode
        self.recipe = recipe

    def forward(self, request: Request) -> Bound:
        """Bind the push."""
        run = self.recipe.forward(request).run

        def checked(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y, y_dot = run(tangents, *xs, **options)
            _check_implemented(y_dot)
            return y, y_dot

        return Bound(request, checked)

    def reverse(self, request: Request) -> Bound:
        """Bind the pull."""
        run = self.recipe.reverse(request).run

        def checked(links: Any, *xs: Any, **options: Any) -> Any:
            y, (half, links, *saved) = run(links, *xs, **options)

            def pull(y_bar: Any, *saved: Any) -> Any:
                bars = half(y_bar, *saved)
                _check_implemented(bars)
                return bars

            return y, (pull, links, *saved)

        return Bound(request, checked)


def _check_implemented(t: Any) -> None:
    t = unthunk(t)
    if isinstance(t, NotImplementedTangent):
        raise _MissingError(t)
    if isinstance(t, Tangent):
        t = tuple([part for _, part in t.fields()])
    if type(t) is tuple:
        for part in t:
            _check_implemented(part)


def _transpose(recipe: OneMode, request: Request) -> Bound:
    """Bind the transpose; where the mode that is stated is not implemented, it is not, either."""
    bound: Bound = transposed(_Implemented(recipe), request)
    run, n = bound.run, len(request.active)
    alone = recipe.mode == "reverse" or n == 1
    half: Callable[..., Any] = lambda _, missing: missing if alone else (missing,) * n
    annotate(half, request)

    def run_or_missing(links: Any, *xs: Any, **options: Any) -> Any:
        try:
            return run(links, *xs, **options)
        except _MissingError as found:
            return request.primal(*xs, **options), (half, links, found.tangent)

    bound.run = run_or_missing
    return bound


def state(
    primal: Primitive[..., Any],
    types: tuple[tuple[Any, ...], Any],
    source: Source,
    recipe: Recipe,
    *,
    requires: frozenset[Capability] = frozenset(),
    override: int = 0,
) -> None:
    """Enter what a person stated; of one mode, with its transpose for the other.

    Parameters
    ----------
    primal : Primitive
        What it is about.
    types : tuple
        The types that it is dispatched on: of the operands, and of the variadic ones, or None.
    source : Source
        Where it was written.
    recipe : Recipe
        How it is bound.
    requires : frozenset of Capability
        What the written modes ask of the engine.
    override : int
        Its layer, as of a `Statement`.
    """
    stated = (recipe.mode,) if isinstance(recipe, OneMode) else MODES
    follows = tuple([mode for mode in MODES if mode not in stated])
    for modes, asked in ((stated, requires), (follows, requires | {ReverseMode})):
        if modes:
            enter(
                Statement(
                    primal,
                    *types,
                    source,
                    recipe,
                    modes=modes,
                    requires=asked,
                    override=override,
                    transposed=modes is follows,
                )
            )
