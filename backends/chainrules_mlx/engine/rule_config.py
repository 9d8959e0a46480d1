"""MLX for rules: its forward and reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np

from chainrules_kit import EngineConfig
from chainrules_kit import dense as filled
from chainrules_mlx import namespace as xp
from chainrules_mlx.engine.values import dense, is_floating
from chainrules_py import Capability, ZeroTangent, space
from chainrules_py.extend import Opened, flatten, unflatten_tangent

_mx: Any = mx


class MlxConfig(EngineConfig):
    """Capabilities of MLX for a rule: it differentiates function operands, in both modes."""

    capabilities = EngineConfig.capabilities | {Capability("mlx")}
    name = "MLX"

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Return value and pullback, by ``mx.vjp``, which runs f again in each pullback."""
        call = Opened(f, operands, options, _moves, is_floating)
        moved = list(map(_as_array, call.moved))
        found = call(*moved)
        y = call.closed(found)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            if not found or not moved:
                return call.tangents([ZeroTangent()] * len(moved))
            given = [dense(t, x) for t, x in zip(call.bars(y, y_bar), found, strict=True)]
            _, bars = _mx.vjp(lambda *xs: list(call(*xs)), moved, given)
            return call.tangents(bars)

        return y, pullback

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Return value and tangent, by ``mx.jvp``."""
        call = Opened(f, operands, options, _moves, is_floating)
        moved = list(map(_as_array, call.moved))
        dots = [dense(t, x) for t, x in zip(call.dots(tangents), moved, strict=True)]
        if moved:
            found, found_dot = _mx.jvp(lambda *xs: list(call(*xs)), moved, dots)
        else:
            found, found_dot = call(), []
        y = call.closed(found)
        if not found_dot:
            return y, ZeroTangent()
        return y, filled(unflatten_tangent(call.out, found_dot), space(y))

    def numbers(self, x: Any) -> Any:
        """Return the numbers of a value as a NumPy array, while MLX keeps their graph."""
        return xp.kept(np.array, _as_array(x))

    def sees(self, x: Any) -> bool:
        """Return whether a value's numbers can be read; False in `mx.compile` and `mx.vmap`."""
        try:
            return super().sees(x) and all([np.ndim(self.numbers(t)) >= 0 for t in flatten(x)[0]])
        except ValueError:
            return False


def _moves(x: Any) -> bool:
    return is_floating(x) or type(x) in (float, complex)


def _as_array(x: Any) -> Any:
    return x if isinstance(x, mx.array) else _mx.array(x)


config = MlxConfig()
"""The configuration that rules see."""
