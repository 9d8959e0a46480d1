"""PyTorch's own differentiation, as rules and solvers see it."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from chainrules_py import Config, ForwardMode, ReverseMode
from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.project import Space, space
from chainrules_py.recipes.leaves import assembled, canonical, dense, densely, flat, leaf_spaces
from chainrules_py.structure import TreeDef, flatten, unflatten
from chainrules_py.tangents import ZeroTangent, is_zero

__all__ = [
    "TorchConfig",
    "computing",
    "config",
    "floats",
    "in_forward_mode",
    "is_differentiated",
    "is_quiet",
    "is_tensor",
    "outside",
    "refuse_hidden",
    "varies",
    "watching",
]

_C: Any = torch._C
_func: Any = torch.func
_transforms_active: Callable[[], bool] = _C._are_functorch_transforms_active
_unwrap_if_dead: Callable[[torch.Tensor], torch.Tensor] = _C._functorch.unwrap_if_dead
_is_wrapped: Callable[[Any], bool] = _C._functorch.is_functorch_wrapped_tensor


def in_forward_mode() -> bool:
    """Whether a level of dual numbers is open."""
    return forward_ad._current_level >= 0


def varies(x: Any) -> bool:
    """Whether a value is a tensor that is being differentiated, or mapped over."""
    if not isinstance(x, torch.Tensor):
        return False
    return _is_wrapped(x) or is_differentiated(x)


def is_tensor(x: Any) -> bool:
    """Whether PyTorch sees a value."""
    return isinstance(x, torch.Tensor)


def outside(x: Any) -> Any:
    """A value, out of transformations that are over: a pullback may be called after these."""
    return _unwrap_if_dead(x) if isinstance(x, torch.Tensor) else x


def floats(x: Any) -> bool:
    """Whether a value is a tensor that PyTorch takes derivatives in."""
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def is_differentiated(x: Any) -> bool:
    """Whether a value is a tensor that PyTorch differentiates here."""
    if not isinstance(x, torch.Tensor):
        return False
    if x.requires_grad and torch.is_grad_enabled():
        return True
    return in_forward_mode() and forward_ad.unpack_dual(x).tangent is not None


def is_quiet() -> bool:
    """Whether nothing at all is being differentiated here, nor mapped over."""
    return not (torch.is_grad_enabled() or _transforms_active() or in_forward_mode())


computing: contextvars.ContextVar[bool] = contextvars.ContextVar("computing", default=False)
"""Whether this is the inside of a `chainrules_torch.functions.Transformed`, whose derivatives are
seen to outside."""
watching: contextvars.ContextVar[bool] = contextvars.ContextVar("watching", default=False)
"""Whether nothing that a function is given here is being differentiated."""


def refuse_hidden(y: Any) -> None:
    """See that a function of nothing that is being differentiated gave nothing such either.

    Raises
    ------
    NotDifferentiableError
        If it did: it uses a tensor from a place where nobody finds it.
    """
    for leaf in flatten(y)[0]:
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
            msg = (
                f"a function that was given nothing that is being differentiated gave "
                f"{describe(leaf)}, which is: it uses a tensor from a place where it cannot be "
                f"found, and that gradient would be lost; pass the tensor as a parameter, behind "
                f"the other operands"
            )
            raise NotDifferentiableError(msg)


class TorchConfig(Config):
    """What PyTorch can do for a rule: differentiate functions that it was given, in both modes."""

    capabilities = frozenset((ReverseMode, ForwardMode))

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Value and pullback, by `torch.func.vjp`."""
        call = _Opened(f, operands, options)
        found, pull = _func.vjp(call, *call.moved)
        y = call.closed(found)
        onto = space(y)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            entries = flat(canonical(y_bar, onto, f), onto)
            bars = [
                of.zeros() if is_zero(bar) else bar
                for bar, of in zip(entries, leaf_spaces([onto]), strict=True)
            ]
            wanted = [bar for bar, leaf in zip(bars, call.numbers(y), strict=True) if floats(leaf)]
            given = tuple(map(_as_tensor, wanted, found))
            return call.tangents(pull(given) if found else None)

        return y, pullback

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Value and tangent, by `torch.func.jvp`."""
        call = _Opened(f, operands, options)
        dots = [
            t
            for x, given in zip(operands, tangents, strict=True)
            for t in _tensor_entries(x, given, f)
        ]
        push = _twice_transposed if in_forward_mode() and not _transforms_active() else _func.jvp
        found, found_dot = push(call, tuple(call.moved), tuple(dots))
        y = call.closed(found)
        rest = iter(found_dot)
        entries = [next(rest) if floats(leaf) else ZeroTangent() for leaf in call.numbers(y)]
        return y, dense(assembled(space(y), iter(entries)), space(y))

    def vjp(self, f: Callable[..., Any], /, *operands: Any) -> tuple[Any, Callable[..., Any]]:
        """As the engines that are announced have it; see `chainrules_py.loading.hosted`."""
        alone = not _transforms_active()  # elsewhere what is around may be differentiated
        with torch.enable_grad() if watching.get() else contextlib.nullcontext():
            y, pullback = self.rrule_via_ad(f, *operands)
        if watching.get() and alone:
            refuse_hidden(y)
        return y, densely(pullback, operands)

    def jvp(
        self, f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        """As the engines that are announced have it."""
        alone = not _transforms_active()
        with torch.enable_grad() if watching.get() else contextlib.nullcontext():
            y, y_dot = self.frule_via_ad(tuple(tangents), f, *primals)
        if watching.get() and alone:
            refuse_hidden((y, y_dot))
        return y, y_dot


def _twice_transposed(
    f: Callable[..., Any], xs: tuple[Any, ...], dots: tuple[Any, ...]
) -> tuple[Any, Any]:
    """As `torch.func.jvp`, by reverse mode: PyTorch opens no second level of dual numbers."""
    y, pull = _func.vjp(f, *xs)
    _, push = _func.vjp(pull, tuple(map(torch.zeros_like, y)))
    return y, push(dots)[0]


def _moves(x: Any) -> bool:
    return floats(x) or type(x) in (float, complex)


def _as_tensor(x: Any, like: Any = None) -> torch.Tensor:
    if isinstance(x, torch.Tensor):
        return x
    if like is not None:
        return torch.full_like(like, x)
    return torch.tensor(x, dtype=torch.complex128 if type(x) is complex else torch.float64)


class _Opened:
    """A function of structures as one of the floating-point tensors in them.

    Python's numbers become tensors without axes, since PyTorch varies nothing else.
    """

    def __init__(
        self, f: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        self.f = f
        self.options = options
        self.operands = operands
        self.leaves, self.treedef = flatten(operands)
        self.places = [i for i, x in enumerate(self.leaves) if _moves(x)]
        self.moved = [_as_tensor(self.leaves[i]) for i in self.places]
        self.out: tuple[list[Any], TreeDef] | None = None

    def __call__(self, *moved: Any) -> tuple[Any, ...]:
        leaves = list(self.leaves)
        for i, x in zip(self.places, moved, strict=True):
            leaves[i] = x
        y, treedef = flatten(self.f(*unflatten(self.treedef, leaves), **self.options))
        self.out = ([None if floats(leaf) else leaf for leaf in y], treedef)
        return tuple([leaf for leaf in y if floats(leaf)])

    def closed(self, found: tuple[Any, ...]) -> Any:
        """What the function gave, from the tensors in it."""
        assert self.out is not None
        leaves, treedef = self.out
        rest = iter(found)
        return unflatten(treedef, [next(rest) if x is None else x for x in leaves])

    def numbers(self, y: Any) -> list[Any]:
        """The arrays and numbers in a structure: where its space has a leaf."""
        return [x for x in flatten(y)[0] if type(space(x)) is Space]

    def tangents(self, bars: tuple[Any, ...] | None) -> tuple[Any, ...]:
        """One cotangent for each operand."""
        rest = iter(bars or ())
        given = []
        for x in self.operands:
            entries = [
                _like(next(rest), leaf) if bars and _moves(leaf) else ZeroTangent()
                for leaf in self.numbers(x)
            ]
            given.append(assembled(space(x), iter(entries)))
        return tuple(given)


def _like(bar: torch.Tensor, leaf: Any) -> Any:
    """The cotangent of a number as a number, unless it is being differentiated itself."""
    return bar if isinstance(leaf, torch.Tensor) or varies(bar) else bar.item()


def _tensor_entries(x: Any, t: Any, f: Any) -> list[Any]:
    """The tangents of what moves in an operand, written out."""
    of = space(x)
    leaves = [leaf for leaf in flatten(x)[0] if type(space(leaf)) is Space]
    entries = flat(canonical(t, of, f), of) if leaves else []
    return [
        _as_tensor(inner.zeros() if is_zero(entry) else entry)
        for leaf, entry, inner in zip(leaves, entries, leaf_spaces([of]), strict=True)
        if _moves(leaf)
    ]


config = TorchConfig()
"""The engine as rules see it."""
