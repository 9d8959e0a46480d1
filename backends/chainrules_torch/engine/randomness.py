"""What is drawn at random where `torch.vmap` maps, as its ``randomness=`` says.

PyTorch sees to it where its operations are mapped. What is called back for each element comes here,
and so does a rule that draws once more what its value drew.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch

from chainrules_py import NotDifferentiableError
from chainrules_torch import _private
from chainrules_torch.engine.draws import Drawing, begun, generators_of
from chainrules_torch.tensors import levels_of

_functorch = _private.functorch
_VMAP = _functorch.TransformType.Vmap
_undrawn: contextvars.ContextVar[bool] = contextvars.ContextVar("_undrawn", default=False)
"""Whether this is called back for an element of a batch for which nothing may be drawn."""
_ERROR = "vmap: called random operation while in randomness error mode"
_OLDER = "vmap: We do not yet support calling random operations"
_IN_PLACE = "vmap: Cannot ask for different inplace randomness"


def is_drawn(error: BaseException) -> bool:
    """Tell whether it is PyTorch's error for what is drawn where a batch does not say how."""
    return type(error) is RuntimeError and str(error).startswith((_ERROR, _OLDER))


def refuse_drawn(error: BaseException, what: str) -> None:
    """Raise if a function, or its rule, drew at random where `torch.vmap` does not say how.

    Raises
    ------
    NotDifferentiableError
        With what to write.
    """
    if not (is_drawn(error) or str(error).startswith(_IN_PLACE)):
        return
    if str(error).startswith(_IN_PLACE):
        how = (
            "into a tensor that torch.vmap does not map over, which cannot have other numbers in "
            "each element: write torch.randn(shape) for torch.empty(shape).normal_()"
        )
    elif str(error).startswith(_OLDER):
        how = "where PyTorch maps a pullback (is_grads_batched=, vectorize=): pull back one by one"
    else:
        how = (
            "under torch.vmap with randomness='error', its default: say randomness='different' "
            "for other numbers in each element, or 'same'"
        )
    msg = f"{what} draws random numbers {how}; or draw them outside, and pass them as an operand"
    raise NotDifferentiableError(msg) from error


def _maps() -> list[Any]:
    """List the levels of `torch.vmap` that are active."""
    stack = _functorch.get_interpreter_stack() or ()
    return [_private.coerce_cinterpreter(level) for level in stack if level.key() == _VMAP]


def _mapped_at(xs: Sequence[Any]) -> set[int]:
    """Return the levels at which some of these are mapped over."""
    held = [of for x in xs if isinstance(x, torch.Tensor) for of in levels_of(x)]
    return {_functorch.maybe_get_level(of) for of in held if _functorch.is_batchedtensor(of)}


def spread(drawing: Drawing, leaves: Sequence[Any]) -> Sequence[Any]:
    """Return the leaves of a call that draws, mapped over wherever elements draw differently.

    What nothing is mapped over in, PyTorch computes once for all elements.
    """
    maps = _maps() if drawing.draws() else ()
    levels = [level for level in maps if level.randomness() == "different"]
    there = _mapped_at(leaves) if levels else set()
    levels = [level for level in levels if level.level() not in there]
    place = next((i for i, x in enumerate(leaves) if isinstance(x, torch.Tensor)), None)
    if not levels or place is None:
        return leaves
    x = leaves[place]
    for level in levels:
        with _private.without_levels():
            each = torch.ones(level.batch_size(), dtype=torch.bool, device=x.device)
            mapped = _functorch.add_batch_dim(each, 0, level.level())
        x = torch.where(mapped, x, x)
    return [x if i == place else other for i, other in enumerate(leaves)]


@contextlib.contextmanager
def drawn_once(leaves: Sequence[Any]) -> Generator[None]:
    """Have a rule draw what its value drew, also where (co)tangents are mapped over by now.

    At levels of `torch.vmap` that none of the leaves is mapped over at nothing was drawn for each
    element: they are put in place again, as levels where all elements draw the same.
    """
    there = _mapped_at(leaves)
    levels = [
        level.level()
        for level in _maps()
        if level.level() not in there and level.randomness() != "same"
    ]
    if not levels:
        yield
        return
    taken: list[tuple[Any, int, int]] = []
    before = len(_functorch.get_interpreter_stack())
    while len(_functorch.get_interpreter_stack() or ()) >= levels[0]:
        at = _private.coerce_cinterpreter(_functorch.get_interpreter_stack()[-1])
        size = at.batch_size() if at.level() in levels else -1
        taken.append((_functorch.pop_dynamic_layer_stack(), at.level(), size))
    below = before - len(taken)
    try:
        for layer, _, size in reversed(taken):
            if size < 0:
                _functorch.push_dynamic_layer_stack(layer)
            else:
                _functorch.vmap_increment_nesting(size, "same")
        yield
    finally:
        while len(_functorch.get_interpreter_stack() or ()) > below:
            _functorch.pop_dynamic_layer_stack()
        for layer, _, _ in reversed(taken):
            _functorch.push_dynamic_layer_stack(layer)


# ------------------------------------------------------------------ what is called back


def for_each(run: Callable[[int], Any], size: int, randomness: str, program: Any) -> list[Any]:
    """Call something back for each element of a batch, where these draw as ``randomness`` says.

    Parameters
    ----------
    run : callable
        Is given the number of an element.
    size : int
        How many there are.
    randomness : {"error", "different", "same"}
        As of `torch.vmap`.
    program : object
        What is called back; its ``word`` is the function that it computes, if there is one.
    """
    if randomness == "error":
        before = _undrawn.set(True)
        try:
            return [run(i) for i in range(size)]
        finally:
            _undrawn.reset(before)
    if randomness != "same" or not size:
        return [run(i) for i in range(size)]
    word = getattr(program, "word", None)
    draws = begun(() if word is None else generators_of(word), shared=True)
    found = [run(0)]
    for i in range(1, size):
        with draws.again():
            found.append(run(i))
    return found


def undrawn() -> AbstractContextManager[Any]:
    """Return a context where nothing is drawn, if this is called back where nothing may be."""
    return _Undrawn() if _undrawn.get() else contextlib.nullcontext()


class _Undrawn(_private.DispatchMode):  # type: ignore[misc]
    """Context in which PyTorch raises where it draws at random, as it does in `torch.vmap`."""

    def __torch_dispatch__(self, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Have PyTorch call it."""
        if torch.Tag.nondeterministic_seeded in f.tags:
            raise RuntimeError(_ERROR)
        return f(*args, **(kwargs or {}))
