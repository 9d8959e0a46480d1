"""How PyTorch's own functions and methods come to be words, where a value of ours stands for one.

A value that one of our engines differentiates has PyTorch's methods, and PyTorch's functions take
it: `torch.exp(x)`, ``x.exp()``. What is written here under one name is the method and the function
of that name; a name with a dot is one of these alone: ``Tensor.where``, ``torch.where``.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from chainrules_py import UnsupportedKeywordError
from chainrules_py.extend import alias, viewers

_ALSO = {"input": "self", "axis": "dim", "keepdims": "keepdim", "x": "self", "x2": "other"}
"""Names that PyTorch takes for its own."""


def _is_asked(x: Any) -> bool:
    return x is not None and x is not False


def natives(name: str) -> Iterator[Any]:
    """Find the method, or property, and the function that have a name."""
    if "." not in name:
        found = [vars(base)[name] for base in torch.Tensor.__mro__ if name in vars(base)]
        yield from found[:1]
        if not found or callable(found[0]):  # torch.T there is not, torch.real there is
            yield from filter(None, [getattr(torch, name, None)])
        elif name in ("real", "imag"):
            yield getattr(torch, name)
        return
    try:
        yield operator.attrgetter(name.removeprefix("torch."))(torch)
    except AttributeError:  # another release of PyTorch has it
        return


def word(names: str, f: Callable[..., Any]) -> None:
    """Enter a word of one operand, or of two, under names that are set apart by spaces."""
    mine = f.operands  # type: ignore[attr-defined]
    theirs: dict[str, str] = dict(zip(("self", "other"), mine, strict=False))
    for name in names.split():
        for native in natives(name):
            alias(native, to=f, parameters=dict.fromkeys(theirs), rename=theirs)


def row(names: str, *, views: bool = False) -> Callable[[Any], Any]:
    """Enter a function with PyTorch's own parameters under names that are set apart by spaces.

    Parameters
    ----------
    names : str
        The names.
    views : bool
        Whether PyTorch gives a view of what it is given.
    """

    def enter(f: Any) -> Any:
        known = inspect.signature(f).parameters
        free = any(p.kind is p.VAR_KEYWORD for p in known.values())
        rest = next((n for n, p in known.items() if p.kind is p.VAR_POSITIONAL), None)

        @functools.wraps(f)
        def called(*operands: Any, **keywords: Any) -> Any:
            given = {n if n in known else _ALSO.get(n, n): x for n, x in keywords.items()}
            written = [n for n in ("out", "inplace") if _is_asked(given.pop(n, None))]
            lost = written or ([] if free else [n for n in given if n not in known])
            if lost:
                shown = ", ".join(lost)
                msg = f"{f.__name__.rstrip('_')}() of a traced value takes no {shown}"
                raise UnsupportedKeywordError(msg)
            more = (given.pop(rest),) if rest in given else ()
            return f(*operands, *more, **given)

        del called.__wrapped__
        for name in names.split():
            for native in natives(name):
                alias(native, to=called, parameters={})
                if views:
                    viewers.add(native)
        return f

    return enter
