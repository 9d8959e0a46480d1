"""Programs as one operation of PyTorch's each, for compilers.

A compiler runs a program on tensors without elements. What looks at elements becomes an operation
in its graph, and runs when the compiled program does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from chainrules_py import ChainRulesError, RuleError, TracerError
from chainrules_py.extend import is_structure_type
from chainrules_torch import _private


class Later(Protocol):
    """A program from tensors to tensors."""

    def compute(self, tensors: Sequence[Any]) -> list[Any]:
        """Run it."""
        ...

    def like(self, tensors: Sequence[Any]) -> list[Any]:
        """Tensors with the shapes and dtypes of what it gives."""
        ...


unseen = _private.unseen


def is_abstract(x: Any) -> bool:
    """Tell whether a value is a tensor that a compiler works with, or is made of one."""
    while isinstance(x, torch.Tensor) and _private.functorch.is_functorch_wrapped_tensor(x):
        x = _private.functorch.get_unwrapped(x)
    return isinstance(x, (_private.FakeTensor, _private.FunctionalTensor))


def is_elsewhere(x: Any) -> bool:
    """Tell whether a value is a tensor that no compiler works with: code captured it."""
    return isinstance(x, torch.Tensor) and not is_abstract(x)


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


def asked() -> tuple[Any, ...]:
    """Return the symbols for values that a compiler's tensors were asked for until now."""
    env = _symbols()
    return () if env is None else tuple(env.pending_fresh_unbacked_symbols)


def forget(until: tuple[Any, ...]) -> None:
    """Forget the symbols of a program that came to nothing: only those until then remain."""
    env = _symbols()
    if env is not None:
        env.pending_fresh_unbacked_symbols[:] = until


def _symbols() -> Any:
    context = _private.TracingContext.try_get()
    return None if context is None or context.fake_mode is None else context.fake_mode.shape_env


_OUTSIDE = _private.dispatched.included(), _private.dispatched.excluded()
"""How operations are dispatched where no operation is running: in one there are no derivatives."""

_waiting: dict[int, Later] = {}
_numbers = itertools.count()


def run_later(program: Later, tensors: Sequence[Any]) -> list[Any]:
    """Run a program as an operation: under a compiler, when the compiled program runs."""
    # Operations take no functions, but they take numbers.
    number = next(_numbers)
    _waiting[number] = program
    try:
        return _operation(number, list(tensors))  # type: ignore[no-any-return]
    finally:
        if not torch.compiler.is_compiling():  # a compiled program goes on with it
            del _waiting[number]


@torch.library.custom_op("chainrules::later", mutates_args=())
def _operation(number: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    outside = _private.dispatched.forced(*_OUTSIDE)
    with outside, _private.without_levels():
        found = _waiting[number].compute(tensors)
    return [_fresh(y, tensors) for y in found]


def _fresh(y: torch.Tensor, tensors: list[torch.Tensor]) -> torch.Tensor:
    """Make a result fresh: an operation must give neither what it was given nor a view."""
    if _private.is_view(y) or any([y is x for x in tensors]):
        return y.clone(memory_format=torch.contiguous_format)
    return y.detach()


@_operation.register_fake
def _like(number: int, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    found = _waiting[number].like(tensors)
    return [torch.empty_like(y, memory_format=torch.contiguous_format) for y in found]


def _like_one(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Make a tensor like an element of an empty batch."""
    shape = [n for i, n in enumerate(x.shape) if i != dim % x.ndim]
    return torch.zeros(shape, dtype=x.dtype, device=x.device)


@_operation.register_vmap
def _mapped(info: Any, in_dims: Any, number: int, tensors: list[torch.Tensor]) -> Any:
    if not info.batch_size:  # there is no element to ask
        each = [
            x if d is None else _like_one(x, d) for x, d in zip(tensors, in_dims[1], strict=True)
        ]
        found = _waiting[number].like(each)
        return [y.new_empty((0, *y.shape)) for y in found], [0] * len(found)

    def run(i: int) -> list[torch.Tensor]:
        pairs = zip(tensors, in_dims[1], strict=True)
        each = [x if d is None else x.select(d, i) for x, d in pairs]
        return _operation(number, each)  # type: ignore[no-any-return]

    results = [run(i) for i in range(info.batch_size)]
    stacked = [torch.stack(part) for part in zip(*results, strict=True)]
    return stacked, [0] * len(stacked)
