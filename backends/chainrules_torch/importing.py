"""`import_rule`: a function of PyTorch's, with its derivatives, as a primitive with a rule.

For oracles, and where nobody has stated a rule. Its arrays may be of any library that shares memory
by DLPack; the derivatives are PyTorch's own, to any order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from chainrules_py import arrays
from chainrules_py.errors import RuleError
from chainrules_py.linear import LinearMap
from chainrules_py.loading import Layer
from chainrules_py.primitive import Primitive, primitive
from chainrules_py.project import Space, space
from chainrules_py.recipes import GeneralRecipe
from chainrules_py.recipes.leaves import assembled, canonical, flat, leaf_spaces
from chainrules_py.registry import Source, Statement, enter, rules_for
from chainrules_py.structure import flatten, unflatten
from chainrules_py.tangents import NoTangent, is_zero
from chainrules_torch.config import floats, is_tensor

__all__ = ["import_rule"]


def import_rule(
    f: Callable[..., Any], /, *, of: Primitive[..., Any] | None = None
) -> Primitive[..., Any]:
    """A function of PyTorch's as a primitive, differentiated by PyTorch.

    Parameters
    ----------
    f : callable
        Takes tensors and numbers by position, and gives a tensor, or several. What else it takes is
        given beforehand: ``functools.partial(torch.logsumexp, dim=0)``.
    of : Primitive, optional
        The primitive that it computes the same as, and that gets the rule, if it has none.

    Returns
    -------
    Primitive
        ``of``, or a new one that takes arrays of any library that shares memory by DLPack, without
        copying them, and gives arrays of the same library.

    Raises
    ------
    RuleError
        If ``of`` has a rule already: an imported one is a last resort, and never preferred.

    Notes
    -----
    The rule is of the layer ``ENGINE``: any other but the core's own wins at equal signatures.
    Each operand's cotangent is asked for by a call of its own.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from chainrules_tape import grad
    >>> i0e = import_rule(torch.special.i0e)
    >>> round(grad(grad(i0e))(np.float64(1.0)), 6)
    0.171264
    """
    name = getattr(f, "__name__", None) or getattr(getattr(f, "func", None), "__name__", "imported")
    if of is not None and rules_for(of):
        msg = (
            f"{of.__name__} has a rule already, at {rules_for(of)[0].where}, and one that is "
            f"imported from PyTorch is never preferred; leave out of=, and use what "
            f"import_rule({name}) gives as an oracle"
        )
        raise RuleError(msg)

    def imported(*operands: Any) -> Any:
        return _computed(f, operands)

    imported.__name__ = imported.__qualname__ = name
    imported.__doc__ = f"PyTorch's {name}, differentiated by PyTorch."
    primal = primitive(imported) if of is None else of

    def imported_rule(*operands: Any) -> Any:
        y = primal(*operands)
        maps = [_map(f, i, operands, y) for i in range(len(operands))]
        return y, tuple(maps)

    imported_rule.__name__ = imported_rule.__qualname__ = f"{name}_rule"
    module = getattr(f, "__module__", None) or "torch"
    source = Source(module, f"import_rule({name})", f"{module}.{name}", None, False)
    many = primal.variadic is not None
    signature = (object,) * len(primal.operands)
    recipe = GeneralRecipe(imported_rule, False)
    varargs = object if many else None
    enter(Statement(primal, signature, varargs, source, recipe, layer=Layer.ENGINE))
    return primal


def _map(f: Callable[..., Any], i: int, operands: tuple[Any, ...], y: Any) -> Any:
    of = space(operands[i])
    if type(of) is not Space or of.kind not in ("real", "complex"):
        return NoTangent()
    onto = space(y)
    spaces = list(leaf_spaces([onto]))

    def push(x_dot: Any, *operands: Any) -> Any:
        moved = _pushes(f, i)(x_dot, *operands)
        dots = iter(moved if type(moved) is tuple else (moved,))
        entries = [next(dots) if _moves(of) else NoTangent() for of in spaces]
        return assembled(onto, iter(entries))

    def pull(y_bar: Any, *operands: Any) -> Any:
        entries = zip(flat(canonical(y_bar, onto, f), onto), spaces, strict=True)
        bars = [of.zeros() if is_zero(bar) else bar for bar, of in entries if _moves(of)]
        return _pulls(f, i, len(bars))(*bars, *operands)

    return LinearMap(push, pull, *operands)


def _moves(of: Space) -> bool:
    return of.kind in ("real", "complex")


@functools.lru_cache(maxsize=1024)
def _pulls(f: Callable[..., Any], i: int, n: int) -> Primitive[..., Any]:
    """From n cotangents of the results and the operands to the cotangent of the i-th."""

    def pulled(*given: Any) -> Any:
        bars, xs = given[:n], given[n:]
        return torch.func.vjp(_of_one(f, i, xs), xs[i])[1](bars)[0]

    pulled.__name__ = f"{getattr(f, '__name__', 'imported')}_pull{i}"
    return import_rule(pulled)


@functools.lru_cache(maxsize=1024)
def _pushes(f: Callable[..., Any], i: int) -> Primitive[..., Any]:
    """From a tangent of the i-th operand and the operands to the tangents of the results."""

    def pushed(x_dot: Any, *xs: Any) -> Any:
        dots = torch.func.jvp(_of_one(f, i, xs), (xs[i],), (x_dot,))[1]
        return dots if len(dots) > 1 else dots[0]

    pushed.__name__ = f"{getattr(f, '__name__', 'imported')}_push{i}"
    return import_rule(pushed)


def _of_one(f: Callable[..., Any], i: int, xs: Sequence[Any]) -> Callable[..., Any]:
    """f of its i-th operand, giving the floating-point tensors in its result."""
    return lambda x: tuple(filter(floats, flatten(f(*xs[:i], x, *xs[i + 1 :]))[0]))


# ------------------------------------------------------------------------------- across libraries


def _computed(f: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """f of tensors that share the memory of the operands; its result in their library."""
    like = next((x for x in operands if is_tensor(x)), None)
    if like is not None:
        return f(*[_tensor(x, like) for x in operands])
    home = next((x for x in operands if arrays.is_array_type(type(x))), None)
    leaves, treedef = flatten(f(*[_tensor(x, None) for x in operands]))
    return unflatten(treedef, [_back(y, home) if is_tensor(y) else y for y in leaves])


def _tensor(x: Any, like: Any) -> Any:
    """An array or number as a tensor, without a copy where that can be; integers stay numbers."""
    if is_tensor(x) or not (isinstance(x, (float, complex)) or hasattr(x, "dtype")):
        return x
    if not hasattr(x, "dtype"):
        double = torch.complex128 if isinstance(x, complex) else torch.float64
        return torch.tensor(x, dtype=double if like is None else torch.result_type(like, x))
    try:
        return torch.from_dlpack(x)
    except (AttributeError, BufferError, RuntimeError, TypeError):  # read-only, or a scalar
        return torch.tensor(x)


def _back(y: torch.Tensor, home: Any) -> Any:
    """A tensor as an array of the operands' library; as a number where there were but numbers."""
    y = y.detach().resolve_conj().resolve_neg()
    if home is None:
        return y.item()
    xp = arrays.namespace(home)
    if hasattr(home, "__array_interface__"):
        return y.numpy() if y.ndim else y.numpy()[()]
    return xp.from_dlpack(y.contiguous())
