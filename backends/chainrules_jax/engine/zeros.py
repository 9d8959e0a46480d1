"""Zeros among the results of programs that JAX traces, of which there are no numbers yet.

What is transposed is linear, so that it gives zeros of zeros: whatever else it gave would be lost.
Each operation is asked which of its results are zeros for sure. NaN, which 0 times infinity is, is
taken for a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal
from jax.interpreters import ad

from chainrules_jax.array_types import is_traced
from chainrules_jax.engine.pytrees import split

Zeros: TypeAlias = list[bool]
"""Which of some values are zeros for sure."""


def adds_constant(f: Callable[..., Sequence[Any]], *at: Any) -> bool:
    """Tell whether a function of zeros may give something else than zeros, by its program."""
    made = jax.make_jaxpr(lambda *xs: split(list(f(*xs)), numbers=True)[0])(*at)
    return not all(zeros_of(made, [True] * len(at)))


def zeros_of(program: Any, ins: Zeros) -> Zeros:
    """Tell which results of a program are zeros, where some of its operands are."""
    inner = getattr(program, "jaxpr", program)
    known = dict(zip(inner.invars, ins, strict=True))
    known |= zip(inner.constvars, map(_is_zero, getattr(program, "consts", ())), strict=False)

    def zeros(xs: Sequence[Any]) -> Zeros:
        return [_is_zero(x.val) if isinstance(x, Literal) else known.get(x, False) for x in xs]

    for step in inner.eqns:
        known |= zip(step.outvars, _of_step(step, zeros(step.invars)), strict=True)
    return zeros(inner.outvars)


def _is_zero(x: Any) -> bool:
    if is_traced(x) or jnp.issubdtype(jax.typeof(x).dtype, jax.dtypes.extended):
        return False
    return not np.any(np.asarray(x))


def _of_step(step: Any, ins: Zeros) -> Zeros:
    name, n = step.primitive.name, len(step.outvars)
    if name in ZEROS:
        return ZEROS[name](step, ins)
    if name in _PRODUCTS:
        return [any(ins)] * n
    if name in _OF_FIRST:
        return [ins[0]] * n
    if name in _OF_LAST:
        return [ins[-1]] * n
    if name in _ONE_BY_ONE:
        return ins
    inner = [p for p in step.params.values() if hasattr(p, "eqns")]
    if len(inner) == 1 and len(getattr(inner[0], "jaxpr", inner[0]).invars) == len(ins):
        return zeros_of(inner[0], ins)
    is_linear = step.primitive in ad.primitive_transposes and name not in _FOREIGN
    return [(is_linear or name in _KEEPING) and all(ins)] * n


_PRODUCTS = {"mul", "dot_general", "conv_general_dilated", "ragged_dot_general"}
_OF_FIRST = {"div", "dynamic_slice", "gather", "integer_pow", "rem", "scatter-mul"}
_OF_LAST = {"triangular_solve", "tridiagonal_solve"}
_ONE_BY_ONE = {"optimization_barrier", "ppermute", "psum", "psum_invariant", "sort"}
_FOREIGN = {"ffi_call", "io_callback"}
_KEEPING = {"abs", "max", "min", "reduce_max", "reduce_min", "sign", "slice", "sqrt", "square"}
_KEEPING |= {"cummax", "cummin", "reshard", "stop_gradient"}
"""These give zeros of zeros, beside what JAX has a transpose of."""


def _of_scan(step: Any, ins: Zeros) -> Zeros:
    if "ft_in" in step.params:  # since JAX 0.12: trees of constants, of what is carried, of rows
        constants, carried, _ = step.params["ft_in"].unpack()
        first = len([*constants.vals])
        last = first + len([*carried.vals])
    else:
        first = step.params["num_consts"]
        last = first + step.params["num_carry"]
    program = step.params["jaxpr"]
    return _settled(lambda c: zeros_of(program, [*ins[:first], *c, *ins[last:]]), ins[first:last])


def _of_while(step: Any, ins: Zeros) -> Zeros:
    first = step.params["cond_nconsts"]
    last = first + step.params["body_nconsts"]
    program = step.params["body_jaxpr"]
    return _settled(lambda c: zeros_of(program, [*ins[first:last], *c]), ins[last:])


def _settled(turn: Callable[[Zeros], Zeros], carried: Zeros) -> Zeros:
    """Turn a loop until all that is still taken for zero stays so."""
    while True:
        outs = turn(carried)
        after = [a and b for a, b in zip(carried, outs, strict=False)]
        if after == carried:
            return [*carried, *outs[len(carried) :]]
        carried = after


def _of_cond(step: Any, ins: Zeros) -> Zeros:
    each = [zeros_of(branch, ins[1:]) for branch in step.params["branches"]]
    return [*map(all, zip(*each, strict=True))]


def _of_callback(step: Any, ins: Zeros) -> Zeros:
    """Try it on some numbers, as is done to see what shapes it gives."""
    unknown = [False] * len(step.outvars)
    if not any(ins):
        return unknown
    avals = [x.aval for x in step.invars]
    some = [0 if z else 0.7 if a.dtype.kind in "fc" else 1 for z, a in zip(ins, avals, strict=True)]
    given = [np.full(a.shape, x, a.dtype) for x, a in zip(some, avals, strict=True)]
    try:
        return [not np.any(np.nan_to_num(y)) for y in step.params["callback"](*given)]
    except Exception:
        return unknown


ZEROS: dict[str, Callable[[Any, Zeros], Zeros]] = {
    "cond": _of_cond,
    "custom_linear_solve": lambda step, ins: (
        [all(ins[sum(step.params["const_lengths"]) :])] * len(step.outvars)
    ),
    "dynamic_update_slice": lambda step, ins: [all(ins[:2])],
    "pure_callback": _of_callback,
    "scan": _of_scan,
    **dict.fromkeys(("scatter", "scatter-add", "scatter-sub"), lambda _, ins: [ins[0] and ins[2]]),
    "select_n": lambda _, ins: [all(ins[1:])],
    "while": _of_while,
}
"""What an operation is asked, by its name: given it, and which of its operands are zeros."""
