"""Rules that may give something else when they are run again: they draw, count or look up."""

from __future__ import annotations

import functools
import re
import sys
import types
from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from chainrules_bridge.reach import Reach, global_names
from chainrules_py import Primitive, rules_for
from chainrules_py.extend import Cache, Draws, may_draw, see_roots

_SHARED = re.compile(
    "rand|dropout|bernoulli|multinomial|poisson|binomial|dirichlet|uniform|normal(_|$)|cauchy"
    "|exponential|geometric|standard_gamma|r?sample(_n)?$|gumbel|rrelu|attention|rnn|lstm|gru",
    re.IGNORECASE,
)
"""Names in PyTorch of what draws from the generator that everybody shares."""
_DRAWING = ("torch.nn.modules", "torch.distributions")
_PURE = {
    *("builtins", "math", "cmath", "operator", "functools", "itertools", "collections", "types"),
    *("typing", "abc", "contextlib", "numbers", "fractions", "decimal", "numpy", "torch", ""),
    *("dataclasses", "enum", "copy"),
}
"""Libraries whose functions give the same for the same, where nothing is drawn."""
_found = Cache()


class Drawing(NamedTuple):
    """What a rule may give something else by, when it is run again.

    Attributes
    ----------
    reach : Reach
        What it looks up.
    shared : bool
        Whether it may draw from the generators that everybody shares.
    unsure : bool
        Whether it asks a library for what may be another each time.
    """

    reach: Reach
    shared: bool
    unsure: bool

    def begin(self) -> Draws:
        """Return what it draws from here on."""
        return begun(self.reach.generators, self.shared)

    def draws(self) -> bool:
        """Tell whether it may draw random numbers."""
        return self.shared or bool(self.reach.generators)

    def is_steady(self) -> bool:
        """Tell whether it gives the same again at once, as is seen without running it."""
        if self.shared or self.unsure:
            return False
        if any([isinstance(x, torch.Generator) for x in self.reach.generators]):
            return False
        return not any(
            [self.reach.is_own(path) or hasattr(x, "__next__") for path, x in self.reach.values()]
        )


def drawing(word: Primitive[..., Any]) -> Drawing | None:
    """Return what the rule of a function may draw; None if it is seen to give the same each time.

    All of the core's do.
    """
    try:
        return _found.table[word]  # type: ignore[no-any-return]
    except KeyError:
        table = _found.open()
        found = table[word] = _drawing(word)
        return found


def begun(generators: Iterable[Any], shared: bool) -> Draws:
    """Return what is drawn from here on; from NumPy's generators too, though no array was seen."""
    if shared:
        _meet_numpy()
    return Draws(generators, shared)


@functools.cache
def _meet_numpy() -> None:
    see_roots({"numpy"})


def generators_of(word: Primitive[..., Any]) -> tuple[Any, ...]:
    """Return the generators that a function and its rules draw from, besides those of all."""
    return tuple(_reach(word).generators)


def _reach(word: Primitive[..., Any]) -> Reach:
    own = [s for s in rules_for(word) if s.recipe and not s.source.is_ours]
    return Reach((word.__wrapped__, *[f for s in own for f in s.recipe.functions]))


def _drawing(word: Primitive[..., Any]) -> Drawing | None:
    if not any([s.recipe and not s.source.is_ours for s in rules_for(word)]):
        return None
    reach = _reach(word)
    shared = _draws(reach)
    others = {name.partition(".")[0] for name in _libraries(reach)} - _PURE
    unsure = not all([x.startswith("chainrules_") for x in others])
    return Drawing(reach, shared, unsure) if reach or reach.generators or shared or unsure else None


def _libraries(reach: Reach) -> list[str]:
    """Return the libraries that code asks, but SciPy where it asks for special functions alone."""
    parts = {*getattr(sys.modules.get("scipy"), "__all__", ()), "getattr"} & {*reach.names}
    special = ("scipy", "scipy.special") if parts == {"special"} else ("scipy.special",)
    return [x for x in reach.libraries if x not in special]


def _draws(reach: Reach) -> bool:
    """Tell whether code may draw from the generators that everybody shares."""
    others = [x for x in _libraries(reach) if x.partition(".")[0] != "torch"]
    named = any(map(_SHARED.search, reach.names)) or any(map(may_draw, others)) or _held(reach)
    return named or not reach.whole or any([x.startswith(_DRAWING) for x in reach.libraries])


def _held(reach: Reach) -> bool:
    """Tell whether code holds a function of PyTorch's that draws, or has imported it by name."""
    held = [x for _, x in reach.values()]
    for f in reach.defined:
        if type(f) is types.FunctionType:
            held += [f.__globals__.get(name) for name in global_names(f)]
    return any([type(x) in _BUILTIN and bool(_SHARED.search(x.__name__)) for x in held])


_BUILTIN = (types.BuiltinFunctionType, types.MethodDescriptorType)
