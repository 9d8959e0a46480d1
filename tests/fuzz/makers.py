"""Makers of lines of random programs: what each line needs, and what it does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.lines import (
    Choices,
    Line,
    Maker,
    Test,
    away,
    is_array,
    is_number,
    is_real,
)


def of_one(template: str, run: Callable[..., Any], ok: Test = is_real, jax: bool = True) -> Maker:
    """Return a maker of lines with one operand."""

    def make(c: Choices) -> Line | None:
        i = c.pick(lambda x: is_number(x) and ok(x))
        return None if i is None else Line(template, (i,), run, jax)

    return make


def on(*domain: float, low: float = -math.inf, high: float = math.inf) -> Test:
    """Real operands in an interval, and away from points."""
    return lambda x: is_real(x) and np.all((x > low) & (x < high)) and away(x, *domain)


def of_names(names: str, ok: Test = is_real) -> list[Maker]:
    """Lines that call a function of NumPy by its name."""

    def run(name: str) -> Callable[..., Any]:
        def call(np: Any, x: Any) -> Any:
            y = getattr(np, name)(x)
            return y[0] if name == "modf" else y

        return call

    return [of_one(f"np.{name}({{0}})", run(name), ok) for name in names.split()]


def of_two(
    template: str,
    run: Callable[..., Any],
    ok: Callable[[Any, Any], Any] = lambda x, y: True,
) -> Maker:
    """Return a maker of lines with two operands that broadcast, one at least no integer."""

    def make(c: Choices) -> Line | None:
        i = c.pick(is_number)
        if i is None:
            return None
        x, turned = c.env[i], c.flag()

        def fits(y: Any) -> bool:
            try:
                np.broadcast_shapes(np.shape(x), np.shape(y))
            except ValueError:
                return False
            return bool(ok(y, x) if turned else ok(x, y))

        j = c.pick(fits)
        return None if j is None else Line(template, (j, i) if turned else (i, j), run)

    return make


def unequal(x: Any, y: Any) -> Any:
    """Real operands that are equal nowhere."""
    return both_real(x, y) and away(np.subtract(x, y), 0.0)


def powers(x: Any, y: Any) -> Any:
    """Tell whether the base is positive, and both operands are real."""
    return both_real(x, y) and np.all(np.asarray(x) > 0.2)


def both_real(x: Any, y: Any) -> bool:
    """Neither operand is complex."""
    return np.asarray(x).dtype.kind in "fiu" and np.asarray(y).dtype.kind in "fiu"


def along(
    template: str,
    run: Callable[..., Any],
    ok: Test = is_number,
    keepdims: bool = True,
    none: bool = True,
    tuples: bool = True,
    jax: bool = True,
) -> Maker:
    """Return a maker of lines with an axis: ``run(np, x, axis=..., keepdims=...)``."""

    def make(c: Choices) -> Line | None:
        i = c.pick(lambda x: is_array(x) and ok(x))
        if i is None:
            return None
        axis = c.axis(c.env[i].ndim, none, tuples)
        given: dict[str, Any] = {"axis": axis}
        if keepdims and c.flag():
            given["keepdims"] = True
        shown = ", ".join(f"{k}={value!r}" for k, value in given.items())
        return Line(template.replace("...", shown), (i,), lambda np, x: run(np, x, **given), jax)

    return make


def with_index(c: Choices) -> Line | None:
    """Subscripting of every kind."""
    i = c.pick(is_array)
    if i is None:
        return None
    where = c.index(c.env[i].shape)
    return Line(f"{{0}}[{where!r}]", (i,), lambda np, x: x[where])


def writing(c: Choices) -> Line | None:
    """Draw an assignment, or an operator in place, to an array that the program made."""
    i = c.pick(lambda x: any(x is c.env[k] for k in c.fresh) and is_array(x))
    if i is None:
        return None
    x = c.env[i]
    where = c.choice((..., slice(None), c.index(x.shape)))
    try:
        target = x[where]
    except IndexError:
        return None

    def fits(y: Any) -> bool:
        same = np.can_cast(np.asarray(y).dtype, x.dtype, "same_kind")
        try:
            return same and np.broadcast_shapes(target.shape, np.shape(y)) == target.shape
        except ValueError:
            return False

    j = c.pick(fits)
    if j is None:
        return None
    sign = c.choice(("=", "+=", "-=", "*="))
    return Line(f"{{0}}[{where!r}] {sign} {{1}}", (i, j), _WRITES[sign](where), False, "write")


def _assign(where: Any) -> Callable[..., Any]:
    def run(np: Any, x: Any, y: Any) -> None:
        x[where] = y

    return run


def _add(where: Any) -> Callable[..., Any]:
    def run(np: Any, x: Any, y: Any) -> None:
        x[where] += y

    return run


def _subtract(where: Any) -> Callable[..., Any]:
    def run(np: Any, x: Any, y: Any) -> None:
        x[where] -= y

    return run


def _multiply(where: Any) -> Callable[..., Any]:
    def run(np: Any, x: Any, y: Any) -> None:
        x[where] *= y

    return run


_WRITES = {"=": _assign, "+=": _add, "-=": _subtract, "*=": _multiply}


def shaped(c: Choices) -> Line | None:
    """Another shape for the same elements."""
    i = c.pick(is_array)
    if i is None:
        return None
    x = c.env[i]
    kind = c.choice(("flat", "split", "rows", "columns", "newaxis"))
    n = x.size
    if kind == "flat":
        return Line("{0}.reshape(-1)", (i,), lambda np, x: x.reshape(-1))
    if kind == "newaxis":
        axis = c.integer(-x.ndim - 1, x.ndim)
        return Line(f"np.expand_dims({{0}}, {axis})", (i,), lambda np, x: np.expand_dims(x, axis))
    divisor = c.choice([d for d in range(1, n + 1) if n % d == 0])
    shape = {"split": (divisor, n // divisor), "rows": (divisor, -1)}.get(kind, (-1, divisor, 1))
    return Line(f"np.reshape({{0}}, {shape})", (i,), lambda np, x: np.reshape(x, shape))


def transposed(c: Choices) -> Line | None:
    """Draw a line that puts the axes in another order."""
    i = c.pick(is_array)
    if i is None:
        return None
    order = c.order(c.env[i].ndim)
    return Line(f"{{0}}.transpose({order})", (i,), lambda np, x: x.transpose(order))


def broadcast(c: Choices) -> Line | None:
    """Draw a line that repeats an array, or number, along new axes and those of length one."""
    i = c.pick(is_number)
    if i is None:
        return None
    shape = tuple([c.integer(1, 3) if n == 1 else n for n in np.shape(c.env[i])])
    shape = (*[c.integer(1, 2) for _ in range(c.integer(0, 2))], *shape)
    return Line(f"np.broadcast_to({{0}}, {shape})", (i,), lambda np, x: np.broadcast_to(x, shape))


def joined(c: Choices) -> Line | None:
    """Several arrays in one, the same one twice among them."""
    i = c.pick(is_array)
    if i is None:
        return None
    shape = c.env[i].shape
    j, k = (c.pick(lambda y: np.shape(y) == shape) for _ in range(2))
    assert j is not None
    assert k is not None
    axis = c.integer(-len(shape), len(shape) - 1)
    name = c.choice(("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"))
    given = {"axis": axis} if name in ("concatenate", "stack") else {}
    shown = "".join(f", {n}={a}" for n, a in given.items())
    return Line(
        f"np.{name}([{{0}}, {{1}}, {{2}}]{shown})",
        (i, j, k),
        lambda np, *xs: getattr(np, name)(list(xs), **given),
    )


def rolled(c: Choices) -> Line | None:
    """Elements in other places."""
    i = c.pick(is_array)
    if i is None:
        return None
    ndim = c.env[i].ndim
    axis, n = c.integer(-ndim, ndim - 1), c.integer(-2, 2)
    line: Line = c.choice(
        (
            Line(f"np.roll({{0}}, {n}, {axis})", (i,), lambda np, x: np.roll(x, n, axis)),
            Line(f"np.roll({{0}}, {n})", (i,), lambda np, x: np.roll(x, n)),
            Line(f"np.flip({{0}}, {axis})", (i,), lambda np, x: np.flip(x, axis)),
            Line(f"np.repeat({{0}}, 2, {axis})", (i,), lambda np, x: np.repeat(x, 2, axis)),
            Line(f"np.moveaxis({{0}}, {axis}, 0)", (i,), lambda np, x: np.moveaxis(x, axis, 0)),
            Line(f"np.swapaxes({{0}}, {axis}, 0)", (i,), lambda np, x: np.swapaxes(x, axis, 0)),
            Line("np.tile({0}, (2, 1))", (i,), lambda np, x: np.tile(x, (2, 1))),
            Line(f"np.diff({{0}}, axis={axis})", (i,), lambda np, x: np.diff(x, axis=axis)),
            Line(f"np.cumsum({{0}}, {axis})", (i,), lambda np, x: np.cumsum(x, axis)),
            Line(f"np.cumprod({{0}}, {axis})", (i,), lambda np, x: np.cumprod(x, axis)),
            Line(
                f"np.take({{0}}, [0, -1], {axis})",
                (i,),
                lambda np, x: np.take(x, np.asarray([0, -1]), axis),
            ),
            Line("np.pad({0}, 1, mode='edge')", (i,), lambda np, x: np.pad(x, 1, mode="edge")),
            Line("[row * 2 for row in {0}][-1]", (i,), lambda np, x: [row * 2 for row in x][-1]),
            Line(
                "np.stack([np.sin(row) for row in {0}])",
                (i,),
                lambda np, x: np.stack([np.sin(row) for row in x]),
            ),
            Line("sum({0})", (i,), lambda np, x: sum(x)),
        )
    )
    return line


def product(c: Choices) -> Line | None:
    """Matrix products of every kind of operands."""
    i = c.pick(is_array)
    if i is None:
        return None
    x = c.env[i]

    def fits(y: Any) -> bool:
        if not isinstance(y, np.ndarray) or y.ndim == 0 or y.dtype.kind == "b":
            return False
        return bool(x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0])

    j = c.pick(fits)
    if j is None:
        return None
    line: Line = c.choice(
        (
            Line("{0} @ {1}", (i, j), lambda np, x, y: x @ y),
            Line("np.dot({0}, {1})", (i, j), lambda np, x, y: np.dot(x, y)),
            Line("np.matmul({0}, {1})", (i, j), lambda np, x, y: np.matmul(x, y)),
        )
    )
    return line


def einsum(c: Choices) -> Line | None:
    """Draw a line that sums products over named axes."""
    i = c.pick(is_array)
    if i is None:
        return None
    x = c.env[i]
    j = c.pick(lambda y: isinstance(y, np.ndarray) and np.shape(y)[-1:] == x.shape[-1:])
    ellipsis = Line(
        "np.einsum('...i,...i', {0}, {0})", (i, i), lambda np, x, y: np.einsum("...i,...i", x, y)
    )
    if j is None or c.flag():
        return ellipsis
    left, right = "abc"[: x.ndim - 1], "def"[: c.env[j].ndim - 1]
    text = f"{left}i,{right}i->{right}{left}"
    return Line(
        f"np.einsum({text!r}, {{0}}, {{1}})", (i, j), lambda np, x, y: np.einsum(text, x, y)
    )


def of_square(template: str, run: Callable[..., Any]) -> Maker:
    """Linear algebra, of well-conditioned matrices made of two axes of an array."""

    def make(c: Choices) -> Line | None:
        i = c.pick(lambda x: isinstance(x, np.ndarray) and is_number(x) and x.ndim >= 2)
        if i is None:
            return None
        n = c.env[i].shape[-1]

        def matrix(np: Any, x: Any) -> Any:
            # Diagonally dominant with different eigenvalues, whatever x is.
            part = np.matmul(np.swapaxes(np.conj(x), -1, -2), x)
            return part / (1 + np.sum(np.real(part * np.conj(part)))) + np.diag(
                np.arange(1.0, n + 1)
            )

        text = template.replace("M", "M({0})")
        return Line(text, (i,), lambda np, x: run(np, matrix(np, x)))

    return make
