"""Flattening and unflattening of tangents, by the `TreeDef` of their primal."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, final

from chainrules_py.tangents.arithmetic import canonicalize
from chainrules_py.tangents.checks import is_constant
from chainrules_py.tangents.custom_space import given_out
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.values.pytree import LEAF, PLAIN, TreeDef, build, partition, unflatten


def flatten_tangent(treedef: TreeDef, t: Any) -> list[Any]:
    """List the entries of a tangent at the leaves of its primal; absent entries are zero.

    Parameters
    ----------
    treedef : TreeDef
        That of the primal.
    t : tangent
        In canonical form. Thunks are computed.

    Examples
    --------
    >>> from chainrules_py.values.pytree import flatten
    >>> _, treedef = flatten({"w": (1.0, 2.0), "b": 3.0})
    >>> flatten_tangent(treedef, Tangent[dict]({"w": Tangent[tuple](4.0, 5.0)}))
    [4.0, 5.0, ZeroTangent()]
    """
    if treedef is LEAF:
        return [unthunk(t)]
    ts: list[Any] = []
    _collect(treedef, t, ts)
    return ts


def _collect(treedef: TreeDef, t: Any, ts: list[Any]) -> None:
    t = unthunk(t)
    if treedef is LEAF:
        ts.append(t)
    elif is_zero(t):
        ts += [t] * treedef.num_leaves
    else:
        for key, child in zip(treedef.keys, treedef.children, strict=True):
            if child.num_leaves:
                _collect(child, t[key], ts)


def unflatten_tangent(
    treedef: TreeDef, ts: Iterable[Any], *, plain: bool | Literal["own"] = False
) -> Any:
    """Build the tangent of a value from its entries at the leaves; it is zero elsewhere.

    Parameters
    ----------
    treedef : TreeDef
        That of the primal.
    ts : iterable of tangents
        One per leaf.
    plain : bool or "own"
        Whether the tangent of a tuple, list or dict is a tuple, list or dict, as users get it. By
        default it is a `Tangent`, as for all structures. With "own", other structures' tangents
        have the form declared for them (`register_tangent`), and dicts omit the entries that
        cannot vary, such as strings.

    Examples
    --------
    >>> from chainrules_py.values.pytree import flatten
    >>> _, treedef = flatten({"w": (1.0, 2.0), "b": 3.0})
    >>> unflatten_tangent(treedef, [4.0, 5.0, 6.0])
    Tangent[dict]({'w': Tangent[tuple](4.0, 5.0), 'b': 6.0})
    >>> unflatten_tangent(treedef, [4.0, 5.0, 6.0], plain=True)
    {'w': (4.0, 5.0), 'b': 6.0}
    """
    if treedef is LEAF:
        (t,) = ts
        return t
    return tuple(ts) if plain and treedef.is_flat else _tangent(treedef, iter(ts), plain)


def _tangent(treedef: TreeDef, ts: Iterator[Any], plain: bool | str) -> Any:
    structure = treedef.structure
    if structure is None:
        if treedef.num_leaves:
            return next(ts)
        return NoTangent() if is_constant(treedef.like) else ZeroTangent()
    parts = [next(ts) if c is LEAF else _tangent(c, ts, plain) for c in treedef.children]
    cls = treedef.cls
    if plain == "own" and cls is dict:  # a step is {k: p[k] - lr * g[k] for k in g}
        each = zip(treedef.keys, parts, strict=True)
        return {key: part for key, part in each if type(part) is not NoTangent}
    if issubclass(cls, Tangent) or (plain and cls in PLAIN):
        return build(treedef, parts)
    length = len(parts) if structure.kind == "positions" else None
    t = Tangent.of(cls, dict(zip(treedef.keys, parts, strict=True)), length)
    return given_out(cls, t) if plain == "own" else t


@final
class Opened:
    """A call of a function of structures as a function of the differentiable arrays in them.

    Parameters
    ----------
    f : callable
        Takes structures and returns one.
    operands, options
        Of the call.
    takes, gives : callable
        Return whether a leaf of the operands, or of the result, is differentiable; all other leaves
        are constants of the function.

    Attributes
    ----------
    moved : list
        The differentiable leaves of the operands: the arguments of this function.
    out : TreeDef
        That of the result, after a call.

    Examples
    --------
    >>> from chainrules_py import NoTangent
    >>> is_float = lambda x: type(x) is float
    >>> call = Opened(
    ...     lambda p, n: {"y": p["a"] * n, "n": n}, ({"a": 2.0}, 3), {}, is_float, is_float
    ... )
    >>> call.moved, call(5.0)
    ([2.0], (15.0,))
    >>> call.closed([6.0])
    {'y': 6.0, 'n': 3}
    >>> call.bars({"y": 6.0, "n": 3}, {"y": 1.0, "n": NoTangent()}), call.tangents([4.0])
    ([1.0], (Tangent[dict]({'a': 4.0}), ZeroTangent()))
    """

    __slots__ = ("_given", "f", "gives", "moved", "operands", "options", "out")

    def __init__(
        self,
        f: Callable[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        takes: Callable[[Any], bool],
        gives: Callable[[Any], bool],
    ) -> None:
        self.f, self.operands = f, operands
        self.options, self.gives = options, gives
        self.moved, self._given = partition(operands, takes)
        self.out = LEAF

    def __call__(self, *moved: Any) -> tuple[Any, ...]:
        """Compute the differentiable leaves of the result."""
        y = self.f(*unflatten(self._given, moved), **self.options)
        found, self.out = partition(y, self.gives)
        return tuple(found)

    def closed(self, found: Sequence[Any]) -> Any:
        """Rebuild the result around other leaves."""
        return unflatten(self.out, found)

    def dots(self, tangents: tuple[Any, ...]) -> list[Any]:
        """List the tangents of the differentiable leaves of the operands; some may be zeros."""
        return flatten_tangent(self._given, canonicalize(self.operands, tangents))

    def bars(self, y: Any, y_bar: Any) -> list[Any]:
        """List the cotangents of the differentiable leaves of a result; some may be zeros."""
        return flatten_tangent(self.out, canonicalize(y, y_bar))

    def tangents(self, bars: Sequence[Any]) -> tuple[Any, ...]:
        """Return one cotangent for each operand, from those of its differentiable leaves."""
        return tuple(map(unthunk, unflatten_tangent(self._given, bars)))
