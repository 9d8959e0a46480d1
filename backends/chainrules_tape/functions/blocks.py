"""The Jacobian of a function of leaves, in blocks: a basis goes through each rule at once.

See docs/design/batched-seeds.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, final

from chainrules_py import (
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    Space,
    ZeroTangent,
    is_zero,
    space,
    unthunk,
)
from chainrules_py.extend import basis, block, column, conjugate, describe, name_of, row, zero_block
from chainrules_tape.functions.arguments import Arguments
from chainrules_tape.functions.linearize import Linearization
from chainrules_tape.functions.results import can_vary, own_all, tangents_of
from chainrules_tape.functions.run import ReverseRun

__all__ = ["Blocks", "Mode", "blocks_of"]

Mode: TypeAlias = Literal["auto", "forward", "reverse"]


@final
class Blocks:
    """The Jacobian of a function of leaves.

    Attributes
    ----------
    rows : list
        For each leaf of the result one block per leaf of the arguments; `NoTangent()` for a leaf
        that cannot be perturbed, of one or the other.
    y_tree, aux
        What the function gave.
    """

    __slots__ = ("aux", "leaves", "rows", "y_leaves", "y_tree")

    def __init__(
        self, run: Linearization | ReverseRun, leaves: Sequence[Any], rows: list[Any]
    ) -> None:
        self.leaves = leaves
        self.y_leaves = run.y_leaves
        self.y_tree = run.y_tree
        self.aux = run.aux
        self.rows = rows

    def delivered(self, arguments: Arguments, tree: Any) -> list[Any]:
        """Each row in the structure of the arguments."""
        alone = len(self.rows) == len(self.leaves) == 1
        theirs = () if alone else (*self.leaves, *self.y_leaves)
        found = []
        for blocks in self.rows:
            if is_zero(blocks):
                found.append(blocks)
                continue
            mine = own_all(blocks, blocks, theirs, views=alone)
            found.append(arguments.deliver(tangents_of(tree, mine)))
        return found

    def whole(self, arguments: Arguments, tree: Any) -> Any:
        """All rows, in the structure of the result."""
        return tangents_of(self.y_tree, self.delivered(arguments, tree))


def blocks_of(
    of_leaves: Callable[..., Any],
    leaves: Sequence[Any],
    mode: Mode,
    f: Callable[..., Any],
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Blocks:
    """Compute the Jacobian of a function of leaves; ``f`` is its name in messages."""
    spaces = [space(x) if can_vary(x) else NoTangent() for x in leaves]
    n = _size(spaces)
    if mode == "reverse" or (mode == "auto" and n > 1):
        try:
            recorded = ReverseRun(of_leaves, tuple(leaves), has_aux=has_aux)
        except NoRuleError:  # where only forward mode is stated, that is what "auto" is
            if mode == "reverse":
                raise
        else:
            ys = _spaces_of(recorded, spaces, f, holomorphic)
            traced = [of for of, i in zip(ys, recorded.outputs, strict=True) if i is not None]
            if mode == "reverse" or _size(traced) <= n:
                return Blocks(recorded, leaves, _reverse_rows(recorded, ys, spaces))
            del recorded
    run = Linearization(of_leaves, leaves, has_aux=has_aux)
    ys = _spaces_of(run, spaces, f, holomorphic)
    return Blocks(run, leaves, _forward_rows(run, ys, spaces))


def _size(spaces: Sequence[Any]) -> int:
    return sum([of.size for of in spaces if type(of) is Space])


def _spaces_of(
    run: Linearization | ReverseRun, xs: Sequence[Any], f: Callable[..., Any], holomorphic: bool
) -> list[Any]:
    """Return the spaces of a result, with `NoTangent()` for what is no real or complex number."""
    ys = [space(y) for y in run.y_leaves]
    ys = [y if type(y) is Space and y.kind != "int" else NoTangent() for y in ys]
    if all(map(is_zero, ys)):
        msg = (
            f"jacobian of {name_of(f)}, which returned {describe(run.y)}: there is no real or "
            f"complex number in it whose derivative could be taken; return the array itself"
        )
        raise NotDifferentiableError(msg)
    is_complex = [any([getattr(of, "kind", "") == "complex" for of in side]) for side in (xs, ys)]
    if all(is_complex) and not holomorphic:
        msg = (
            f"jacobian of {name_of(f)}, which takes complex numbers to complex numbers: its "
            f"derivative is a map over the real ones, and one complex matrix only if {name_of(f)} "
            f"is holomorphic; pass holomorphic=True if it is, or use jvp, vjp, or real and "
            f"imaginary parts"
        )
        raise NotDifferentiableError(msg)
    return ys


@final
class _Images:
    """Images of a basis under a linear map, or under its adjoint.

    Parameters
    ----------
    apply : callable
        ``apply(seeds, many)``, of one seed per space, gives one image per leaf of the other side.
    spaces : list
        What the basis is of; no `Space` where there is none.
    others : list
        The spaces of the other side.
    turned : bool
        Whether the basis is multiplied with the imaginary unit, of the complex spaces alone.
    """

    def __init__(
        self,
        apply: Callable[[list[Any], bool], list[Any]],
        spaces: Sequence[Any],
        others: Sequence[Any],
        *,
        turned: bool = False,
    ) -> None:
        self.places, self.spaces = _places(spaces), spaces
        chosen = [of for of in spaces if type(of) is Space]
        arrays = [of for of in (*chosen, *others) if getattr(of, "dtype", None) is not None]
        self.size = _size(chosen)
        self.together = bool(arrays) and self.size > 1
        zero: Any = ZeroTangent()

        def seed(of: Any, t: Any) -> Any:
            if type(of) is not Space or (turned and of.kind != "complex"):
                return zero
            return t * 1j if turned else t

        if self.together:
            found = iter(basis(chosen, arrays[0]))
            seeds = [next(found) if type(of) is Space else zero for of in spaces]
            pairs = zip(spaces, seeds, strict=True)
            self.images: Any = apply([seed(of, s) for of, s in pairs], True)
            return
        # Of one direction, or of Python's numbers alone, which no array holds.
        self.images = {}
        for i, of in enumerate(spaces):
            if type(of) is Space and of.size:
                units = [zero] * len(spaces)
                units[i] = seed(of, of.zeros() + 1)
                self.images[i] = apply(units, False)

    def block(self, given: int, taken: int, y: Space, x: Space, part: Callable[..., Any]) -> Any:
        """Return the Jacobian of y in x, None where it is zero; ``part`` gets it from a batch."""
        if type(self.spaces[given]) is not Space or not self.spaces[given].size:
            return None
        t = self.images[taken] if self.together else self.images[given][taken]
        if is_zero(t):
            return None
        return part(t, self.places[given], y, x) if self.together else block(t, y, x)


def _places(spaces: Sequence[Any]) -> list[slice]:
    """Where the directions of each space are in a basis of all."""
    found, start = [], 0
    for of in spaces:
        stop = start + (of.size if type(of) is Space else 0)
        found.append(slice(start, stop))
        start = stop
    return found


def _any_kind(kind: str, spaces: Sequence[Any]) -> bool:
    return any([type(of) is Space and of.kind == kind for of in spaces])


def _forward_rows(run: Linearization, ys: list[Any], xs: list[Any]) -> list[Any]:
    """Compute one row per leaf of y, by pushing the basis of x."""
    apply = lambda ts, many: run.push(ts, many=many)
    images = _Images(apply, xs, ys)
    turned = None
    if _any_kind("complex", xs) and _any_kind("real", ys):
        turned = _Images(apply, xs, ys, turned=True)

    def entry(k: int, i: int, y: Space, x: Space) -> Any:
        J = images.block(i, k, y, x, column)
        if turned is None or x.kind != "complex" or y.kind == "complex":
            return J
        # Of a real y the gradient g has dy = Re(conj(g) dx): real part for 1, imaginary for i.
        return _sum(J, turned.block(i, k, y, x, column))

    return _rows(entry, ys, xs)


def _reverse_rows(run: ReverseRun, ys: list[Any], xs: list[Any]) -> list[Any]:
    """Compute one row per leaf of y, by pulling the basis of y back."""
    seeded = [NoTangent() if i is None else y for y, i in zip(ys, run.outputs, strict=True)]
    twice = _any_kind("complex", seeded) and any(
        [type(x) is Space and x.kind != "complex" for x in xs]
    )
    apply = lambda ts, many: list(map(unthunk, (run.bars_of_many if many else run.bars)(ts)))
    images = _Images(apply, seeded, xs)
    turned = _Images(apply, seeded, xs, turned=True) if twice else None

    def entry(k: int, i: int, y: Space, x: Space) -> Any:
        J = images.block(k, i, y, x, row)
        if y.kind != "complex" or J is None:
            return J
        if x.kind == "complex":
            return conjugate(J)
        return J if turned is None else _sum(J, turned.block(k, i, y, x, row))

    return _rows(entry, ys, xs)


def _sum(J: Any, turned: Any) -> Any:
    """Real and imaginary part together; None is zero."""
    if turned is None:
        return J
    return 1j * turned if J is None else J + 1j * turned


def _rows(entry: Callable[..., Any], ys: list[Any], xs: list[Any]) -> list[Any]:
    def filled(k: int, i: int, y: Space, x: Any) -> Any:
        if type(x) is not Space:
            return x
        J = entry(k, i, y, x)
        return zero_block(y, x) if J is None else J

    return [
        [filled(k, i, y, x) for i, x in enumerate(xs)] if type(y) is Space else y
        for k, y in enumerate(ys)
    ]
