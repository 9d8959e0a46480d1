"""The check of batches: several directions at once are the same as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.engines.default import demand
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.registry.bind.batch import batched, count, gather
from chainrules_py.registry.bind.bind import bind
from chainrules_py.registry.table import find_rule
from chainrules_py.tangents.space import space
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.coordinates import Coordinates
from chainrules_py.testing.data.values import value_vector
from chainrules_py.testing.diagnosis import scale_of
from chainrules_py.testing.errors import NotJudgedError, WrongError, not_judged_if
from chainrules_py.vocabulary import resolution

_DIRECTIONS = 3


def check_batched(case: Case) -> None:
    """Halves that say that they take directions along a leading axis give each what it would get.

    Directions of Python numbers alone are not looked at: there is no array to hold several.
    """
    not_judged_if(not isinstance(case.f, Primitive), "no primitive, so the call is made of others")
    operands, options = case.f.normalise(case.operands, case.options)
    types = tuple(map(type, operands))
    rule = find_rule(case.f, types)
    wanted = tuple(
        [not is_zero(space(x)) and i not in case.unstated for i, x in enumerate(operands)]
    )
    if rule is None or len(operands) != len(case.operands) or not any(wanted):
        msg = "no rule that the call reaches unchanged"
        raise NotJudgedError(msg)
    rng = np.random.default_rng(0)

    def draws(part: Coordinates) -> list[Any]:
        return [part.tangent(rng.standard_normal(part.size)) for _ in range(_DIRECTIONS)]

    if case.has_push and (bound := _bound(case.f, types, wanted, "linearize")) is not None:
        _, (push, _, *saved) = bound.run(None, *operands, **options)
        given = [draws(p) for p, w in zip(case.parts, bound.wanted, strict=True) if w]
        _compare("push", push, list(zip(*given, strict=True)), saved)
    if case.has_pull and (bound := _bound(case.f, types, wanted, "reverse")) is not None:
        _, (pull, _, *saved) = bound.run(None, *operands, **options)
        _compare("pull", pull, draws(case.raw), saved)


def _bound(f: Any, types: tuple[type, ...], wanted: tuple[bool, ...], mode: str) -> Any:
    rule, config = demand(f, types, None, "forward" if mode == "linearize" else mode)
    return bind(rule, types, wanted, mode, config=config)


def _compare(name: str, half: Any, ts: list[Any], saved: list[Any]) -> None:
    """Raise a `WrongError` if the directions together give anything else than each by itself."""
    like = _first_array(ts[0])
    if like is None:
        return
    want = gather([half(t, *saved) for t in ts], like)
    have = batched(half)(gather(ts, like), *saved)
    problem = _difference(have, want)
    if problem:
        msg = f"the {name} of {len(ts)} directions at once is not that of each: {problem}"
        raise WrongError(msg, "wrong for several directions")


def _first_array(t: Any) -> Any:
    if isinstance(t, (tuple, Tangent)):
        parts = [part for _, part in t.fields()] if isinstance(t, Tangent) else list(t)
        return next((a for a in map(_first_array, parts) if a is not None), None)
    return t if hasattr(t, "dtype") else None


def _difference(have: Any, want: Any) -> str:
    if type(want) is tuple:
        pairs = zip(have, want, strict=True)
        return next((text for text in (_difference(h, w) for h, w in pairs) if text), "")
    if is_zero(want) or is_zero(have):
        dense = have if is_zero(want) else want
        return "" if is_zero(dense) or not np.any(_vector(dense)) else "zero in one of the two"
    if count(have) != count(want):
        return f"{count(have)} directions instead of {count(want)}"
    shapes = [getattr(t, "shape", None) for t in (have, want)]
    if shapes[0] != shapes[1]:
        return f"shape {shapes[0]} instead of {shapes[1]}"
    h, w = _vector(have), _vector(want)
    finite = np.isfinite(w)
    eps = resolution(want) if shapes[1] else 1e-15
    allowed = max(1e-10, 1e4 * eps) * scale_of(w) if np.any(w[finite]) else 1e3 * eps
    if np.any(np.abs(h - w)[finite] > allowed):
        return f"off by {float(np.max(np.abs(h - w)[finite])):.3g}"
    return ""


def _vector(t: Any) -> Any:
    if isinstance(t, Tangent):
        return np.concatenate([np.zeros(0), *[_vector(part) for _, part in t.fields()]])
    return value_vector(t)
