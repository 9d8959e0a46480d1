"""PyTorch's own differentiation, for rules and solvers."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.function import Function
from torch.overrides import TorchFunctionMode

from chainrules_kit import AskedError, EngineConfig, exported_line, refused_half
from chainrules_kit import dense as filled
from chainrules_py import (
    Capability,
    MutationError,
    NotDifferentiableError,
    ZeroTangent,
    is_zero,
    space,
)
from chainrules_py.extend import (
    Line,
    Opened,
    caller,
    describe,
    flatten,
    told,
    unflatten_tangent,
    untraced,
)
from chainrules_torch import _private
from chainrules_torch.array_types import halves, shown
from chainrules_torch.engine.compilers import is_abstract, is_recorded, is_writing_down, leave_out

_func: Any = torch.func
alive: Callable[[torch.Tensor], torch.Tensor] = _private.functorch.unwrap_if_dead
_is_wrapped: Callable[[Any], bool] = _private.functorch.is_functorch_wrapped_tensor


def in_forward_mode() -> bool:
    """Return whether a level of dual numbers is open."""
    return _private.dual_level() >= 0


def varies(x: Any) -> bool:
    """Return whether a value is a tensor that is being differentiated or mapped over."""
    if not isinstance(x, torch.Tensor):
        return False
    moves = _is_wrapped(x) or (x.requires_grad and torch.is_grad_enabled())
    return moves or (in_forward_mode() and _has_tangent(x))


def _has_tangent(x: Any) -> bool:
    """Return whether a tensor is, or may be, a dual number; the older vmap cannot tell."""
    if _private.functorch.is_legacy_batchedtensor(x):
        return True
    return forward_ad.unpack_dual(x).tangent is not None


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(x, torch.Tensor)


def outside(x: Any) -> Any:
    """Unwrap a value of finished transformations: a pullback may be called after these."""
    return alive(x) if isinstance(x, torch.Tensor) else x


def constant(x: torch.Tensor) -> torch.Tensor:
    """Return a tensor detached from differentiation, so that NumPy can read it."""
    functorch, x = _private.functorch, shown(x.detach().resolve_conj().resolve_neg())
    while not torch.compiler.is_compiling() and functorch.is_gradtrackingtensor(x):
        x = functorch.get_unwrapped(x)
    return x


def floats(x: Any) -> bool:
    """Return whether a value is a tensor of a differentiable dtype."""
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def is_differentiated(x: Any) -> bool:
    """Return whether a value is a tensor that PyTorch differentiates here, at any level.

    The tangent of an outer level is only visible at that level.
    """
    functorch = _private.functorch
    with contextlib.ExitStack() as outer:
        while isinstance(x, torch.Tensor):
            if x.requires_grad and torch.is_grad_enabled():
                return True
            level = functorch.maybe_get_level(x)
            while (functorch.maybe_current_level() or 0) > level > 0:
                outer.enter_context(_private.without_level())
            # Tensors wrapped by `vmap` and `functionalize` have their tangent inside.
            bare = not (functorch.is_batchedtensor(x) or functorch.is_functionaltensor(x))
            if bare and in_forward_mode() and _has_tangent(x):
                return True
            if not _is_wrapped(x):
                return False
            x = functorch.get_unwrapped(x)
    return False


def is_mapped(x: Any) -> bool:
    """Return whether a value is a tensor that PyTorch maps over here, at any level."""
    while isinstance(x, torch.Tensor) and _is_wrapped(x):
        if _private.functorch.is_batchedtensor(x):
            return True
        x = _private.functorch.get_unwrapped(x)
    return False


is_cast = _private.is_cast
"""Whether PyTorch casts operands of its functions here."""


def uncast(f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Call a function with a rule without autocast: value and rule have the same dtypes."""
    with contextlib.ExitStack() as stack:
        for device in _private.CASTING:
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        return f(*operands, **options)


def is_quiet() -> bool:
    """Return whether nothing is differentiated or mapped over here."""
    return not (torch.is_grad_enabled() or _private.transforms_active() or in_forward_mode())


computing: contextvars.ContextVar[bool] = contextvars.ContextVar("computing", default=False)
"""Whether this runs inside a `Transformed`, whose derivatives are handled outside."""
watching: contextvars.ContextVar[bool] = contextvars.ContextVar("watching", default=False)
"""Whether no operand of a function that runs here is being differentiated."""


def refuse_hidden(y: Any) -> None:
    """Check that a function without differentiated operands returned nothing differentiated.

    Raises
    ------
    NotDifferentiableError
        If it did: it uses a tensor from a place that cannot be searched.
    """
    for leaf in flatten(y)[0]:
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
            raise NotDifferentiableError(
                f"a function that was given nothing that is being differentiated gave "
                f"{describe(leaf)}, which is: it uses a tensor from a place where it cannot be "
                f"found, and that gradient would be lost; pass the tensor as a parameter, behind "
                f"the other operands"
            )


class Unlost(TorchFunctionMode):
    """A context that refuses conversions of tensors that would lose a derivative.

    PyTorch converts any tensor to a number, and a dual number to a NumPy array, without an
    operation.

    Parameters
    ----------
    in_half : bool
        Whether this is half of a user-defined rule, in which no tensor may be converted to numbers,
        even if PyTorch would return those of a transformed tensor.

    Attributes
    ----------
    constants : dict
        By identity, the tensors that the half declared constant (`ignore_derivatives`), which may
        be converted.
    """

    def __init__(self, *, in_half: bool = False) -> None:
        super().__init__()
        self.in_half, self.constants = in_half, dict[int, torch.Tensor]()

    def __enter__(self) -> Any:
        halves.append(self)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        halves.remove(self)

    def __torch_function__(self, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function, or refuse the conversion."""
        if f in _PLAIN:
            (loses, kind, instead), x = _PLAIN[f], args[0]
            if (
                (floats(x) or is_recorded()) and id(x) not in self.constants
                if self.in_half
                else loses(x)
            ):
                line = Line(caller(0))
                msg = (
                    f"{describe(x)}, which is being differentiated, does not become {kind}: its "
                    f"derivative would be lost"
                )
                raise AskedError(told(msg, line, instead or exported_line(line, "PyTorch")))
            if (
                f in _READ and _private.transforms_active()
            ):  # torch.func wraps even unrelated tensors
                with _private.without_levels():
                    return f(*args, **(kwargs or {}))
        return f(*args, **(kwargs or {}))


_ARRAY = (
    varies,
    "an array of NumPy's",
    "",
)
_NUMBER = (
    is_differentiated,
    "a plain number",
    "leave it as it is, as x[0] for x[0].item(), or write ignore_derivatives(x) for a constant",
)
_Tensor: Any = torch.Tensor
_READ = (_Tensor.__array__, _Tensor.numpy, _Tensor.__dlpack__)
_PLAIN: dict[Any, tuple[Callable[[Any], bool], str, str]] = {
    **dict.fromkeys(_READ, _ARRAY),
    **dict.fromkeys(
        (_Tensor.item, _Tensor.tolist, _Tensor.__float__, _Tensor.__int__, _Tensor.__complex__),
        _NUMBER,
    ),
}


class TorchConfig(EngineConfig):
    """Capabilities of PyTorch for a rule: it differentiates function operands, in both modes."""

    capabilities = EngineConfig.capabilities | {Capability("torch")}
    name = "PyTorch"

    def numbers(self, x: Any) -> Any:
        """Return the plain numbers of a value; for a mapped value, those of the whole batch."""
        while isinstance(x, torch.Tensor) and _is_wrapped(x):
            x = _private.functorch.get_unwrapped(x)
        return constant(x) if isinstance(x, torch.Tensor) else untraced(x)

    def sees(self, x: Any) -> bool:
        """Return whether a value's numbers can be read; False while a program is captured."""
        if isinstance(x, torch.Tensor) and (x.is_meta or is_abstract(x)):
            return False
        return super().sees(x) and not is_writing_down()

    def rrule_via_ad(
        self, f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Return value and pullback, by `torch.func.vjp`."""
        call = Opened(f, operands, options, _moves, floats)

        gave: list[Any] = []
        nothing = torch.zeros(())  # PyTorch needs a result, and there may be none

        def some(*xs: Any) -> tuple[Any, ...]:
            gave.append(call(*xs))
            return gave[-1] or (nothing,)

        with _private.unhooked():
            found, pull = _func.vjp(some, *map(as_tensor, call.moved))
        found = found if gave.pop() else ()
        y = call.closed(found)

        def pullback(y_bar: Any) -> tuple[Any, ...]:
            given = tuple(map(dense, call.bars(y, y_bar), found))
            with _private.unhooked():
                bars = pull(given) if found else [ZeroTangent()] * len(call.moved)
            return call.tangents(list(map(_like, bars, call.moved)))

        return y, pullback

    def frule_via_ad(
        self, tangents: tuple[Any, ...], f: Callable[..., Any], /, *operands: Any, **options: Any
    ) -> tuple[Any, Any]:
        """Return value and tangent, by `torch.func.jvp`."""
        call = Opened(f, operands, options, _moves, floats)
        moved = tuple(map(as_tensor, call.moved))
        dots = tuple(map(dense, call.dots(tangents), moved))
        # Inside a level of dual numbers that no transformation opened, no other can be opened.
        nests = _private.eager_transforms.JVP_NESTING or not in_forward_mode()
        push: Any = torch.func.jvp if nests else _twice_transposed
        with _private.unhooked():
            found, found_dot = push(call, moved, dots)
        y = call.closed(found)
        return y, filled(unflatten_tangent(call.out, found_dot), space(y))

    def vjp(self, f: Callable[..., Any], /, *operands: Any) -> tuple[Any, Callable[..., Any]]:
        """Return the value and pullback of f in the form that `plugins.hosted` expects."""
        return _watched(super().vjp, f, *operands)  # type: ignore[no-any-return]

    def jvp(
        self, f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        """Return the value and tangent of f in the form that `plugins.hosted` expects."""
        return _watched(super().jvp, f, primals, tangents)  # type: ignore[no-any-return]


def _watched(run: Callable[..., Any], *operands: Any) -> Any:
    """Differentiate where no operand is differentiated, so that hidden tensors are detected."""
    if not watching.get():
        return run(*operands)
    alone = not _private.transforms_active()  # otherwise the surroundings may be differentiated
    with torch.enable_grad():
        found = run(*operands)
    if alone:
        refuse_hidden(found)
    return found


def _twice_transposed(
    f: Callable[..., Any], xs: tuple[Any, ...], dots: tuple[Any, ...]
) -> tuple[Any, Any]:
    """Replace `torch.func.jvp` by two pullbacks: PyTorch opens no second level of dual numbers."""
    y, pull = _func.vjp(f, *xs)
    _, push = _func.vjp(pull, tuple(map(torch.zeros_like, y)))
    return y, push(dots)[0]


def _moves(x: Any) -> bool:
    return floats(x) or type(x) in (float, complex)


def as_tensor(x: Any) -> torch.Tensor:
    """Convert a Python number to a 0-d tensor, since PyTorch differentiates only tensors."""
    if isinstance(x, torch.Tensor):
        return x
    return torch.tensor(x, dtype=torch.complex128 if type(x) is complex else torch.float64)


def dense(t: Any, like: torch.Tensor) -> torch.Tensor:
    """Return a tangent as a tensor with the shape and dtype of ``like``."""
    if isinstance(t, torch.Tensor):
        return t
    return torch.zeros_like(like) if is_zero(t) else torch.full_like(like, t)


def _like(bar: Any, leaf: Any) -> Any:
    """Convert the cotangent of a number to a number, unless it varies itself."""
    if not isinstance(bar, torch.Tensor) or isinstance(leaf, torch.Tensor):
        return bar
    return bar if varies(bar) or bar.is_meta else bar.item()


config = TorchConfig()
"""The configuration that rules see."""


# -------------------------------------- autograd functions, and levels of `torch.func`


def asking(plan: Any, tensors: Sequence[Any]) -> Any:
    """Return a context in which half of a user-defined rule loses no derivative.

    The context is needed until a half has run once without reading numbers, and where tensors vary.
    """
    asked = not plan.is_proven or _private.transforms_active() or any(map(varies, tensors))
    return Unlost(in_half=True) if asked else _NOTHING


def plan_of(call: Any) -> Any:
    """Return the plan of a call, or of the call that a batch maps."""
    while not hasattr(call, "plan"):
        call = call.call
    return call.plan


_NOTHING = contextlib.nullcontext()


def saved(ctx: Any, call: Any) -> Any:
    """Return the tensors that PyTorch kept for the pullback of a call.

    Raises
    ------
    MutationError
        If one of them was written to in place; the message says what to write instead.
    """
    try:
        return ctx.saved_tensors
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        name = plan_of(call).primal.__name__
        raise MutationError(
            f"the result of {name}, or an operand, was modified in place after the call, and its "
            f"derivative may be taken with it: write y = {name}(x).clone() before writing to y (or "
            f"y = y * s for y *= s), {name}(x.clone()) before writing to x"
        ) from error


ASKED = (
    "call numpy() on", "calling .item() on a Tensor", "doesn't have storage",
    "data-dependent control flow",
)  # fmt: skip
"""PyTorch's messages where code reads numbers that a tensor lacks, or must not give."""


def refuse_asked(error: RuntimeError, call: Any) -> None:
    """Raise our error for a call that reads numbers, if PyTorch's error reports that.

    Raises
    ------
    AskedError
        With what to write instead.
    """
    if call is not None and any([said in str(error) for said in ASKED]):
        refusal = refused_half(plan_of(call).primal, "PyTorch")
        leave_out(refusal)
        raise refusal from error


def below(push: Callable[..., Any], tensors: Sequence[Any], dots: Sequence[Any]) -> Any:
    """Push forward below the level of these dual numbers, which keeps those of outer levels.

    PyTorch turns forward mode off at all levels while it calls the derivative of a function, so
    that a derivative of that would silently be zero.
    """
    if not _private.transforms_active():  # dual numbers alone do not nest
        return push(tensors, dots)
    interpreter = _private.current_interpreter()
    level = interpreter.level()

    def lowered(xs: Sequence[Any]) -> list[Any]:
        return [_private.functorch.unwrap_for_grad(x, level) if is_tensor(x) else x for x in xs]

    def raised(x: Any) -> Any:
        return _private.functorch.wrap_for_grad(x, level) if is_tensor(x) else x

    low, low_dots = lowered(tensors), lowered(dots)
    forward, lower = _private.set_forward_mode(True), interpreter.lower()
    with torch.enable_grad(), forward, lower:
        found = push(low, low_dots)
    return tuple(map(raised, found)) if type(found) is tuple else raised(found)


class Leveled(Function):
    """Autograd function for all levels of `torch.func`."""

    @classmethod
    def apply(cls, *operands: Any) -> Any:
        """Apply it; PyTorch's own method binds the operands to a signature at each level."""
        if _private.transforms_active():
            return _private.custom_function_call(cls, *operands)
        return super(Function, cls).apply(*map(outside, operands))  # type: ignore[misc]
