"""Tangents as vectors of real numbers: one comparison serves arrays, numbers and structures.

A complex number has two coordinates. Integers and booleans have none, because they cannot change by
a small step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import NoTangent, is_zero
from chainrules_py.testing.cases.backends import to_numpy
from chainrules_py.testing.cases.differences import power_of_two
from chainrules_py.values.structure import fields_of, is_structure_type, rebuild
from chainrules_py.values.type_info import type_info


def like(x: Any, values: Any) -> Any:
    """Convert NumPy's numbers to the library, dtype and device of x."""
    cls = type(x)
    if cls is np.ndarray:
        return np.array(values, dtype=x.dtype)
    if cls in (int, float, complex):
        return complex(values) if np.iscomplexobj(values) else float(values)
    if isinstance(x, np.generic):
        return cls(values)
    device = getattr(x, "device", None)
    keywords = {} if device is None else {"device": device}
    return type_info(cls).namespace.asarray(np.array(values), dtype=x.dtype, **keywords)


@final
class Names(Sequence[str]):
    """Names of many things, each computed from its index on access.

    Examples
    --------
    >>> names = Names(10**9, lambda i: f"y[{i}]")
    >>> len(names), names[7]
    (1000000000, 'y[7]')
    """

    def __init__(self, count: int, name: Callable[[int], str]) -> None:
        self._numbers = range(count)
        self._name = name

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, i: Any) -> Any:
        return self._name(self._numbers[i])

    def __repr__(self) -> str:
        shown = [self[i] for i in self._numbers[:6]]
        return f"Names({', '.join(map(repr, shown))}{', ...' if len(self) > 6 else ''})"


@final
class Coordinates:
    """The coordinates of one value's tangent space.

    Attributes
    ----------
    size : int
        The number of coordinates.
    is_leaf : bool
        Whether the value is an array or number, rather than a structure of them.

    Examples
    --------
    >>> of = Coordinates((1.0, 2j, "name"))
    >>> of.size
    3
    >>> of.tangent(np.asarray([5.0, 6.0, 7.0]))
    Tangent[tuple](5.0, (6+7j), NoTangent())
    >>> of.vector((5.0, 6 + 7j, NoTangent()))
    array([5., 6., 7.])
    """

    def __init__(self, x: Any) -> None:
        self.x = x
        cls = type(x)
        self.is_leaf = not is_structure_type(cls)
        self.fields: dict[Any, Coordinates] = {}
        self.kind = "none"
        self.shape: tuple[int, ...] = ()
        if self.is_leaf:
            self.kind = kind_of(x)
            self.shape = tuple(getattr(x, "shape", ()))
            n = int(np.prod(self.shape, dtype=int))
            self.size = n * {"real": 1, "complex": 2}.get(self.kind, 0)
        else:
            self.fields = {key: Coordinates(field) for key, field in fields_of(x)}
            self.size = sum(field.size for field in self.fields.values())

    def hold(self, key: Any = None) -> None:
        """Treat a field, or the whole value, as one that cannot be perturbed."""
        if key is None:
            self.is_leaf, self.fields, self.kind, self.size = True, {}, "none", 0
        else:
            self.size -= self.fields[key].size
            self.fields[key].hold()

    def vector(self, t: Any) -> Any:
        """Return a tangent as a vector, with zeros where it is zero or absent."""
        t = unthunk(t)
        if is_zero(t) or not self.size:
            return np.zeros(self.size)
        if self.is_leaf:
            values = to_numpy(t)
            if self.kind == "real":
                return np.asarray(values.real, dtype=float).reshape(self.size)
            values = values.reshape(self.size // 2)
            return np.concatenate([values.real, values.imag]).astype(float)
        parts = []
        for key, field in self.fields.items():
            try:
                named = isinstance(key, str) and not isinstance(t, (Tangent, dict))
                part = getattr(t, key) if named else t[key]
            except (KeyError, IndexError):
                part = NoTangent()
            parts.append(field.vector(part))
        return np.concatenate(parts)

    def tangent(self, vector: Any) -> Any:
        """Return the tangent of some coordinates; `NoTangent()` where nothing can be perturbed."""
        if not self.is_leaf:
            return Tangent.of(type(self.x), dict(self._parts(vector, Coordinates.tangent)))
        return (
            like(self.x, self._values(vector)) if self.kind in ("real", "complex") else NoTangent()
        )

    def moved(self, vector: Any) -> Any:
        """Move the value along the tangent of some coordinates."""
        return self.line(vector)(1.0)

    def line(self, vector: Any) -> Callable[[float], Any]:
        """Return a function of t that moves the value by t times the tangent of coordinates."""
        if not self.is_leaf:
            lines = [line for _, line in self._parts(vector, Coordinates.line)]
            return lambda t: rebuild(self.x, [line(t) for line in lines])
        if self.kind not in ("real", "complex"):
            return lambda t: self.x
        values, step = to_numpy(self.x), self._values(vector)
        return lambda t: like(self.x, values + t * step)

    def leaves(self, t: Any) -> list[tuple[Coordinates, Any]]:
        """List the leaves of a tangent, or value, that have coordinates; tracers are kept."""
        if self.is_leaf:
            return [(self, t)] if self.size else []
        if is_zero(t):
            return []
        whole = (
            t if isinstance(t, Tangent) or type(t) in (tuple, list, dict) else dict(fields_of(t))
        )
        return [
            leaf
            for key, field in self.fields.items()
            if field.size
            for leaf in field.leaves(whole[key])
        ]

    def labels(self) -> Names:
        """Name each coordinate, as ``[0, 2]``, ``.weights[3]`` or ``[1].imag``."""
        return Names(self.size, self._label)

    def _label(self, i: int) -> str:
        for key, field in self.fields.items():
            if i < field.size:
                return f"{_key(key)}{field._label(i)}"
            i -= field.size
        n = self.size // 2 if self.kind == "complex" else self.size
        place = str([int(k) for k in np.unravel_index(i % n, self.shape)]) if self.shape else ""
        return place if self.kind == "real" else f"{place}.{'imag' if i >= n else 'real'}"

    def _values(self, vector: Any) -> Any:
        if self.kind == "complex":
            half = self.size // 2
            vector = vector[:half] + 1j * vector[half:]
        return vector.reshape(self.shape)

    def _parts(self, vector: Any, part: Any) -> list[tuple[Any, Any]]:
        made, start = [], 0
        for key, field in self.fields.items():
            made.append((key, part(field, vector[start : start + field.size])))
            start += field.size
        return made


def _key(key: Any) -> str:
    return f".{key}" if isinstance(key, str) else f"[{key!r}]"


def sizes_of(of: Coordinates, x: Any, *, alike: bool = False) -> Any:
    """Return for each coordinate of a value the largest number of its array, as a power of two.

    Parameters
    ----------
    of : Coordinates
        The coordinates of the value.
    x : array, number or structure
        The value.
    alike : bool
        Whether arrays of zeros are as large as the largest array, and not 1.
    """
    largest, counts = [], []
    for leaf, values in of.leaves(x):
        numbers = np.abs(to_numpy(values)).astype(float)
        largest.append(np.max(numbers, initial=0.0, where=np.isfinite(numbers)))
        counts.append(leaf.size)
    if alike and any(largest):
        largest = [n or max(largest) for n in largest]
    return np.repeat(power_of_two(np.asarray(largest, dtype=float)), counts)


def are_zero(of: Coordinates, x: Any) -> Any:
    """Return which coordinates are of a number that is zero in both real and imaginary part."""
    found = [(leaf, np.ravel(to_numpy(values)) == 0) for leaf, values in of.leaves(x)]
    both = [np.tile(zeros, leaf.size // max(zeros.size, 1)) for leaf, zeros in found]
    return np.concatenate([np.zeros(0, bool), *both])


def sized_as(sizes: Any, others: Any, places: Any) -> Any:
    """Replace sizes at some indices by others, if there are as many of them."""
    return sizes if np.shape(others) != sizes.shape else np.where(places, others, sizes)


def in_units(want: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """Return the binary exponents of natural sizes, and those of derivatives relative to them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        natural = np.maximum(np.add.outer(np.log2(rows), np.log2(columns)), -2200.0)
        return natural, np.log2(np.abs(want)) - natural


def random_tangent(primal: Any, rng: Any) -> Any:
    """Draw a tangent of a value with normally distributed coordinates.

    Parameters
    ----------
    primal : array, number or structure
        The value.
    rng : numpy.random.Generator or int
        The generator, or its seed.

    Returns
    -------
    tangent
        An array or number of the same library, shape, dtype and device; a `Tangent` of a structure;
        `NoTangent()` for values that cannot be perturbed: integers, booleans, strings.

    Examples
    --------
    >>> random_tangent((0.0, "name"), 0)
    Tangent[tuple](0.1257302210933933, NoTangent())
    """
    of = Coordinates(primal)
    rng = np.random.default_rng(rng)
    return of.tangent(rng.standard_normal(of.size))


def lengths_along(directions: Any, sizes: Any) -> Any:
    """Return the lengths of directions, each coordinate measured in units of its size."""
    return np.max(np.abs(directions) * sizes[:, None], axis=0, initial=0.0)


def named(names: Names, columns: int) -> Names:
    """Name directions: those along single coordinates, if these have names, and random ones."""
    small = names if len(names) < columns else Names(0, str)
    n = len(small)
    return Names(columns, lambda i: small[i] if i < n else f"a random direction ({i - n})")


def joined(names: Sequence[str], labels: Sequence[Sequence[str]]) -> Names:
    """Name the coordinates of several values, each by its value's name and its label."""

    def name(i: int) -> str:
        for operand, own in zip(names, labels, strict=True):
            if i < len(own):
                return f"{operand}{own[i]}"
            i -= len(own)
        raise IndexError(i)

    return Names(sum(map(len, labels)), name)
