"""Random programs while they are drawn: their lines, and what has been computed so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, final

import numpy as np
from hypothesis import strategies as st

from chainrules_py.testing.strategies import axes, indices

Maker = Callable[["Choices"], "Line | None"]
"""Draws a line, or gives None where nothing that there is suits it."""
Test = Callable[[Any], Any]
"""Whether a value suits a line."""


@final
@dataclasses.dataclass(frozen=True)
class Line:
    """Line of a program.

    Attributes
    ----------
    template : str
        How it is written, with ``{0}`` for the first operand.
    operands : tuple of int
        Which of the values that there are.
    run : callable
        ``run(np, *operands)``; the library is NumPy, or one with its names.
    jax : bool
        Whether JAX has its functions.
    kind : {"value", "values", "write"}
        Whether it gives one value or a list, or writes to its first operand.
    """

    template: str
    operands: tuple[int, ...]
    run: Callable[..., Any]
    jax: bool = True
    kind: str = "value"

    def __call__(self, library: Any, env: list[Any]) -> list[Any]:
        """Compute the values that the line adds to those that there are."""
        y = self.run(library, *[env[i] for i in self.operands])
        return {"value": [y], "write": []}.get(self.kind, y)  # type: ignore[no-any-return]

    def text(self, names: list[str]) -> str:
        """Write the line with these names."""
        return self.template.format(*[names[i] for i in self.operands])


class Choices:
    """Choices that hypothesis draws for a program, and the values that it has computed so far."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(self.integer(0, 2**16))
        self.env: list[Any] = []
        self.fresh: set[int] = set()

    # -- drawing

    def integer(self, low: int, high: int) -> int:
        """From low to high, both among them."""
        return self.draw(st.integers(low, high))  # type: ignore[no-any-return]

    def choice(self, among: Iterable[Any]) -> Any:
        """Draw one of several."""
        options = tuple(among)
        return options[self.integer(0, len(options) - 1)]

    def flag(self) -> bool:
        """Draw true or false."""
        return self.draw(st.booleans())  # type: ignore[no-any-return]

    def axis(self, ndim: int, none: bool = True, tuples: bool = True) -> Any:
        """Draw the ``axis=`` of an array with so many axes."""
        return self.draw(axes(ndim, none=none, tuples=tuples))

    def index(self, shape: tuple[int, ...]) -> Any:
        """Draw the subscript of an array of this shape."""
        return self.draw(indices(shape))

    def order(self, n: int) -> tuple[int, ...]:
        """Draw a permutation."""
        return tuple(self.draw(st.permutations(range(n))))

    def call(self, among: tuple[Any, ...]) -> Any:
        """Draw one of the calls that were entered."""
        return self.choice(among)

    def shape(self) -> tuple[int, ...]:
        """Draw the shape of an array that is not empty."""
        return tuple([self.integer(1, 4) for _ in range(self.integer(0, 3))])

    def array(self, shape: tuple[int, ...], kind: str = "real") -> Any:
        """Numbers at random."""
        x = self.rng.uniform(-2, 2, shape)
        return np.asarray(x + 1j * self.rng.uniform(-2, 2, shape) if kind == "complex" else x)

    def leaf(self) -> Any:
        """Draw a value to differentiate in: mostly an array, or a scalar of NumPy or Python."""
        kind = self.choice(("array", "array", "array", "array", "complex", "float", "scalar"))
        if kind in ("float", "scalar"):
            x = float(self.rng.uniform(-2, 2))
            return x if kind == "float" else np.float64(x)
        return self.array(self.shape(), kind)

    def constant(self, narrow: bool) -> Any:
        """Draw a constant: an array of any dtype, float32 only if ``narrow``, or a number."""
        kinds = ("real", "complex", "int", "bool", "number")
        kind = self.choice((*kinds, "float32") if narrow else kinds)
        if kind == "number":
            return self.choice((2, 0.5, -1.5))
        shape = self.shape()
        if kind == "int":
            return np.asarray(self.rng.integers(-3, 4, shape))
        if kind == "bool":
            return np.asarray(self.rng.random(shape) < 0.5)
        return (
            self.array(shape).astype(np.float32) if kind == "float32" else self.array(shape, kind)
        )

    def weight(self, y: Any) -> Any:
        """Draw the weight of a result in the loss; None for a result that has no derivative."""
        if np.asarray(y).dtype.kind not in "fc":
            return None
        kind = "complex" if np.iscomplexobj(y) else "real"
        return self.array(np.shape(y), kind) / max(1, np.size(y))

    # -- the values that there are

    def start(self, env: list[Any]) -> None:
        """Begin with these values."""
        self.env = env

    def pick(self, test: Test) -> int | None:
        """Draw the place of a value that passes a test, or None."""
        found = [i for i, x in enumerate(self.env) if bool(test(x))]
        return self.choice(found) if found else None

    def append(self, line: Line, is_good: Test) -> bool:
        """Compute a line, and keep what it gives if that is good."""
        target = self.env[line.operands[0]] if line.kind == "write" else None
        before = None if target is None else target.copy()
        try:
            made = line(np, self.env)
        except (TypeError, ValueError, IndexError, OverflowError, np.linalg.LinAlgError):
            return False
        if target is not None:
            if all(map(is_good, self.env)):
                return True
            target[...] = before
            return False
        if not made or not all(map(is_good, made)):
            return False
        for y in made:
            mine = isinstance(y, np.ndarray) and y.flags.owndata and y.flags.writeable
            if mine and not any(y is x for x in self.env):
                self.fresh.add(len(self.env))
            self.env.append(y)
        return True


# ---------------------------------------------------------------------------- tests of operands


def is_real(x: Any) -> bool:
    """Tell whether x is a real array or number."""
    return np.asarray(x).dtype.kind == "f"


def is_number(x: Any) -> bool:
    """Tell whether x is a real or complex array or number."""
    return np.asarray(x).dtype.kind in "fc"


def is_array(x: Any) -> bool:
    """Tell whether x is a real or complex array with axes."""
    return is_number(x) and isinstance(x, np.ndarray) and x.ndim > 0


def apart(x: Any, gap: float = 0.02) -> bool:
    """Tell whether no two elements are nearly the same."""
    flat = np.sort(np.ravel(x))
    return bool(is_real(x) and np.all(np.diff(flat) > gap))


def away(x: Any, *points: float) -> Any:
    """Tell whether no element is near one of these points."""
    return np.all([np.abs(x - p) > 0.05 for p in points])
