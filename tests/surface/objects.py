"""Sweep of NumPy's surface with arrays of traced objects in place of traced arrays.

Each call is differentiated with traced arrays, which is the truth, and with ``np.array`` of their
elements: for all operands, for each beside the traced others, and for each beside the plain others.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError
from chainrules_tape import jvp, value_and_grad
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point, leaves

POINTS = ("ordinary", "tie", "zero", "nan")
"""What the first element of each array is: a number, that beside it, zero, or NaN."""
CLASSES = ("right", "our error", "NumPy's error, with our note", "differs")


OF_VERSIONS = {"tie": {"sort"}}
"""Names that give other numbers in some versions of NumPy: 2.2 sorts equal objects otherwise."""


def objects_of(x: Any) -> Any:
    """Return the array of objects of a traced array's elements; a number as it is."""
    if getattr(x, "ndim", 0) == 0:
        return x
    return np.array([x[i] for i in np.ndindex(x.shape)]).reshape(x.shape)


def loss_of(point: Point, varying: list[int], make: dict[int, Callable[[Any], Any]]) -> Any:
    """Return a weighted sum of a call's results, as a function of the operands that vary."""

    def loss(*ts: Any) -> Any:
        xs = list(point.xs)
        for i, t in zip(varying, ts, strict=True):
            xs[i] = make[i](t) if i in make else t
        rng, total = np.random.default_rng(7), 0.0
        for part in leaves(point.gauged(*xs)):
            kind = _kind(part)
            if kind == "O":  # objects that are plain numbers
                part = np.array(part.tolist())
            if kind in "biu":
                part = np.asarray(part, float)
            if kind in "?U":
                continue
            total = total + np.sum(rng.uniform(0.5, 1.5, np.shape(part)) * np.real(part))
            if kind == "c":
                total = total + np.sum(rng.uniform(0.5, 1.5, np.shape(part)) * np.imag(part))
        return total

    return loss


def _kind(part: Any) -> str:
    cls = getattr(type(part), "__dispatch_type__", type(part))
    if part is None or isinstance(part, (type, str, np.dtype)):
        return "?"
    if not hasattr(part, "dtype") and cls not in (float, int, complex, bool):
        return "?"
    return np.dtype(getattr(part, "dtype", cls)).kind


def derivative(f: Any, xs: list[Any], forward: bool) -> list[Any]:
    """Return the value of a loss, and its gradient or its derivative in a direction."""
    if forward:
        rng = np.random.default_rng(3)
        return list(jvp(f, tuple(xs), tuple([rng.normal(size=np.shape(x)) for x in xs])))
    y, bars = value_and_grad(f, argnums=tuple(range(len(xs))), unused="zero")(*xs)
    return [y, *bars]


def close(have: list[Any], want: list[Any]) -> bool:
    """Tell whether numbers agree, NaN with NaN."""
    pairs = [
        (np.asarray(a, complex), np.asarray(b, complex)) for a, b in zip(have, want, strict=True)
    ]
    return all([np.allclose(a, b, rtol=1e-6, atol=1e-9, equal_nan=True) for a, b in pairs])


def outcome(point: Point, varying: list[int], places: list[int], forward: bool) -> str | None:
    """Return the class of a call with arrays of objects at some places; None without a truth."""
    xs = [point.xs[i] for i in varying]
    try:
        truth = derivative(loss_of(point, varying, {}), xs, forward)
    except Exception:
        return None
    try:
        made: dict[int, Callable[[Any], Any]] = dict.fromkeys(places, objects_of)
        found = derivative(loss_of(point, varying, made), xs, forward)
    except ChainRulesError:
        return "our error"
    except Exception as error:
        noted = any(["array of objects" in note for note in getattr(error, "__notes__", ())])
        return "NumPy's error, with our note" if noted else f"{type(error).__name__}: {error}"
    return "right" if close(found, truth) else "differs"


def points(which: str) -> Iterator[tuple[str, Point]]:
    """Yield NumPy's names with their calls of real numbers, at points of one kind."""
    for name in names_with_calls():
        for call in surface_calls(name):
            if "sorter" in call.sample.options:  # which does not sort what is drawn
                continue
            point = None if call.complex else Point(call)
            if point is None or any(map(np.iscomplexobj, point.xs)):
                continue
            for k, x in enumerate(point.xs):
                if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size > 1:
                    point.xs[k] = x = x.copy()
                    flat = x.reshape(-1)
                    special = {"ordinary": flat[0], "tie": flat[1], "zero": 0.0, "nan": np.nan}
                    flat[0] = special[which]
            yield name, point


def swept(which: str, forward: bool = False) -> dict[str, dict[str, int]]:
    """Return for each name how many of its calls are of each class."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, point in points(which):
            n = len(point.xs)
            arrays = [i for i, x in enumerate(point.xs) if np.ndim(x) and np.size(x)]
            cases = [(list(range(n)), arrays)] if arrays else []
            if n > 1:
                cases += [(varying, [i]) for i in arrays for varying in (list(range(n)), [i])]
            for varying, places in cases:
                what = outcome(point, varying, places, forward)
                if what is not None:
                    found[name][what] += 1
    return found


def differing(which: str) -> str:
    """Return the names, in a text, that give other numbers at points of one kind."""
    both = [*swept(which).items(), *swept(which, forward=True).items()]
    names = {name for name, found in both if "differs" in found} | OF_VERSIONS.get(which, set())
    return " ".join(sorted(names))


if __name__ == "__main__":
    print("point,functions")
    for _which in POINTS:
        print(f"{_which},{differing(_which)}")
