"""`import_rule`: a PyTorch function, with its derivatives, as a primitive with a rule.

Use it for oracles, and for functions without a rule. The arrays may be of any library that shares
memory by DLPack; the derivatives are PyTorch's own, to any order.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import torch
from torch.autograd.graph import get_gradient_edge
from torch.utils.dlpack import from_dlpack

from chainrules_kit import refuse_traced_captures
from chainrules_kit.custom_derivatives.rules_from_engine_functions import (
    ByPosition,
    ImportedRule,
    check_flat,
    declared,
    parameters_of_imported,
    state_imported,
    without_rule,
)
from chainrules_py import (
    NotDifferentiableError,
    Primitive,
    RuleError,
)
from chainrules_py.extend import (
    Tracer,
    flatten,
    kind_of,
    map_leaves,
    name_of,
    namespace,
)
from chainrules_torch import _private
from chainrules_torch.array_types import native
from chainrules_torch.engine.rule_config import Unlost, constant, floats, is_tensor


def import_rule(
    f: Callable[..., Any],
    /,
    *,
    operands: int | None = None,
    to: Primitive[..., Any] | None = None,
) -> Primitive[..., Any]:
    """Import a PyTorch function as a primitive that PyTorch differentiates.

    Parameters
    ----------
    f : callable
        Takes tensors and numbers by position, or by name if its signature is known, and returns one
        or several tensors. Bind other arguments beforehand:
        ``functools.partial(torch.logsumexp, dim=0)``.
    operands : int, optional
        How many of its parameters are operands, by position. The others are options, by name.
    to : Primitive, optional
        A primitive without a rule that computes the same, and that gets the rule.

    Returns
    -------
    Primitive
        ``to``, or a new primitive that takes arrays of any library that shares memory by DLPack,
        without copying them, and returns arrays of the same library.

    Raises
    ------
    RuleError
        If ``to`` has a rule already: an imported rule is a last resort, and never preferred. If f
        is a class of `torch.autograd.Function`, and not its ``apply``.

    Notes
    -----
    The rule is of the layer ``ENGINE``: any other rule but the core's has precedence at equal
    signatures.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from chainrules_tape import grad
    >>> i0e = import_rule(torch.special.i0e)
    >>> round(float(grad(grad(i0e))(np.float64(1.0))), 6)
    0.307788
    """
    if isinstance(f, type) and issubclass(f, torch.autograd.Function):
        raise RuleError(
            f"{name_of(f)} is a class of functions: write import_rule({name_of(f)}.apply)"
        )
    if to is not None:
        primal = without_rule(to, f)
    else:
        flat = None if operands is not None else ByPosition(f, torch.overrides.resolve_name)
        names, options = ([], {}) if flat is not None else parameters_of_imported(f, operands)
        value = functools.partial(computed_by_torch, f)
        primal = declared(f, names, options, value, signature=flat)
    rule = ImportedRule(
        f, functools.partial(_moving, f), _pushed, _pulled, lambda half, n: import_rule(half)
    )
    state_imported(primal, rule, module="chainrules_torch", engine="PyTorch")
    return primal


@contextlib.contextmanager
def _as_ours(f: Callable[..., Any]) -> Generator[None]:
    """Raise our error if PyTorch has no derivative, at this order or in this mode."""
    try:
        yield
    except (NotImplementedError, RuntimeError) as error:
        said = str(error).partition("\n")[0].partition(". This is unsupported")[0]
        lacks = "functorch transform" in said or "derivative for" in said
        if not (lacks or isinstance(error, NotImplementedError)):
            raise
        raise NotDifferentiableError(
            f"import_rule({name_of(f)}): PyTorch does not differentiate it so ({said}); write "
            f"torch.func.grad for torch.autograd in it, take its first derivative in reverse mode, "
            f"or state a rule of it"
        ) from error


def _given(f: Callable[..., Any], options: dict[str, Any]) -> Callable[..., Any]:
    """Return a function with its options bound."""
    return functools.partial(f, **options) if options else f


def _moving(f: Callable[..., Any], *xs: Any, **options: Any) -> list[Any]:
    """List the differentiable parts of a result, which f computes anew; raise if it draws."""
    state = torch.get_rng_state()
    with Unlost(), _as_ours(f):
        y = _called(_given(f, options), xs)
    if not torch.equal(state, torch.get_rng_state()):
        raise NotDifferentiableError(
            f"import_rule({name_of(f)}) draws random numbers, and its derivative would draw "
            f"others: draw outside of it, and pass what was drawn, as a mask, as an operand"
        )
    return [x for x in flatten(y)[0] if kind_of(x) in ("real", "complex")]


def _tensors(along: Callable[..., list[Any]]) -> Callable[..., tuple[Any, ...]]:
    def tensors(*xs: Any) -> tuple[Any, ...]:
        like = next(filter(floats, xs), None)
        return tuple([_tensor(y, like) for y in along(*xs)])

    return tensors


def _pulled(along: Callable[..., list[Any]], at: tuple[Any, ...], bars: Sequence[Any]) -> Any:
    with _as_ours(along):
        try:
            return torch.func.vjp(_tensors(along), *at)[1](tuple(bars))
        except (RuntimeError, NotDifferentiableError) as error:
            if "autograd.Function" not in str(error) or _private.transforms_active():
                raise
        return _pulled_by_graph(along, at, bars)


def _pulled_by_graph(
    along: Callable[..., list[Any]], at: tuple[Any, ...], bars: Sequence[Any]
) -> Any:
    """Pull back by the recorded graph, for a Function that `torch.func` does not take."""
    with torch.enable_grad():
        xs, seeds = [[x.view_as(x).requires_grad_() for x in group] for group in (at, bars)]
        pairs = [
            (y, t) for y, t in zip(_tensors(along)(*xs), seeds, strict=True) if y.requires_grad
        ]
        nodes, found = set[Any](), {get_gradient_edge(y).node for y, _ in pairs}
        while found:
            nodes |= found
            found = {n for node in found for n, _ in node.next_functions if n} - nodes
        # Here PyTorch lost what a derivative without a second one depends on, and would return 0.
        if "torch::autograd::Error" in {node.name() for node in nodes}:
            raise NotImplementedError("its backward is marked @once_differentiable")
        leaves = {node.variable for node in nodes if hasattr(node, "variable")}
        return torch.autograd.grad(
            [y for y, _ in pairs],
            xs,
            [t for _, t in pairs],
            create_graph=not leaves <= {*xs} or any([bar.requires_grad for bar in bars]),
            materialize_grads=True,
        )


def _pushed(along: Callable[..., list[Any]], at: tuple[Any, ...], dots: Sequence[Any]) -> Any:
    with _as_ours(along):
        try:
            return torch.func.jvp(_tensors(along), at, tuple(dots))[1]
        except (RuntimeError, NotDifferentiableError) as error:  # it may have reverse mode only
            of_function = "autograd.Function" in str(error)
            if of_function and _private.transforms_active():
                raise
        pulled = _pulled_by_graph if of_function else _pulled
        transpose = functools.wraps(along)(lambda *bars: list(pulled(along, at, bars)))
        return pulled(transpose, tuple(map(torch.zeros_like, _tensors(along)(*at))), dots)


def _called(f: Callable[..., Any], xs: Sequence[Any]) -> Any:
    """Call a function again, without updating the buffers of a module a second time."""
    if not isinstance(f, torch.nn.Module) or isinstance(f, torch.jit.ScriptModule):
        return f(*xs)
    buffers = {name: x.clone() for name, x in f.named_buffers()}
    return torch.func.functional_call(f, buffers, tuple(xs)) if buffers else f(*xs)


# ------------------------------------------------------------------------------- across libraries


def computed_by_torch(
    f: Callable[..., Any], operands: tuple[Any, ...], options: dict[str, Any] | None = None
) -> Any:
    """Call f with tensors that share the memory of the operands; convert its result back."""
    f, like = _given(f, options or {}), next((x for x in operands if is_tensor(x)), None)
    if like is not None:
        return f(*[_tensor(x, like) for x in operands])
    home = next((x for x in operands if hasattr(x, "dtype")), None)
    given = [_tensor(x, None) for x in operands]
    shared = {0, *[_memory(x) for x in given if is_tensor(x)]}

    def back(y: Any) -> Any:
        if _is_escaping(y):
            refuse_traced_captures(f, _is_escaping)
        if not is_tensor(y):
            return y
        return _back(y.clone() if _memory(y) in shared else y, home)

    try:
        y = f(*given)
    except Exception:  # PyTorch cannot compute with an operand
        refuse_traced_captures(f)
        check_flat(f, operands)
        raise
    return map_leaves(back, y)


def _is_escaping(x: Any) -> bool:
    """Return whether a value would lose its derivative in another library's array."""
    return isinstance(x, Tracer) or (
        is_tensor(x) and _private.functorch.is_functorch_wrapped_tensor(x)
    )


def _memory(x: torch.Tensor) -> int:
    """Return the place of a tensor's memory, or 0 if it has none, as a tangent of zeros."""
    try:
        return x.untyped_storage().data_ptr()
    except RuntimeError:
        return 0


def _tensor(x: Any, like: Any) -> Any:
    """Convert an array or float to a tensor, without a copy if possible; integers stay numbers."""
    if is_tensor(x) or not (isinstance(x, (float, complex)) or hasattr(x, "dtype")):
        return x
    if not hasattr(x, "dtype"):
        double = torch.complex128 if isinstance(x, complex) else torch.float64
        return torch.tensor(x, dtype=double if like is None else torch.result_type(like, x))
    try:
        return from_dlpack(_forwards(x))
    except (AttributeError, BufferError, RuntimeError, TypeError):  # read-only, or a scalar
        return torch.tensor(native(x))


def _forwards(x: Any) -> Any:
    """Copy an array with negative strides: PyTorch lacks them, and would end the process."""
    seen = x
    if not hasattr(x, "strides"):
        try:
            seen = np.from_dlpack(x)
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            return x
    return seen.copy() if min(seen.strides or (0,)) < 0 else x


def _back(y: torch.Tensor, home: Any) -> Any:
    """Convert a tensor to an array of the operands' library, or to a number without such arrays."""
    y = constant(y)
    if home is None:
        return y.item()
    xp = namespace(home)
    if hasattr(home, "__array_interface__"):
        return y.numpy() if y.ndim else y.numpy()[()]
    return xp.from_dlpack(y.contiguous())
