"""The lines that random programs are made of: what each needs, and what it does.

A line is drawn where it has a derivative, a margin away from kinks and poles, so that differences
are a truth to compare with.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any, final

import numpy as np
from hypothesis import strategies as st

from chainrules_py.testing.strategies import axes, indices

__all__ = ["LINES", "Choices", "Line"]

Maker = Callable[["Choices"], "Line | None"]
Test = Callable[[Any], Any]


@final
@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a program.

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
        """The values that it adds to those that there are."""
        y = self.run(library, *[env[i] for i in self.operands])
        return {"value": [y], "write": []}.get(self.kind, y)  # type: ignore[no-any-return]

    def text(self, names: list[str]) -> str:
        """As it is written with these names."""
        return self.template.format(*[names[i] for i in self.operands])


class Choices:
    """What hypothesis draws for a program, and the values that it has computed so far."""

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
        """One of several."""
        options = tuple(among)
        return options[self.integer(0, len(options) - 1)]

    def flag(self) -> bool:
        """Whether or not."""
        return self.draw(st.booleans())  # type: ignore[no-any-return]

    def shape(self) -> tuple[int, ...]:
        """Of an array that is not empty."""
        return tuple([self.integer(1, 4) for _ in range(self.integer(0, 3))])

    def array(self, shape: tuple[int, ...], kind: str = "real") -> Any:
        """Numbers at random."""
        x = self.rng.uniform(-2, 2, shape)
        return np.asarray(x + 1j * self.rng.uniform(-2, 2, shape) if kind == "complex" else x)

    def leaf(self) -> Any:
        """What is differentiated in: arrays most of all, of NumPy's scalars and Python's some."""
        kind = self.choice(("array", "array", "array", "array", "complex", "float", "scalar"))
        if kind in ("float", "scalar"):
            x = float(self.rng.uniform(-2, 2))
            return x if kind == "float" else np.float64(x)
        return self.array(self.shape(), kind)

    def constant(self) -> Any:
        """What is not: arrays of any dtype, numbers."""
        kind = self.choice(("real", "complex", "float32", "int", "bool", "number"))
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
        """By what a result enters the loss; nothing that has no derivative does."""
        if np.asarray(y).dtype.kind not in "fc":
            return None
        kind = "complex" if np.iscomplexobj(y) else "real"
        return self.array(np.shape(y), kind) / max(1, np.size(y))

    # -- the values that there are

    def start(self, env: list[Any]) -> None:
        """Begin with these values."""
        self.env = env

    def pick(self, test: Test) -> int | None:
        """The place of a value that passes a test."""
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
    """A real array or number."""
    return np.asarray(x).dtype.kind == "f"


def is_number(x: Any) -> bool:
    """A real or complex array or number."""
    return np.asarray(x).dtype.kind in "fc"


def is_array(x: Any) -> bool:
    """An array with axes."""
    return is_number(x) and isinstance(x, np.ndarray) and x.ndim > 0


def apart(x: Any, gap: float = 0.02) -> bool:
    """Whether no two elements are nearly the same."""
    flat = np.sort(np.ravel(x))
    return bool(is_real(x) and np.all(np.diff(flat) > gap))


def away(x: Any, *points: float) -> Any:
    """Whether no element is near one of these points."""
    return np.all([np.abs(x - p) > 0.05 for p in points])


def off_integers(x: Any) -> Any:
    """Whether no element is near a whole number."""
    return np.all(np.abs(x - np.round(x)) > 0.03)


# ---------------------------------------------------------------------------------- the makers


def of_one(template: str, run: Callable[..., Any], ok: Test = is_real, jax: bool = True) -> Maker:
    """A line with one operand."""

    def make(c: Choices) -> Line | None:
        i = c.pick(lambda x: is_number(x) and ok(x))
        return None if i is None else Line(template, (i,), run, jax)

    return make


def on(*domain: float, low: float = -math.inf, high: float = math.inf) -> Test:
    """Real operands in an interval, and away from points."""
    return lambda x: is_real(x) and np.all((x > low) & (x < high)) and away(x, *domain)


def of_two(
    template: str,
    run: Callable[..., Any],
    ok: Callable[[Any, Any], Any] = lambda x, y: True,
    first: Test = is_number,
    second: Test = lambda x: True,
    jax: bool = True,
) -> Maker:
    """A line with two operands that broadcast."""

    def make(c: Choices) -> Line | None:
        i = c.pick(first)
        if i is None:
            return None
        x = c.env[i]

        def fits(y: Any) -> bool:
            try:
                np.broadcast_shapes(np.shape(x), np.shape(y))
            except ValueError:
                return False
            return bool(second(y) and ok(x, y))

        j = c.pick(fits)
        if j is None:
            return None
        pair, turned = (i, j), c.flag()
        return (
            Line(template, pair, run, jax)
            if not turned
            else turned_line(template, pair, run, ok, c, jax)
        )

    return make


def turned_line(
    template: str, pair: tuple[int, int], run: Any, ok: Any, c: Choices, jax: bool
) -> Line | None:
    """The line with its operands exchanged, where that is allowed as well."""
    j, i = pair
    return Line(template, (i, j), run, jax) if ok(c.env[i], c.env[j]) else None


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
    """A line with an axis: ``run(np, x, axis=..., keepdims=...)``."""

    def make(c: Choices) -> Line | None:
        i = c.pick(lambda x: is_array(x) and ok(x))
        if i is None:
            return None
        axis = c.draw(axes(c.env[i].ndim, none=none, tuples=tuples))
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
    where = c.draw(indices(c.env[i].shape))
    return Line(f"{{0}}[{where!r}]", (i,), lambda np, x: x[where])


def writing(c: Choices) -> Line | None:
    """An assignment, or an operator in place, to an array that the program made."""
    i = c.pick(lambda x: any(x is c.env[k] for k in c.fresh) and is_array(x))
    if i is None:
        return None
    x = c.env[i]
    where = c.choice((..., slice(None), c.draw(indices(x.shape))))
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
    """The axes in another order."""
    i = c.pick(is_array)
    if i is None:
        return None
    order = tuple(c.draw(st.permutations(range(c.env[i].ndim))))
    return Line(f"{{0}}.transpose({order})", (i,), lambda np, x: x.transpose(order))


def broadcast(c: Choices) -> Line | None:
    """An array, or number, repeated along new axes and those of length one."""
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
    return c.choice(
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
    return c.choice(
        (
            Line("{0} @ {1}", (i, j), lambda np, x, y: x @ y),
            Line("np.dot({0}, {1})", (i, j), lambda np, x, y: np.dot(x, y)),
            Line("np.matmul({0}, {1})", (i, j), lambda np, x, y: np.matmul(x, y)),
        )
    )


def einsum(c: Choices) -> Line | None:
    """Sums of products over named axes."""
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


_M = "M"
LINES: tuple[Maker, ...] = (
    of_one("np.sin({0})", lambda np, x: np.sin(x), is_number),
    of_one("np.cos({0})", lambda np, x: np.cos(x), is_number),
    of_one("np.tanh({0})", lambda np, x: np.tanh(x)),
    of_one("np.arctan({0})", lambda np, x: np.arctan(x)),
    of_one("np.arcsinh({0})", lambda np, x: np.arcsinh(x)),
    of_one("np.exp({0})", lambda np, x: np.exp(x), lambda x: np.all(np.abs(x) < 3)),
    of_one("np.expm1({0})", lambda np, x: np.expm1(x), on(high=3.0)),
    of_one("np.log({0})", lambda np, x: np.log(x), on(low=0.2)),
    of_one("np.log1p({0})", lambda np, x: np.log1p(x), on(low=-0.7)),
    of_one("np.sqrt({0})", lambda np, x: np.sqrt(x), on(low=0.2)),
    of_one(
        "np.cbrt({0})", lambda np, x: np.cbrt(x), lambda x: is_real(x) and np.all(np.abs(x) > 0.2)
    ),
    of_one("np.square({0})", lambda np, x: np.square(x), is_number),
    of_one("-{0}", lambda np, x: -x, is_number),
    of_one("abs({0})", lambda np, x: abs(x), lambda x: np.all(np.abs(x) > 0.1)),
    of_one("np.reciprocal({0})", lambda np, x: np.reciprocal(x), lambda x: np.all(np.abs(x) > 0.4)),
    of_one("np.arcsin({0})", lambda np, x: np.arcsin(x), on(low=-0.9, high=0.9)),
    of_one("np.sinc({0})", lambda np, x: np.sinc(x), on(0.0)),
    of_one("{0} ** 2", lambda np, x: x**2, is_number),
    of_one("{0} ** 3", lambda np, x: x**3, is_number),
    of_one("{0} ** 0.5", lambda np, x: x**0.5, on(low=0.2)),
    of_one("2.0 ** {0}", lambda np, x: 2.0**x, on(high=4.0)),
    of_one("1.5 - {0} / 3", lambda np, x: 1.5 - x / 3, is_number),
    of_one("3 / {0}", lambda np, x: 3 / x, lambda x: np.all(np.abs(x) > 0.3)),
    of_one("{0} % 1.7", lambda np, x: x % 1.7, lambda x: is_real(x) and off_integers(x / 1.7)),
    of_one("{0} // 0.7", lambda np, x: x // 0.7, lambda x: is_real(x) and off_integers(x / 0.7)),
    of_one("np.floor({0})", lambda np, x: np.floor(x), lambda x: is_real(x) and off_integers(x)),
    of_one("np.clip({0}, -1, 0.8)", lambda np, x: np.clip(x, -1, 0.8), on(-1.0, 0.8)),
    of_one("np.maximum({0}, 0.3)", lambda np, x: np.maximum(x, 0.3), on(0.3)),
    of_one("np.where({0} > 0.2, {0}, 0.1)", lambda np, x: np.where(x > 0.2, x, 0.1), on(0.2)),
    of_one("np.logaddexp({0}, 0.5)", lambda np, x: np.logaddexp(x, 0.5)),
    of_one("{0} > 0.1", lambda np, x: x > 0.1, on(0.1)),
    of_one("np.conj({0})", lambda np, x: np.conj(x), is_number),
    of_one("{0}.real", lambda np, x: np.real(x), is_number),
    of_one("np.imag({0})", lambda np, x: np.imag(x), is_number),
    of_one(
        "np.angle({0})",
        lambda np, x: np.angle(x),
        lambda x: np.iscomplexobj(x) and np.all(np.abs(np.imag(x)) > 0.1),
    ),
    of_one("{0} + 2j", lambda np, x: x + 2j, is_number),
    of_one("np.sort({0}, axis=None)", lambda np, x: np.sort(x, axis=None), apart),
    of_one(
        "{0}.ravel()[np.argsort({0}, axis=None)]",
        lambda np, x: np.ravel(x)[np.argsort(x, axis=None)],
        apart,
    ),
    of_one(
        "np.interp({0}, [-2, 0, 2], [1, 0.5, -1])",
        lambda np, x: np.interp(x, np.asarray([-2.0, 0.0, 2.0]), np.asarray([1.0, 0.5, -1.0])),
        on(-2.0, 0.0, 2.0),
    ),
    of_one(
        "np.polyval([1, -2, 0.5], {0})",
        lambda np, x: np.polyval(np.asarray([1.0, -2.0, 0.5]), x),
        is_number,
    ),
    of_two("{0} + {1}", lambda np, x, y: x + y),
    of_two("{0} - {1}", lambda np, x, y: x - y, second=lambda y: np.asarray(y).dtype.kind != "b"),
    of_two("{0} * {1}", lambda np, x, y: x * y),
    of_two("{0} / {1}", lambda np, x, y: x / y, lambda x, y: np.all(np.abs(y) > 0.4)),
    of_two("np.multiply({0}, {1})", lambda np, x, y: np.multiply(x, y)),
    of_two(
        "np.maximum({0}, {1})",
        lambda np, x, y: np.maximum(x, y),
        lambda x, y: both_real(x, y) and away(x - y, 0.0),
    ),
    of_two(
        "np.minimum({0}, {1})",
        lambda np, x, y: np.minimum(x, y),
        lambda x, y: both_real(x, y) and away(x - y, 0.0),
    ),
    of_two(
        "np.hypot({0}, {1})",
        lambda np, x, y: np.hypot(x, y),
        lambda x, y: both_real(x, y) and np.all(np.hypot(x, y) > 0.2),
    ),
    of_two(
        "np.arctan2({0}, {1})",
        lambda np, x, y: np.arctan2(x, y),
        lambda x, y: both_real(x, y) and np.all(np.abs(x) > 0.1),
    ),
    of_two(
        "np.power({0}, {1})",
        lambda np, x, y: np.power(x, y),
        lambda x, y: both_real(x, y) and np.all(np.asarray(x) > 0.2),
    ),
    of_two(
        "{0} ** {1}",
        lambda np, x, y: x**y,
        lambda x, y: both_real(x, y) and np.all(np.asarray(x) > 0.2),
    ),
    of_two("np.logaddexp({0}, {1})", lambda np, x, y: np.logaddexp(x, y), both_real),
    of_two(
        "np.where({1} > 0, {0}, {1})",
        lambda np, x, y: np.where(y > 0, x, y),
        lambda x, y: both_real(x, y) and away(y, 0.0),
    ),
    of_two(
        "np.where({1}, {0}, -0.5)",
        lambda np, x, y: np.where(y, x, -0.5),
        second=lambda y: np.asarray(y).dtype.kind == "b",
    ),
    of_two("np.outer({0}, {1})", lambda np, x, y: np.outer(x, y)),
    of_two("np.subtract.outer({0}, {1})", lambda np, x, y: np.subtract.outer(x, y), both_real),
    along("np.sum({0}, ...)", lambda np, x, **k: np.sum(x, **k)),
    along("{0}.mean(...)", lambda np, x, **k: x.mean(**k)),
    along("np.prod({0}, ...)", lambda np, x, **k: np.prod(x, **k), lambda x: x.size < 13),
    along("np.max({0}, ...)", lambda np, x, **k: np.max(x, **k), apart),
    along("{0}.min(...)", lambda np, x, **k: x.min(**k), apart),
    along("np.var({0}, ...)", lambda np, x, **k: np.var(x, **k)),
    along(
        "np.std({0}, ...)",
        lambda np, x, **k: np.std(x, **k),
        lambda x: np.std(x) > 0.2 and x.ndim == 1,
    ),
    along("np.median({0}, ...)", lambda np, x, **k: np.median(x, **k), apart),
    along(
        "np.linalg.norm({0}, ...)",
        lambda np, x, **k: np.linalg.norm(x, **k),
        lambda x: np.all(np.abs(x) > 0.1),
        tuples=False,
    ),
    along(
        "np.sum({0}, ..., where=mask)",
        lambda np, x, **k: np.sum(x, where=np.asarray(_mask(x)), **k),
    ),
    along("np.any({0} > 1, ...)", lambda np, x, **k: np.any(x > 1, **k), on(1.0)),
    along("np.flip({0}, ...)", lambda np, x, **k: np.flip(x, **k), keepdims=False),
    along(
        "np.fft.fft({0}, ...)",
        lambda np, x, **k: np.fft.fft(x, **k),
        keepdims=False,
        none=False,
        tuples=False,
    ),
    along(
        "np.fft.irfft({0}, 4, ...)",
        lambda np, x, **k: np.fft.irfft(x, 4, **k),
        keepdims=False,
        none=False,
        tuples=False,
    ),
    along(
        "np.gradient({0}, ...)",
        lambda np, x, **k: np.gradient(x, **k),
        keepdims=False,
        none=False,
        tuples=False,
    ),
    along(
        "np.quantile({0}, 0.3, ...)",
        lambda np, x, **k: np.quantile(x, 0.3, **k),
        lambda x: apart(x) and x.size < 4,
        tuples=False,
    ),
    with_index,
    with_index,
    with_index,
    writing,
    writing,
    writing,
    shaped,
    shaped,
    transposed,
    broadcast,
    joined,
    joined,
    rolled,
    rolled,
    rolled,
    product,
    product,
    einsum,
    of_square("np.linalg.inv(M)", lambda np, a: np.linalg.inv(a)),
    of_square("np.linalg.det(M)", lambda np, a: np.linalg.det(a)),
    of_square("np.linalg.slogdet(M)[1]", lambda np, a: np.linalg.slogdet(a)[1]),
    of_square("np.linalg.cholesky(M)", lambda np, a: np.linalg.cholesky(a)),
    of_square("np.linalg.eigvalsh(M)", lambda np, a: np.linalg.eigvalsh(a)),
    of_square("np.linalg.solve(M, M + 1)", lambda np, a: np.linalg.solve(a, a + 1)),
    of_square("np.linalg.matrix_power(M, 2)", lambda np, a: np.linalg.matrix_power(a, 2)),
    of_square("np.trace(M, 0, -2, -1)", lambda np, a: np.trace(a, 0, -2, -1)),
)
"""The lines that programs are drawn from, if no others are given."""


def _mask(x: Any) -> Any:
    return (np.arange(x.size).reshape(x.shape) % 3) != 1
