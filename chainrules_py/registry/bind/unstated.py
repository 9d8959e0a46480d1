"""What nobody has stated, in a statement of one mode: kept apart from what is transposed.

A derivative is made of blocks, one for each leaf of an operand and each of the result. A block that
is not implemented is so in both directions, and the others are transposed without it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.bind import Bound, Recipe, Request, annotate
from chainrules_py.tangents.arithmetic import add_tangents
from chainrules_py.tangents.pytree import flatten_tangent, unflatten_tangent
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import NotImplementedTangent, ZeroTangent, is_zero
from chainrules_py.values.pytree import TreeDef, flatten

_Blocks: TypeAlias = dict[tuple[int, int], NotImplementedTangent]
"""By the leaf that a half is given a tangent of, and the leaf that it gives one of."""
_Trees: TypeAlias = tuple[TreeDef, TreeDef]

_found: contextvars.ContextVar[_Blocks] = contextvars.ContextVar("found")


@final
class Stated(Recipe):
    """A recipe of one mode as a linear function that is stated in full.

    It gives zero for the blocks that are not, and tells `apart` which these are.

    Parameters
    ----------
    recipe : Recipe
        With a ``mode``, in which it is written.
    """

    def __init__(self, recipe: Any) -> None:
        self.mode = recipe.mode
        self.recipe = recipe

    def repeated(self, primal: Primitive[..., Any]) -> Callable[[], Any] | None:
        """Return what makes the `Draws` of a run that is repeated later: that of the recipe."""
        draws: Callable[[], Any] | None = self.recipe.repeated(primal)
        return draws

    def forward(self, request: Request) -> Bound:
        """Bind the push."""
        run, active = self.recipe.forward(request).run, request.active

        def stated(tangents: tuple[Any, ...], *xs: Any, **options: Any) -> Any:
            y: Any = None

            def push(ts: Any) -> Any:
                nonlocal y
                y, y_dot = run(tuple(ts), *xs, **options)
                return y_dot

            y_dot = push(tangents)
            return y, _full(push, tangents, y_dot, lambda: _trees(active, xs, y))

        return Bound(request, stated)

    def reverse(self, request: Request) -> Bound:
        """Bind the pull."""
        run, active = self.recipe.reverse(request).run, request.active

        def stated(links: Any, *xs: Any, **options: Any) -> Any:
            y, (half, links, *saved) = run(links, *xs, **options)

            def trees() -> _Trees:
                outs, ins = _trees(active, xs, y)
                return ins, outs

            def pull(y_bar: Any, *saved: Any) -> Any:
                def pulled(t: Any) -> Any:
                    bars = half(t, *saved)
                    return bars if len(active) > 1 else (bars,)

                bars = tuple(_full(pulled, y_bar, pulled(y_bar), trees))
                return bars if len(active) > 1 else bars[0]

            return y, (pull, links, *saved)

        return Bound(request, stated)


def _trees(active: Sequence[int], xs: tuple[Any, ...], y: Any) -> _Trees:
    return flatten(tuple([xs[i] for i in active]))[1], flatten(y)[1]


def _full(f: Callable[[Any], Any], t: Any, given: Any, trees: Callable[[], _Trees]) -> Any:
    """Return what a linear function gave for a tangent, with zeros for what is not stated."""
    if not _is_missing_in(given):
        return given
    ins, outs = trees()
    found, parts = flatten_tangent(outs, given), flatten_tangent(ins, t)
    moved = [i for i, part in enumerate(parts) if not is_zero(part)]

    def alone(i: int) -> list[Any]:
        only = [part if j == i else ZeroTangent() for j, part in enumerate(parts)]
        return flatten_tangent(outs, f(unflatten_tangent(ins, only)))

    each = {i: alone(i) if len(moved) > 1 else found for i in moved}
    blocks = _found.get()
    for k, total in enumerate(found):
        if not isinstance(total, NotImplementedTangent):
            continue
        terms = {i: unthunk(ts[k]) for i, ts in each.items()}
        missing = {i: t for i, t in terms.items() if isinstance(t, NotImplementedTangent)}
        found[k] = ZeroTangent()
        for i in moved:
            if i in missing or not missing:
                blocks[i, k] = missing.get(i, total)
            else:
                found[k] = add_tangents(found[k], terms[i])
    return unflatten_tangent(outs, found)


def _is_missing_in(t: Any) -> bool:
    t = unthunk(t)
    if isinstance(t, Tangent):
        return any([_is_missing_in(part) for _, part in t.fields()])
    if type(t) is tuple:
        return any(map(_is_missing_in, t))
    return isinstance(t, NotImplementedTangent)


def apart(transpose: Callable[[Any, Request], Bound], recipe: Any, request: Request) -> Bound:
    """Bind the transpose of a recipe of one mode, which gives what is not stated for its blocks."""
    bound = transpose(Stated(recipe), request)
    run, active, pushes = bound.run, request.active, recipe.mode == "reverse"

    def transposed(links: Any, *xs: Any, **options: Any) -> Any:
        blocks: _Blocks = {}
        token = _found.set(blocks)
        try:
            y, record = run(links, *xs, **options)
        finally:
            _found.reset(token)
        if not blocks:
            return y, record
        half, links, *saved = record
        # An engine that compares records finds two of equal reasons equal.
        told = tuple([(*block, type(t), t.reason) for block, t in blocks.items()])
        return y, (push if pushes else pull, links, half, told, _trees(active, xs, y), *saved)

    def push(tangents: Any, half: Any, told: Any, trees: Any, *saved: Any) -> Any:
        return _marked(told, trees, tangents, half(tangents, *saved))

    def pull(y_bar: Any, half: Any, told: Any, trees: Any, *saved: Any) -> Any:
        bars = half(y_bar, *saved)
        bars = bars if len(active) > 1 else (bars,)
        found = tuple(_marked(told, trees[::-1], y_bar, bars))
        return found if len(active) > 1 else found[0]

    annotate(push, request)
    annotate(pull, request)
    bound.run = transposed
    return bound


def _marked(told: Any, trees: _Trees, given: Any, t: Any) -> Any:
    """Return a tangent with what is not stated where something flows through its block."""
    ins, outs = trees
    parts, found = flatten_tangent(ins, given), flatten_tangent(outs, t)
    for k, i, kind, reason in told:
        if not is_zero(parts[i]):
            found[k] = kind(reason)
    return unflatten_tangent(outs, found)
