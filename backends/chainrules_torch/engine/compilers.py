"""PyTorch's compilers: where one works, what its graphs hold, and what it leaves out of them."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from chainrules_py import ChainRulesError, RuleError, TracerError
from chainrules_py.extend import is_structure_type
from chainrules_torch import _private

unseen = _private.unseen


def is_abstract(x: Any) -> bool:
    """Tell whether a value is a tensor that a compiler works with, or is made of one."""
    while isinstance(x, torch.Tensor) and _private.functorch.is_functorch_wrapped_tensor(x):
        x = _private.functorch.get_unwrapped(x)
    return isinstance(x, (_private.FakeTensor, _private.FunctionalTensor))


def captured_there(name: str) -> TracerError:
    """Make the error for a tensor that code captured, where a compiler has tensors of its own.

    Without ``fullgraph=True`` the compiler leaves the call out of its graph.
    """
    return TracerError(
        f"{name} captured a tensor, which a compiled program does not see: make it an operand, or "
        f"compile without fullgraph=True"
    )


def refuse_captured(error: Exception, name: str) -> None:
    """Raise for such a tensor, where that is what PyTorch says.

    Raises
    ------
    TracerError
        With what to write.
    """
    if type(error) is AssertionError and "convert all Tensors to FakeTensors" in str(error):
        raise captured_there(name) from error


def is_writing_down() -> bool:
    """Tell whether PyTorch writes down a program of what runs: for `make_fx`, `torch.export`.

    What `torch.compile` writes down is value and derivative together.
    """
    if _private.modes_active() and get_proxy_mode() is not None:
        return torch.compiler.is_exporting() or _private.TracingContext.try_get() is None
    return torch.compiler.is_exporting()


def leave_out(error: ChainRulesError) -> None:
    """Have a compiler leave a call with this error out of its graph, where it writes one down.

    It calls it again there, and what is said here is seen.

    Raises
    ------
    LeftOutError
        In our words.
    """
    if _private.TracingContext.try_get() is not None and get_proxy_mode() is None:
        raise _private.LeftOutError(str(error)) from None


def of_graph(x: Any) -> Any:
    """Rebuild a structure in a compiler's graph, whose lists and dicts are classes of its own."""
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
    """Have a compiler leave a call out of its graph, which holds no result like this one.

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
    """Forget symbols for values that a program asked for which came to nothing."""
    context = _private.TracingContext.try_get()
    if context is not None and context.fake_mode is not None and context.fake_mode.shape_env:
        context.fake_mode.shape_env.pending_fresh_unbacked_symbols.clear()
