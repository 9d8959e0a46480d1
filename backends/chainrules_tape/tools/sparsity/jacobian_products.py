"""Runs of a function by an engine, with directions and their images as matrices."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

import chainrules_py.ops as v
from chainrules_kit.optional_scipy import bare
from chainrules_py import NoRuleError, NotDifferentiableError, ZeroTangent, is_zero
from chainrules_py.extend import (
    Space,
    TreeDef,
    declares_space,
    deliver,
    flatten,
    namespace_of,
    type_info,
    untraced,
)

if TYPE_CHECKING:
    from chainrules_tape.tools.sparsity.plan import Mode, Plan

_LIBRARIES = ("numpy", "cupy", "builtins")


class Engine(NamedTuple):
    """The parts of an engine that sparse Jacobians use.

    Attributes
    ----------
    linear, reverse : callable
        ``linear(f, xs, has_aux=...)`` runs f and has ``push(ts, many)``, ``reverse(...)`` has
        ``pull(bars, many, repair=...)``; both have the attributes of `Parts`.
    inputs : callable
        ``inputs(xs)`` returns xs as arrays, their `TreeDef`, and the spaces of their leaves.
    outputs : callable
        ``outputs(run, spaces, f, holomorphic)`` returns the spaces of the leaves of the result.
    """

    linear: Callable[..., Any]
    reverse: Callable[..., Any]
    inputs: Callable[[Any], tuple[Any, Any, list[Any]]]
    outputs: Callable[..., list[Any]]


class Parts(NamedTuple):
    """The structures and leaves of the arguments and of the result of a run."""

    tree: TreeDef
    y_tree: TreeDef
    leaves: list[Any]
    y_leaves: list[Any]
    aux: Any


@final
class Runs:
    """Runs of a function at some arguments: one in each mode, made when it is needed.

    Attributes
    ----------
    xs, ys : list
        The spaces of the leaves of the arguments and of the result; no `Space` for other leaves.
    """

    def __init__(
        self,
        engine: Engine,
        f: Callable[..., Any],
        given: tuple[Any, ...],
        title: str,
        named: Callable[..., Any],
        has_aux: bool,
        holomorphic: bool,
    ) -> None:
        self.engine, self.f, self.title, self.named = engine, f, title, named
        self.has_aux, self.holomorphic = has_aux, holomorphic
        self.given, tree, self.xs = engine.inputs(given)
        if declares_space(tree):
            raise NotDifferentiableError(
                f"sparse {title}: a structure in its arguments declares its own tangents "
                f"(register_tangent), so that blocks are no matrices; leave sparsity= out"
            )
        for x in self.xs:
            if type(x) is Space and x.like.__module__.partition(".")[0] not in _LIBRARIES:
                raise NotDifferentiableError(
                    f"sparse {title}, in {x}: sparse arrays are SciPy's or CuPy's; give arrays of "
                    f"NumPy's or CuPy's"
                )
        self.ys: list[Any] = []
        self.made: dict[bool, Any] = {}

    def side(self, pulled: bool) -> Any:
        """Return the run in forward mode, or in reverse mode if ``pulled``."""
        if pulled not in self.made:
            begin = self.engine.reverse if pulled else self.engine.linear
            run = begin(self.f, self.given, has_aux=self.has_aux)
            self.ys = self.engine.outputs(run, self.xs, self.named, self.holomorphic)
            self.made[pulled] = run
        return self.made[pulled]

    def run(self, mode: Mode) -> Any:
        """Return any run; make one in this mode, for "auto" in forward mode if rules allow it."""
        for run in self.made.values():
            return run
        if mode == "auto":
            with contextlib.suppress(NoRuleError):
                return self.side(False)
        return self.side(mode != "forward")

    def can_pull(self, mode: Mode) -> bool:
        """Return whether reverse mode is allowed and has rules."""
        if mode == "auto":
            with contextlib.suppress(NoRuleError):
                self.side(True)
        return mode == "reverse" or True in self.made

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns of the Jacobian."""
        return _size(self.ys), _size(self.xs)

    @property
    def is_complex(self) -> bool:
        """Whether an argument or a result is complex."""
        return _has(self.xs, True) or _has(self.ys, True)

    def turns(self, plan: Plan) -> bool:
        """Return whether seeds times i are needed too: between complex and real numbers."""
        spaces, others = (self.xs, self.ys) if plan.pushes else (self.ys, self.xs)
        return _has(spaces, True) and _has(others, False)

    def images(self, pulled: bool, seeds: Any, unit: complex | None, *, repair: bool = True) -> Any:
        """Push or pull directions.

        Parameters
        ----------
        pulled : bool
            Whether to pull.
        seeds : array
            One row for each direction.
        unit : complex or None
            The factor of complex seeds; None for i, without seeds for real leaves.
        repair : bool
            Whether pulls that give NaN are repeated with structural zeros.

        Returns
        -------
        array
            One row for each direction.
        """
        spaces, others = (self.ys, self.xs) if pulled else (self.xs, self.ys)
        run, given = self.side(pulled), _seeds(spaces, seeds, unit)
        if pulled:
            found = run.pull(given, many=True, repair=repair)
        else:
            found = run.push(given, many=True)
        return _joined(others, found, len(seeds))


# ------------------------------------------------------------------------- seeds and images


def _size(spaces: Sequence[Any]) -> int:
    return sum([space.size for space in spaces if type(space) is Space])


def _has(spaces: Sequence[Any], complex: bool) -> bool:
    """Return whether there are complex, or real, numbers."""
    return any([type(space) is Space and (space.kind == "complex") is complex for space in spaces])


def _seeds(spaces: Sequence[Any], seeds: Any, unit: complex | None) -> list[Any]:
    """Split seeds into one array for each leaf, in its library."""
    lender = next((space for space in spaces if getattr(space, "dtype", None) is not None), None)
    found: list[Any] = []
    start = 0
    for space in spaces:
        size = space.size if type(space) is Space else 0
        part = seeds[:, start : start + size]
        start += size
        if type(space) is not Space or (unit is None and space.kind != "complex"):
            found.append(ZeroTangent())
        else:
            found.append(_seed(part, space, 1j if unit is None else unit, lender))
    return found


def _seed(part: Any, space: Space, unit: complex, lender: Space | None) -> Any:
    """Build the seeds of a leaf; those of Python numbers are arrays like the lender's."""
    part = part.reshape(len(part), *space.shape)
    part = part * unit if space.kind == "complex" else part
    like = lender if space.dtype is None else space
    if like is None:
        return part
    dtype = None if space.dtype is None else space.tangent_dtype
    more = {} if like.device is None else {"device": like.device}
    return namespace_of(like.like).asarray(part, dtype=dtype, **more)


def _joined(spaces: Sequence[Any], images: Sequence[Any], k: int) -> Any:
    """Join the images of all leaves into one matrix."""
    parts = []
    for space, image in zip(spaces, map(deliver, images), strict=True):
        if type(space) is Space:
            if is_zero(image):
                image = _seed(np.zeros((k, space.size)), space, 1.0, None)
            parts.append(image.reshape(k, space.size))
    return parts[0] if len(parts) == 1 else v.concat(*parts, axis=1)


def take(x: Any, places: Any) -> Any:
    """Return the elements of an array at these indices."""
    like = type(bare(x))
    return x[places if like is np.ndarray else namespace_of(like).asarray(places)]


def is_plain(x: Any) -> bool:
    """Return whether no leaf is a tracer."""
    return all([bare(leaf) is leaf for leaf in flatten(x)[0]])


def is_recorded(x: Any) -> bool:
    """Return whether the compiler traces a leaf, whose value may differ at the next call."""
    return any([type_info(type(untraced(leaf))).host is not None for leaf in flatten(x)[0]])
