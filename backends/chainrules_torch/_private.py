"""The private names of PyTorch; no other module of this package uses one.

PyTorch has no public names for the levels of `torch.func`, nor for the state of its compilers. A
missing name is replaced by a public equivalent if there is one, and otherwise by an `Absent`, whose
use raises an error that names the supported versions.
"""

from __future__ import annotations

import contextlib
import functools
import pkgutil
import types
from collections.abc import Callable
from typing import Any

try:
    import torch
    from torch.autograd import forward_ad
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"chainrules_torch needs PyTorch ({error}): pip install 'chainrules-py[torch]'",
        name=error.name,
    ) from error

from chainrules_py.extend import ContractError


class Absent:
    """A name that this version of PyTorch lacks.

    Parameters
    ----------
    path : str
        The module, a colon, and the name in it.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Absent:
        return Absent(f"{self.path}.{name}")

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Raise an error for the missing name.

        Raises
        ------
        ContractError
            Names the supported versions.
        """
        raise ContractError(
            f"PyTorch {torch.__version__} has no {self.path.replace(':', '.')}, which "
            f"chainrules_torch needs here: pip install 'torch>=2.8,<2.14'"
        )


def _name(path: str, otherwise: Any = None) -> Any:
    """Return the object at a path, or else ``otherwise`` or an `Absent`."""
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError):
        return Absent(path) if otherwise is None else otherwise


# ------------------------------------------------------------------------------- torch.func

FUNC = "torch._functorch"
"""The package that implements `torch.func`."""

_LEVELS = "torch:_C._functorch"
_OF_LEVELS = (
    *("TransformType", "get_interpreter_stack", "maybe_current_level", "maybe_get_level"),
    *("get_unwrapped", "unwrap_if_dead"),
    *("is_batchedtensor", "is_functionaltensor", "is_functorch_wrapped_tensor"),
    *("is_gradtrackingtensor", "is_legacy_batchedtensor"),
    *("_unwrap_for_grad", "_wrap_for_grad"),
)
functorch: Any = types.SimpleNamespace(
    **{name.lstrip("_"): _name(f"{_LEVELS}.{name}") for name in _OF_LEVELS}
)
transforms_active: Callable[[], bool] = _name("torch:_C._are_functorch_transforms_active")

_PYTHON = f"{FUNC}.pyfunctorch"
current_interpreter = _name(f"{_PYTHON}:retrieve_current_functorch_interpreter")
without_levels = _name(f"{_PYTHON}:temporarily_clear_interpreter_stack")
without_level = _name(f"{_PYTHON}:temporarily_pop_interpreter_stack")
custom_function_call = _name(f"{FUNC}.autograd_function:custom_function_call")
eager_transforms = _name(f"{FUNC}:eager_transforms")

# ----------------------------------------------------------------------------- forward mode

set_forward_mode = _name("torch.autograd.forward_ad:_set_fwd_grad_enabled")


def _dual_level() -> int:
    try:
        forward_ad.exit_dual_level(level=forward_ad.enter_dual_level())
    except RuntimeError:  # dual levels do not nest
        return 0
    return -1


# Avoids a Python frame: each call of an exported function reads it.
dual_level: Callable[[], int] = (
    functools.partial(getattr, forward_ad, "_current_level")
    if hasattr(forward_ad, "_current_level")
    else _dual_level
)
"""The level of dual numbers that is open, or -1."""

# ---------------------------------------------------------------------------------- tensors


def is_view(x: torch.Tensor) -> bool:
    """Return whether a tensor is a view; True if this version does not report it."""
    return x._is_view() if hasattr(x, "_is_view") else True


def base(x: torch.Tensor) -> torch.Tensor | None:
    """Return the tensor that this one is a view of; None if it is no view or this is unknown."""
    return getattr(x, "_base", None)


def version(x: torch.Tensor) -> int | None:
    """Return how many in-place writes a tensor has seen; None if this is unknown."""
    return getattr(x, "_version", None)


def backward_class(function: Any) -> Any:
    """Return the class of the contexts passed to a ``torch.autograd.Function``."""
    return getattr(function, "_backward_cls", Absent("torch.autograd:Function._backward_cls"))


_top_hooks = _name("torch:_C._autograd._top_saved_tensors_default_hooks")
_pop_hooks = _name("torch:_C._autograd._pop_saved_tensors_default_hooks")
_push_hooks = _name("torch:_C._autograd._push_saved_tensors_default_hooks")


@contextlib.contextmanager
def unhooked() -> Any:
    """Remove the hooks on saved tensors, such as those of checkpoints.

    `torch.func` refuses to run inside such hooks.
    """
    taken: list[Any] = []
    while not isinstance(_top_hooks, Absent) and (hooks := _top_hooks(True)) is not None:
        taken.append(hooks)
        _pop_hooks()
    try:
        yield
    finally:
        for pack, unpack in reversed(taken):
            _push_hooks(pack, unpack)


def _is_any_cast() -> bool:
    return any(map(torch.is_autocast_enabled, CASTING))


CASTING = ("cpu", "cuda", "mps", "xpu")
is_cast: Callable[[], bool] = _name("torch:_C._is_any_autocast_enabled", _is_any_cast)
"""Whether PyTorch casts operands of its functions here."""

# -------------------------------------------------------------------------------- compilers


class _NoTensor:
    """Placeholder for a tensor class that this version lacks; nothing is an instance of it."""


class _NoError(Exception):
    """Placeholder for an error that this version does not raise."""


FakeTensor: type = _name("torch._subclasses.fake_tensor:FakeTensor", _NoTensor)
FunctionalTensor: type = _name("torch._subclasses.functional_tensor:FunctionalTensor", _NoTensor)
LeftOutError: type[Exception] = _name(
    "torch._subclasses.fake_tensor:UnsupportedFakeTensorException", _NoError
)
TracingContext = _name("torch._guards:TracingContext")
without_modes = _name("torch.utils._python_dispatch:_disable_current_modes")
modes_active: Callable[[], int] = _name("torch:_C._len_torch_dispatch_stack")
dispatched: Any = types.SimpleNamespace(
    included=_name("torch:_C._dispatch_tls_local_include_set"),
    excluded=_name("torch:_C._dispatch_tls_local_exclude_set"),
    forced=_name("torch:_C._ForceDispatchKeyGuard"),
)


is_compiling: Callable[[], bool] = (
    functools.partial(getattr, torch.compiler, "_is_compiling_flag")
    if hasattr(torch.compiler, "_is_compiling_flag")
    else torch.compiler.is_compiling
)
"""Whether a compiler captures a program other than by reading code; each call checks it."""


def is_written_down() -> bool:
    """Return whether a compiler captures what runs here; PyTorch 2.12 reports it by its context."""
    if torch.compiler.is_compiling():
        return True
    return not isinstance(TracingContext, Absent) and TracingContext.try_get() is not None


def unseen(f: Any) -> Any:
    """Make a compiler skip a function and everything it calls, outside of its graphs.

    `torch.compiler.disable` would import the compiler.
    """
    frames = _name("torch:_C._dynamo.eval_frame")
    if isinstance(frames, Absent) or not hasattr(frames, "set_code_exec_strategy"):
        return f
    skip = frames._FrameAction.SKIP
    frames.set_code_exec_strategy(f.__code__, frames._FrameExecStrategy(skip, skip))
    return f


def left_out(f: Any, reason: str) -> None:
    """Exclude calls of a function from compiled graphs, with a reason."""
    f._torchdynamo_disable, f._torchdynamo_disable_msg = True, reason
