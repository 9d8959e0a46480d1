"""Primitive for linear functions of which both directions are known.

JAX differentiates, transposes, batches and compiles a program by the properties of its primitives.
`linear_p` has a pair of functions: it pushes tangents forward by a rule, and its transpose pulls
cotangents back by the rule. What the two need from the point are its first operands, so that JAX
keeps them as residuals, and differentiates with respect to them.
"""

from __future__ import annotations

import contextvars
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, final

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from chainrules_jax import _private
from chainrules_jax.array_types import Concrete, is_traced
from chainrules_kit import of_some

Map = Callable[[Sequence[Any], Sequence[Any]], list[Any]]

silent: contextvars.ContextVar[bool] = contextvars.ContextVar("silent", default=False)
"""Whether reports are suppressed."""


@final
@dataclasses.dataclass(eq=False, repr=False)
class LinearPair:
    """A linear function and its transpose, each ``f(residuals, values) -> values``.

    Attributes
    ----------
    forward, backward : callable
        The two functions, on flat lists.
    ins, outs : tuple of ShapedArray
        The types of the inputs and outputs of ``forward``.
    residuals : int
        The number of residuals.
    name : str
        The function whose derivative this is, for printing.
    alone : str
        The half that is stated, "forward" or "backward", if the other one is its transpose. It is
        differentiated as written, also with respect to the values: JAX detects that it is not
        linear only when it transposes it, and reverse mode does not.
    is_linear : bool
        Whether the function itself is stated as linear in these inputs.
    """

    forward: Map
    backward: Map
    ins: tuple[Any, ...]
    outs: tuple[Any, ...]
    residuals: int
    name: str
    alone: str = ""
    is_linear: bool = False

    @functools.cached_property
    def transposed(self) -> LinearPair:
        """The pair with its halves exchanged."""
        found = dataclasses.replace(
            self,
            forward=self.backward,
            backward=self.forward,
            ins=self.outs,
            outs=self.ins,
            alone={"forward": "backward", "backward": "forward"}.get(self.alone, ""),
        )
        found.transposed = self
        return found

    @functools.cached_property
    def silent(self) -> LinearPair:
        """The pair for derivatives with respect to the mapped values, without reports.

        The contribution of the residuals is missing from it, so it may depend on a choice (as of
        singular vectors) that the sum does not depend on.
        """
        return dataclasses.replace(
            self, forward=_silent(self.forward), backward=_silent(self.backward)
        )

    def batched(
        self, size: int, dims: Sequence[Any], moved: Sequence[Any], name: Any = None
    ) -> LinearPair:
        """Return the pair for a batch, with its axis in front.

        ``dims`` has 0 for each residual with that axis, and None for each that is shared; ``moved``
        has the same of the inputs.
        """

        def over(half: Map, axes: Any) -> Any:
            each = jax.vmap(
                lambda res, ts: list(half(res, ts)),
                (list(dims), axes),
                axis_name=name,
                axis_size=size,
            )
            return lambda res, ts: each(list(res), list(ts))

        pull = over(self.backward, 0)

        def backward(res: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            bars = zip(pull(res, cts), moved, strict=True)
            return [bar.sum(0) if d is None else bar for bar, d in bars]

        ins = zip(self.ins, moved, strict=True)
        return dataclasses.replace(
            self,
            forward=over(self.forward, list(moved)),
            backward=backward,
            ins=tuple([a if d is None else batched_type(a, size) for a, d in ins]),
            outs=tuple([batched_type(a, size) for a in self.outs]),
        )

    def __repr__(self) -> str:
        shown = ", ".join(a.str_short() for a in self.ins)
        return f"<{self.name}: {shown} -> {', '.join(a.str_short() for a in self.outs)}>"


_private.held_weakly.add(LinearPair)


def _silent(half: Map) -> Map:
    def mapped(res: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        context = contextvars.copy_context()
        context.run(silent.set, True)
        return context.run(half, res, ts)

    return mapped


def tangent_type(x: Any) -> Any:
    """Return the type of a floating-point value's tangents."""
    return ShapedArray(x.shape, x.dtype)


def batched_type(aval: Any, size: int) -> Any:
    """Return the type of a batch of values of this type."""
    return ShapedArray((size, *aval.shape), aval.dtype)


def element_type(aval: Any, dim: int | None) -> Any:
    """Return the type of the elements of a batch with its axis in front, or of a shared array."""
    return aval if dim is None else aval.update(shape=aval.shape[1:], sharding=None)


def in_front(xs: Sequence[Any], dims: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Move the batch axis of each array to the front; return the arrays, and 0 or None for each."""
    moved = [jnp.moveaxis(x, d, 0) if d else x for x, d in zip(xs, dims, strict=True)]
    return moved, [None if d is None else 0 for d in dims]


def batched(
    axis: Any,
    operands: Sequence[Any],
    dims: Sequence[Any],
    one: Callable[..., list[Any]],
    evaluate: Callable[..., list[Any]],
    several: Callable[..., list[Any]],
) -> tuple[list[Any], list[int | None]]:
    """Compute a batch, and the place of its axis in each result.

    Parameters
    ----------
    axis
        JAX's description of the axis.
    operands, dims : sequence
        The arrays, and the place of the axis in each; None for one that is shared.
    one : callable
        ``one(*operands)`` binds the primitive without the axis.
    evaluate : callable
        ``evaluate(*operands)`` computes what the primitive stands for.
    several : callable
        ``several(operands, dims, name)`` computes the batch, with its axis in front.
    """
    name = axis.name if type(axis.name) is not object else None  # JAX's placeholder for no name
    operands = [*map(as_array, operands)]
    shared = all([d is None for d in dims])
    if shared and name is None:
        return (out := one(*operands)), [None] * len(out)
    shared = shared and _are_shared(evaluate, operands, axis)
    out = several(*in_front(operands, dims), name)
    return [y[0] for y in out] if shared else out, [None if shared else 0] * len(out)


def _are_shared(f: Callable[..., Any], operands: Sequence[Any], axis: Any) -> bool:
    """Return whether results at shared operands are the same along a named axis, as means are."""
    if not axis.size:
        return False
    over = jax.vmap(lambda xs: f(*xs), None, None, axis_name=axis.name, axis_size=axis.size)
    try:
        jax.eval_shape(over, list(operands))
    except ValueError:  # a result depends on the place along the axis
        return False
    return True


@functools.cache
def batch_tracer() -> type:
    """Return the class of the tracers of ``vmap``, which has no public name."""
    found: list[type] = []
    jax.eval_shape(
        jax.vmap(lambda x: found.append(type(x))), jax.ShapeDtypeStruct((1,), np.float32)
    )
    return found[0]


def is_there(x: Any) -> bool:
    """Return whether a value is known; for a batch, whether all of its elements are."""
    cls = batch_tracer()
    while type(x) is cls and hasattr(x, "val"):
        x = x.val
    return not is_traced(x)


linear_p = Primitive("chainrules_linear")
linear_p.multiple_results = True


def _evaluate(*operands: Any, pair: LinearPair) -> list[Any]:
    n, operands = pair.residuals, tuple(map(as_array, operands))
    return pair.forward(operands[:n], operands[n:])


linear_p.def_impl(_evaluate)
linear_p.def_abstract_eval(lambda *_, pair: list(pair.outs))
mlir.register_lowering(linear_p, mlir.lower_fun(_evaluate, multiple_results=True))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, pair: LinearPair) -> Any:
    """Differentiate linearly in the values, and in the residuals by the program of the half.

    If only this half is stated, differentiate its program in both.
    """
    n, primals = pair.residuals, [*map(as_array, primals)]
    tangents = [t if type(t) is ad.Zero else as_array(t) for t in tangents]
    y = linear_p.bind(*primals, pair=pair)
    terms: list[list[Any]] = []
    own = len(primals) if pair.alone == "forward" else n
    if any(type(t) is not ad.Zero for t in tangents[own:]):
        moved = [ad.instantiate_zeros(t) for t in tangents[n:]]
        terms.append(linear_p.bind(*primals[:n], *moved, pair=pair.silent))
    places = [i for i, t in enumerate(tangents[:own]) if is_moved(t)]
    if places:
        along = of_some(lambda *xs: list(pair.forward(xs[:n], xs[n:])), primals, places)
        at, dots = [tuple([xs[i] for i in places]) for xs in (primals, tangents)]
        terms.append(jax.jvp(along, at, dots)[1])
    if not terms:
        return y, [ad.Zero(a) for a in pair.outs]
    total = terms[0] if len(terms) == 1 else [a + b for a, b in zip(*terms, strict=True)]
    return y, total


def is_moved(t: Any) -> bool:
    """Return whether a tangent is neither a symbolic zero nor of dtype float0."""
    return type(t) is not ad.Zero and t.dtype != jax.dtypes.float0


def as_array(x: Any) -> Any:
    """Convert to a JAX array: JAX passes Python numbers, or literals of programs."""
    return x if isinstance(x, (Concrete, jax.core.Tracer)) else jnp.asarray(x)


def floating(x: Any) -> Any:
    """Convert to a JAX array, of integers to one of floating-point numbers."""
    x = as_array(x)
    return x * 1.0 if jnp.issubdtype(x.dtype, jnp.integer) else x


ad.primitive_jvps[linear_p] = _jvp


def _transpose(cotangents: Sequence[Any], *operands: Any, pair: LinearPair) -> list[Any]:
    n = pair.residuals
    res = [*map(as_array, operands[:n])]
    cts = [as_array(ad.instantiate_zeros(ct)) for ct in cotangents]
    bars = (
        pair.backward(res, cts)
        if all(map(is_there, (*res, *cts)))
        else linear_p.bind(*res, *cts, pair=pair.transposed)
    )
    return [None] * n + [
        bar if ad.is_undefined_primal(x) else None
        for x, bar in zip(operands[n:], bars, strict=True)
    ]


ad.primitive_transposes[linear_p] = _transpose


def _batch(axis: Any, operands: Sequence[Any], dims: Sequence[Any], *, pair: LinearPair) -> Any:
    n = pair.residuals

    def several(operands: Sequence[Any], dims: Sequence[Any], name: Any) -> Any:
        return linear_p.bind(*operands, pair=pair.batched(axis.size, dims[:n], dims[n:], name))

    one, evaluate = [functools.partial(f, pair=pair) for f in (linear_p.bind, _evaluate)]
    return batched(axis, operands, dims, one, evaluate, several)


batching.fancy_primitive_batchers[linear_p] = _batch
