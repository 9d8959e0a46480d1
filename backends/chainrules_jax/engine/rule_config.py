"""JAX for rules: its forward and reverse mode."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from chainrules_jax.engine.value_conversions import (
    conjugate,
    dense,
    is_inexact,
    is_numpy,
    is_value,
    split,
)
from chainrules_kit import EngineConfig, of_some
from chainrules_py import (
    Capability,
    NoTangent,
    ZeroTangent,
    is_zero,
    register_structure,
    unthunk,
)
from chainrules_py.extend import (
    TreeDef,
    canonicalize,
    flatten_tangent,
    partition,
    unflatten,
    unflatten_tangent,
)


class JaxConfig(EngineConfig):
    """Capabilities of JAX, and the derivatives of functions that a rule requests."""

    capabilities = EngineConfig.capabilities | {Capability("jax")}
    name = "JAX"

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Return value and tangent, by ``jax.jvp``."""
        leaves, layout, out, whole = _flattened(f, operands, options)
        t = flatten_tangent(layout, canonicalize(operands, tangents))
        moved = [i for i, part in enumerate(t) if not is_zero(part) and is_inexact(leaves[i])]
        along = of_some(whole, leaves, moved)
        at, dots = [leaves[i] for i in moved], [dense(t[i], leaves[i]) for i in moved]
        ys, y_dots = jax.jvp(along, tuple(at), tuple(dots)) if moved else (along(), [])
        return unflatten(out.layout, ys), out.tangent(y_dots or [ZeroTangent()] * len(ys), ys)

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Return value and pullback, by ``jax.vjp``."""
        leaves, layout, out, whole = _flattened(f, operands, options)
        places = [i for i, x in enumerate(leaves) if is_inexact(x)]
        ys, transpose = jax.vjp(of_some(whole, leaves, places), *[leaves[i] for i in places])
        avals = [jax.ShapeDtypeStruct(y.shape, y.dtype) for y in ys]
        return unflatten(out.layout, ys), JaxPullback(
            *jax.tree.flatten(transpose), layout, out, places, avals
        )

    def check_linear(self, f: Callable[..., Any], /, *at: Any) -> None:
        """Raise unless JAX can transpose a function, which requires that it is linear."""
        along = lambda *xs: split(f(*xs), numbers=True)[0]
        given = [*map(jnp.asarray, at)]
        jax.eval_shape(jax.linear_transpose(along, *given), jax.eval_shape(along, *given))


config = JaxConfig()


def _flattened(
    f: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any]
) -> tuple[list[Any], TreeDef, _Out, Callable[..., list[Any]]]:
    """Return the arrays and floating-point numbers of a call, and the call as a function of them.

    Between the two are the layout of the operands, and that of the result.
    """
    leaves, layout = partition(
        operands, lambda x: is_value(x) or type(x) in (float, complex) or is_numpy(x, "fc")
    )
    out = _Out()
    whole = lambda *leaves: out.opened(f(*unflatten(layout, leaves), **options))
    return [x if is_value(x) else jnp.asarray(x) for x in leaves], layout, out, whole


class _Out:
    """Layout of a result, known once the result has been split into its arrays."""

    layout: TreeDef

    def opened(self, y: Any) -> list[Any]:
        leaves, self.layout = split(y, numbers=True)
        return leaves

    def tangent(self, dots: list[Any], ys: list[Any]) -> Any:
        given = [t if is_inexact(y) else NoTangent() for t, y in zip(dots, ys, strict=True)]
        return unflatten_tangent(self.layout, given)


@final
@dataclasses.dataclass(frozen=True, eq=False)
class JaxPullback:
    """Pullback from ``jax.vjp``, as its arrays, that takes and returns tangents in our form."""

    leaves: Sequence[Any]
    tree: Any
    layout: TreeDef
    out: _Out
    places: list[int]
    avals: list[Any]

    def __call__(self, y_bar: Any) -> tuple[Any, ...]:
        """Return one cotangent per operand."""
        y = unflatten(self.out.layout, self.avals)
        parts = flatten_tangent(self.out.layout, canonicalize(y, unthunk(y_bar)))
        cts = [
            conjugate(dense(t, a)) if is_inexact(a) else np.zeros(a.shape, jax.dtypes.float0)
            for t, a in zip(parts, self.avals, strict=True)
        ]
        bars = jax.tree.unflatten(self.tree, self.leaves)(cts)
        found = dict(zip(self.places, map(conjugate, bars), strict=True))
        given = [found.get(i, NoTangent()) for i in range(self.layout.num_leaves)]
        t = unflatten_tangent(self.layout, given)
        return tuple([unthunk(part) for _, part in t.fields()])


# A pullback is a structure, so that its residuals are visible to engines.
register_structure(
    JaxPullback,
    lambda p: list(enumerate(p.leaves)),
    lambda p, leaves: dataclasses.replace(p, leaves=leaves),
    hollow=True,
)
