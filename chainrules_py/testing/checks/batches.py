"""The check of batches: several directions at once give the same as one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.registry.bind.batched_tangents import batched, gather
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.coordinates import random_tangent
from chainrules_py.testing.cases.value_comparison import resolution, value_vector
from chainrules_py.testing.diagnosis import scale_of
from chainrules_py.testing.errors import WrongError, skip_if
from chainrules_py.testing.find_rule import bound_rule
from chainrules_py.values.pytree import flatten


def check_batched(case: Case) -> None:
    """Check that a half that takes a batch of directions agrees with the half of each direction.

    Directions that hold only Python numbers are skipped: there is no array to hold several.
    """
    rng = np.random.default_rng(0)
    for name, mode in (("push", "linearize"), ("pull", "reverse")):
        if not (case.has_push if name == "push" else case.has_pull):
            continue
        found = bound_rule(case, mode)
        skip_if(found is None, "the call is made of several operations")
        if (bound := found.bound) is None:  # type: ignore[union-attr]
            continue
        xs = found.operands  # type: ignore[union-attr]
        y, (half, _, *saved) = bound.run(None, *xs, **found.options)  # type: ignore[union-attr]
        wanted = tuple([x for x, w in zip(xs, bound.wanted, strict=True) if w])
        draws = [random_tangent(y if name == "pull" else wanted, rng) for _ in range(3)]
        ts = draws if name == "pull" else [tuple([t for _, t in d.fields()]) for d in draws]
        _compare(name, half, ts, saved)


def _compare(name: str, half: Any, ts: list[Any], saved: list[Any]) -> None:
    """Raise a `WrongError` if a batch of directions gives another result than each direction."""
    like = next((x for x in flatten(ts[0])[0] if hasattr(x, "dtype")), None)
    if like is None:
        return
    have = flatten(batched(half)(gather(ts, like), *saved))[0]
    want = flatten(gather([half(t, *saved) for t in ts], like))[0]
    shapes = [[np.shape(x) for x in xs if hasattr(x, "shape")] for xs in (have, want)]
    h, w = (np.concatenate([np.zeros(0), *map(value_vector, xs)]) for xs in (have, want))
    known = np.isfinite(w)
    if len(h) != len(w):
        wrong = bool(np.any(h) or np.any(w))  # one is a symbolic zero
    else:
        eps = max([1e-15, *map(resolution, want)])
        allowed = max(1e-10, 1e4 * eps) * scale_of(w) if np.any(w[known]) else 1e3 * eps
        wrong = shapes[0] != shapes[1] or bool(np.any(np.abs(h - w)[known] > allowed))
    if wrong:
        msg = f"the {name} of {len(ts)} directions at once is not that of each"
        raise WrongError(f"{msg}\n  have {h[:6]}\n  want {w[:6]}", "wrong for several directions")
