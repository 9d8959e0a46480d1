"""PyTorch's compilers: whether one is active, what its graphs hold, and what to leave out."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from chainrules_py import ChainRulesError, RuleError, TracerError
from chainrules_py.extend import is_structure_type
from chainrules_torch import _private

unseen = _private.unseen


def is_abstract(x: Any) -> bool:
    """Return whether a value is a tensor of a compiler, or wraps one."""
    while isinstance(x, torch.Tensor) and _private.functorch.is_functorch_wrapped_tensor(x):
        x = _private.functorch.get_unwrapped(x)
    return isinstance(x, (_private.FakeTensor, _private.FunctionalTensor))


def captured_there(name: str) -> TracerError:
    """Return the error for a tensor that code captured, in a compiled program.

    Without ``fullgraph=True`` the compiler leaves the call out of its graph.
    """
    return TracerError(
        f"{name} captured a tensor, which a compiled program does not see: make it an operand, or "
        f"compile without fullgraph=True"
    )


def refuse_captured(error: Exception, name: str) -> None:
    """Raise for a captured tensor, if that is what PyTorch's error reports.

    Raises
    ------
    TracerError
        With what to write instead.
    """
    if type(error) is AssertionError and "convert all Tensors to FakeTensors" in str(error):
        raise captured_there(name) from error


def is_recorded() -> bool:
    """Return whether PyTorch records operations, and what NumPy computes as constants."""
    return bool(_private.modes_active()) and get_proxy_mode() is not None


def is_writing_down() -> bool:
    """Return whether PyTorch captures a program of what runs, for `make_fx` or `torch.export`.

    `torch.compile` does not count: it captures value and derivative together.
    """
    if is_recorded():
        return torch.compiler.is_exporting() or _private.TracingContext.try_get() is None
    return torch.compiler.is_exporting()


def leave_out(error: ChainRulesError) -> None:
    """Make a compiler leave the call that raises this error out of its graph, if it captures one.

    The compiler then calls it outside of the graph, where the error itself is raised.

    Raises
    ------
    LeftOutError
        With the message of the error.
    """
    if _private.TracingContext.try_get() is not None and get_proxy_mode() is None:
        raise _private.LeftOutError(str(error)) from None


def of_graph(x: Any) -> Any:
    """Convert the lists, dicts and symbolic numbers of a compiler's graph to Python's."""
    if isinstance(x, torch.SymFloat):
        return float(x)
    if isinstance(x, torch.SymInt):
        return int(x)
    if isinstance(x, dict):
        return {key: of_graph(part) for key, part in x.items()}
    if type(x) is tuple or isinstance(x, list):
        parts = map(of_graph, x)
        return tuple(parts) if type(x) is tuple else list(parts)
    return x


def check_result(y: Any, name: str) -> None:
    """Make a compiler leave a call out of its graph if the graph cannot hold the result.

    Raises
    ------
    LeftOutError
        With what to write instead.
    """
    if isinstance(y, (tuple, list)):
        for part in y:
            check_result(part, name)
    elif is_structure_type(type(y)):
        msg = (
            f"{name} gives a {type(y).__name__} in a program that PyTorch's compiler writes down, "
            f"whose graphs hold tuples and lists: give a tuple, or compile without fullgraph=True"
        )
        leave_out(RuleError(msg))


def forget() -> None:
    """Forget pending symbols of values that a failed call requested."""
    context = _private.TracingContext.try_get()
    if context is not None and context.fake_mode is not None and context.fake_mode.shape_env:
        context.fake_mode.shape_env.pending_fresh_unbacked_symbols.clear()
