"""A call of a function with a rule, as one JAX primitive.

`call_p` computes the function by JAX's operations; its derivative is the rule's, at every order. In
a program that JAX traces it is one operation, and the operations that compute it replace it when
the program is compiled.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, final

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from chainrules_jax import _private
from chainrules_jax.array_types import is_traced
from chainrules_jax.engine.call_linearization import (
    Leaves,
    Linearized,
    Operation,
    Program,
    no_tangent,
    not_found,
)
from chainrules_jax.engine.jet import define_series
from chainrules_jax.engine.linear_primitive import (
    as_array,
    batch_tracer,
    batched,
    element_type,
    floating,
    linear_p,
)
from chainrules_jax.engine.value_conversions import is_inexact, is_value, split
from chainrules_kit import (
    check_hidden,
    check_options,
    is_captured,
    lookups,
    of_own,
    own_function,
    refuse_numpy,
)
from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from chainrules_py.extend import Cache, TreeDef, closed, exactly


@final
@dataclasses.dataclass(frozen=True, slots=True)
class Mapped:
    """A program under ``vmap``: the same for several calls at once.

    Attributes
    ----------
    program : Program or Mapped
        The program of one call.
    size : int
        The number of calls.
    dims : tuple
        0 for an array with the axis of the calls in front, None for one that all calls share.
    name : hashable
        The name of that axis, None if it has none.
    """

    program: Any
    size: int
    dims: tuple[int | None, ...]
    name: Any = None

    def value(self, *leaves: Any) -> list[Any]:
        """Compute the results of all calls, with an axis for the calls in front."""
        return self._over(self.program.value, self.dims)(*leaves)  # type: ignore[no-any-return]

    def _over(self, f: Any, dims: Any) -> Any:
        return jax.vmap(f, in_axes=dims, axis_name=self.name, axis_size=self.size)

    def avals(self, *ins: Any) -> list[Any]:
        """Return the shapes and dtypes of the results, with the axis of the calls in front."""
        return list(jax.make_jaxpr(self.value)(*ins).out_avals)

    def linearize(self, leaves: Leaves, moves: Sequence[bool]) -> Linearized:
        """Compute value and derivative; residuals that all calls share have no batch axis."""
        pair: Any = None
        kept: list[tuple[bool, Any]] = []

        def one(*leaves: Any) -> tuple[list[Any], list[Any]]:
            nonlocal pair
            ys, pair, residuals = self.program.linearize(leaves, moves)
            kept[:] = [(isinstance(r, batch_tracer()), r) for r in residuals]
            return ys, [r for batched, r in kept if batched]

        ys, found = self._over(one, self.dims)(*leaves)
        if pair is None:
            return ys, None, []
        rest = iter(found)
        residuals = [next(rest) if batched else r for batched, r in kept]
        dims = [0 if batched else None for batched, _ in kept]
        moved = [d for d, m in zip(self.dims, moves, strict=True) if m]
        return ys, pair.batched(self.size, dims, moved, self.name), residuals

    def __repr__(self) -> str:
        return f"vmap({self.program!r})"


# ------------------------------------------------------------------------------ the primitive

call_p = Primitive("chainrules_call")
call_p.multiple_results = True


def _evaluate(*leaves: Any, program: Any) -> list[Any]:
    return program.value(*map(as_array, leaves))  # type: ignore[no-any-return]


call_p.def_impl(_evaluate)
call_p.def_abstract_eval(lambda *avals, program: program.avals(*avals))
mlir.register_lowering(call_p, mlir.lower_fun(_evaluate, multiple_results=True))


def _linearize(_: bool, moves: Sequence[bool], *primals: Any, program: Any) -> Any:
    """Return the results, which of them have tangents, the residuals, and the linear function."""
    # Numbers become arrays at the point: a rule may read them.
    leaves = [*map(as_array, primals)]
    moves = [m and is_inexact(x) for x, m in zip(leaves, moves, strict=True)]
    ys, pair, residuals = program.linearize(leaves, moves)
    zeros = [None if pair and is_inexact(y) else no_tangent(y) for y in ys]

    def linear(residuals: Leaves, *tangents: Any) -> list[Any]:
        given = [as_array(t) for t, m in zip(tangents, moves, strict=True) if m]
        rest = iter(linear_p.bind(*residuals, *given, pair=pair) if pair else ())
        return [next(rest) if zero is None else zero for zero in zeros]

    return ys, [zero is None for zero in zeros], residuals, linear


def _jvp(primals: Leaves, tangents: Leaves, *, program: Any) -> tuple[list[Any], list[Any]]:
    moves = [type(t) is not ad.Zero for t in tangents]
    ys, _, residuals, linear = _linearize(False, moves, *primals, program=program)
    return ys, linear(residuals, *tangents)


ad.primitive_jvps[call_p] = _jvp
if jax.__version_info__ < (0, 11, 1):  # later versions of JAX linearize by `_jvp`
    _private.primitive_linearizations[call_p] = _linearize


def _transpose(cotangents: Sequence[Any], *operands: Any, program: Any) -> list[Any]:
    """Pull back through a function that is stated as linear, for `jax.linear_transpose`."""
    moves = [ad.is_undefined_primal(x) for x in operands]
    given = [
        jnp.zeros(x.aval.shape, x.aval.dtype) if m else as_array(x)
        for x, m in zip(operands, moves, strict=True)
    ]
    ys, pair, residuals = program.linearize(given, moves)
    if pair is None:
        return [None] * len(moves)
    if not pair.is_linear:
        raise NotDifferentiableError(
            f"{pair.name} is not stated as linear in what jax.linear_transpose "
            f"moves: state it by linear_rule, or take jax.vjp"
        )
    each = zip(cotangents, ys, strict=True)
    cts = [as_array(ad.instantiate_zeros(t)) for t, y in each if is_inexact(y)]
    bars = iter(linear_p.bind(*residuals, *cts, pair=pair.transposed))
    return [next(bars) if m else None for m in moves]


ad.primitive_transposes[call_p] = _transpose


def _batch(axis: Any, leaves: Leaves, dims: Sequence[Any], *, program: Any) -> Any:
    def several(leaves: Leaves, dims: Sequence[Any], name: Any) -> Any:
        if isinstance(program, Program) and name is None:
            one = [element_type(jax.typeof(x), d) for x, d in zip(leaves, dims, strict=True)]
            aligned = _aligned(leaves, dims)
            both = program.is_elementwise(leaves) and program.is_elementwise(aligned)
            if both and program.stays(one):
                run = call_p.bind if any(map(is_traced, aligned)) else _evaluate
                return run(*aligned, program=program)
        return call_p.bind(*leaves, program=Mapped(program, axis.size, tuple(dims), name))

    one = functools.partial(call_p.bind, program=program)
    return batched(axis, leaves, dims, one, program.value, several)


def _aligned(leaves: Leaves, dims: Sequence[Any]) -> list[Any]:
    """Return arrays that broadcast as those of one call, with the batch axis in front."""
    ndim = max(x.ndim - (d is not None) for x, d in zip(leaves, dims, strict=True))
    return [
        x
        if d is None or x.ndim > ndim
        else x.reshape(x.shape[0], *(1,) * (ndim + 1 - x.ndim), *x.shape[1:])
        for x, d in zip(leaves, dims, strict=True)
    ]


batching.fancy_primitive_batchers[call_p] = _batch
define_series(call_p)
define_series(linear_p)


# ----------------------------------------------------------------------------------- a call

_programs = Cache()
"""Programs by their calls; cleared when a rule is added, and when there are too many."""


def run(operation: Operation, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call a primitive with all its options; as one operation if JAX traces its arrays.

    Traced values that a function among the operands captured become parameters.
    """
    try:
        return _run(operation, operands, options)
    except NotDifferentiableError:
        if operation not in _SOLVING:
            raise
        f, x, *params = operands
        x, given = jax.tree.map(floating, (x, tuple(params)))
        at = (x, given[0][0], *given[1:]) if operation is v.odeint else (x, *given)
        converted, found = jax.closure_convert(f, *at)
        if not found:
            raise
    return _run(operation, (converted, x, *given, *found), options)


_SOLVING = {v.root, v.fixed_point, v.minimize, v.linear_solve, v.odeint}
"""Operations whose first operand is a function of the others."""


def _run(operation: Operation, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    check_options(operation, options, is_traced)
    if (own := own_function(operation, "JAX", is_traced)) is not None:
        return own(*operands, **options)
    if not all(map(is_value, operands)):
        check_hidden(operation, operands, is_traced)
    if operation.fixed:
        is_captured(operation, is_traced, True, operands)
    leaves, treedef = split(
        tuple([closed(of_own(x, "JAX")) if callable(x) else x for x in operands])
    )
    program = _program(operation, treedef, options)
    if not any(map(is_traced, leaves)):
        ys = program.value(*leaves)
        if operation in _SOLVING and (hidden := [y for y in ys if is_traced(y)]):
            raise not_found(operation, hidden[0])
        return program.closed(ys)
    if program.is_looked_into(leaves):
        try:  # JAX differentiates through the body
            return program.closed(program.value(*leaves))
        except ValueError as error:
            refuse_numpy(
                error, operation, "JAX", asked="callbacks do not support JVP" in str(error)
            )
            raise
    if lookups(operation):
        is_captured(operation, is_traced, True)
    refuse_varying(operation, leaves)
    return program.closed(call_p.bind(*leaves, program=program))


def refuse_varying(operation: Operation, leaves: Leaves) -> None:
    """Raise inside of `jax.shard_map` with types that state what values vary over.

    Raises
    ------
    NotDifferentiableError
        With what to write instead.
    """
    if jax.sharding.get_abstract_mesh().manual_axes and any(
        [jax.typeof(x).manual_axis_type.varying for x in leaves]
    ):
        raise NotDifferentiableError(
            f"{operation.__name__} is called in jax.shard_map, whose types say what values vary "
            f"over, "
            f"which a rule does not: write jax.shard_map(..., check_vma=False)"
        )


def _program(operation: Operation, treedef: TreeDef, options: dict[str, Any]) -> Program:
    """Return the program of a call; equal calls share one, so that JAX's caches recognise it."""
    keys = [child.key() for child in treedef.children]
    if None in keys:
        return Program(operation, treedef, options)
    # A program stores dtypes, which differ with the switch for 64 bits.
    key = (operation, jax.config.jax_enable_x64, *keys, *map(exactly, options.values()))  # type: ignore[attr-defined]
    try:
        return _programs.table[key]  # type: ignore[no-any-return]
    except TypeError:  # an operand is not hashable
        return Program(operation, treedef, options)
    except KeyError:
        made = _programs.open()[key] = Program(operation, treedef, options)
        return made
