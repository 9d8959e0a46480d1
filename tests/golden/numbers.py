"""Summaries of values: what is kept of a number, an array or a structure, and how two compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, final

import numpy as np

from chainrules_py import ChainRulesError, unthunk
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.zeros import NoTangent, is_zero
from chainrules_py.values.structure import fields_of, is_structure_type
from tests.golden.draws import digest

ROUNDING = 1e-5, 1e-3
"""How far sums may be apart where bits cannot be compared, in double and in single precision,
relative to the sum of magnitudes, or to 1. Kernels for another processor make 1e-7 of it, in
programs that divide by what is nearly zero."""


@final
@dataclasses.dataclass(frozen=True)
class Number:
    """Summary of a value.

    Attributes
    ----------
    bits : int
        A hash of the types, shapes and bytes of everything that it holds.
    total : float
        The sum of its numbers, each with a weight between 1/2 and 3/2.
    scale : float
        The sum of their magnitudes with these weights. It is not kept, nor is the next.
    eps : float
        The rounding of its coarsest floating number; 0 if there is none.
    """

    bits: int
    total: float
    scale: float = 0.0
    eps: float = 0.0

    def ulps(self, old: Number) -> float:
        """By how many units in the last place some element differs from the old one, at least."""
        unit = (self.eps or 2.0**-52) * (self.scale or abs(old.total))
        return abs(self.total - old.total) / unit if unit else 0.0

    def is_near(self, old: Number, ulps: float | None = None) -> bool:
        """Tell whether a value is the old one to so many units, or by default to rounding."""
        if not self.eps:  # whole numbers, texts
            return self.bits == old.bits
        if ulps is None:
            apart = abs(self.total - old.total)
            return apart <= ROUNDING[self.eps > 1e-10] * max(self.scale, 1.0)
        return self.ulps(old) <= ulps + 2  # of the sums themselves

    def __str__(self) -> str:
        return f"{self.total!r}"


@final
@dataclasses.dataclass(frozen=True)
class Refusal:
    """An error in place of a value.

    Attributes
    ----------
    name : str
        Its class.
    """

    name: str

    @property
    def is_crash(self) -> bool:
        """Whether the error is none of ours, nor NumPy's of an array that the tape has locked."""
        return self.name.startswith("crash")

    def __str__(self) -> str:
        return self.name


Result = Number | Refusal


def refusal(error: Exception) -> Refusal:
    """Return what is kept of an error."""
    if isinstance(error, ChainRulesError):
        return Refusal(type(error).__name__)
    if "read-only" in str(error):
        return Refusal("read-only")
    return Refusal(f"crash: {type(error).__name__}")


def _leaves(x: Any) -> Iterator[Any]:
    x = unthunk(x)
    if is_zero(x):
        yield "NoTangent" if isinstance(x, NoTangent) else "ZeroTangent"
    elif isinstance(x, Tangent):
        for key, field in x.fields():
            yield f"{key}"
            yield from _leaves(field)
    elif is_structure_type(type(x)):
        for key, field in fields_of(x):
            yield f"{key}"
            yield from _leaves(field)
    else:
        yield x


def _weights(n: int) -> Any:
    """Weights that are the same, to the last bit, on every machine."""
    return 0.5 + (np.arange(1, n + 1, dtype=np.uint64) * np.uint64(2654435769) % 2**32) / 2**32


def number(x: Any) -> Number:
    """Summarise a value."""
    parts, found, eps = [], [np.zeros(0)], 0.0
    for leaf in _leaves(x):
        a = (
            np.asarray(leaf)
            if isinstance(leaf, (np.ndarray, np.generic, int, float, complex))
            else None
        )
        if a is None or a.dtype.kind not in "biufc":
            parts.append(f"{type(leaf).__name__} {leaf}".encode())
            continue
        if a.dtype.kind in "fc":
            a = np.where(np.isnan(a), a.dtype.type(np.nan), a)  # which NaN it is says nothing
            eps = max(eps, float(np.finfo(a.dtype).eps))
        parts.append(f"{type(leaf).__name__} {a.dtype.str} {a.shape}".encode() + a.tobytes())
        flat: Any = a.ravel()
        found += [flat.real, flat.imag] if a.dtype.kind == "c" else [flat]
    flat = np.concatenate([part.astype(float) for part in found])
    flat = np.nan_to_num(flat, nan=3.0, posinf=5.0, neginf=-7.0)
    if np.max(np.abs(flat), initial=0.0) > 1e290:  # the sum of what is near the largest overflows
        flat = flat * 2.0**-60
    weighted = flat * _weights(flat.size)
    total, scale = float(np.sum(weighted)), float(np.sum(np.abs(weighted)))
    return Number(digest(b"|".join(parts)), total, scale, eps)
