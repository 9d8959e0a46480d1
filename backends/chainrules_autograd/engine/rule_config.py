"""autograd's own differentiation, for rules and solvers."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import autograd.builtins
import autograd.core

from chainrules_autograd.engine.boxes import boxed
from chainrules_kit import EngineConfig, dense
from chainrules_py import (
    Capability,
    ZeroTangent,
    space,
)
from chainrules_py.extend import Opened, kind_of, unflatten_tangent
from chainrules_py.ops import conj

# autograd has no type annotations, and inferred types are wrong.
as_tuple: Any = autograd.builtins.tuple
make_vjp: Any = autograd.core.make_vjp
make_jvp: Any = autograd.core.make_jvp


def moves(x: Any) -> bool:
    """Return whether autograd differentiates a value: a floating-point array or number."""
    return kind_of(boxed(x)) in ("real", "complex")


def conjugated(t: Any) -> Any:
    """Conjugate a complex cotangent: autograd's cotangents are the conjugates of our adjoints."""
    t = boxed(t)  # autograd's own boxes do not show the kind of their payload
    return conj(t) if kind_of(t) == "complex" else t


class AutogradConfig(EngineConfig):
    """Capabilities of autograd for a rule: it differentiates function operands in both modes."""

    capabilities = EngineConfig.capabilities | {Capability("autograd")}
    name = "autograd"

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Return value and pullback, by ``make_vjp``."""
        call = Opened(boxing(f), operands, options, moves, moves)
        with _quiet():
            pull, found = make_vjp(_of_tuple(call), as_tuple(tuple(call.moved)))
        y = call.closed(_parts(found, call))

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            if not (call.out.num_leaves and call.moved):
                return call.tangents([ZeroTangent()] * len(call.moved))
            bars = map(dense, call.bars(y, y_bar), map(space, _parts(found, call)))
            x_bars = pull(as_tuple(tuple(map(conjugated, bars))))
            return call.tangents([conjugated(x_bars[i]) for i in range(len(call.moved))])

        return y, pullback

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Return value and tangent, by ``make_jvp``."""
        call = Opened(boxing(f), operands, options, moves, moves)
        dots = as_tuple(tuple(map(dense, call.dots(tangents), map(space, call.moved))))
        with _quiet():
            found, found_dot = make_jvp(_of_tuple(call), as_tuple(tuple(call.moved)))(dots)
        y = call.closed(_parts(found, call))
        return y, dense(unflatten_tangent(call.out, _parts(found_dot, call)), space(y))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress autograd's warning that a result does not depend on the input."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Output seems independent of input")
        yield


def boxing(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that autograd's boxes in its result become tracers."""
    return lambda *operands, **options: boxed(f(*operands, **options))


def _of_tuple(call: Opened) -> Callable[[Any], Any]:
    """Turn a call into a function from one autograd tuple to another; both may hold boxes."""
    return lambda moved: as_tuple(call(*[boxed(moved[i]) for i in range(len(call.moved))]))


def _parts(found: Any, call: Opened) -> list[Any]:
    return [boxed(found[i]) for i in range(call.out.num_leaves)]


config = AutogradConfig()
"""The configuration that rules see."""
