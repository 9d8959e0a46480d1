"""The lines that random programs are made of: what each needs, and what it does.

A line is drawn where it has a derivative, a margin away from kinks and poles, so that differences
are a truth to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from chainrules_py.testing.program_lines import (
    Choices,
    Line,
    Maker,
    Test,
    apart,
    away,
    is_array,
    is_number,
    is_real,
)
from chainrules_py.testing.strategies import axes, indices

__all__ = ["LINES"]


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
    """A line with two operands that broadcast, of which one at least is no integer."""

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
    """A positive base."""
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


def _in_order(np: Any, x: Any) -> Any:
    return np.ravel(x)[np.argsort(x, None)]


def _interpolated(np: Any, x: Any) -> Any:
    return np.interp(x, np.asarray(_ROOTS), np.asarray(_COEFFICIENTS))


def _polynomial(np: Any, x: Any) -> Any:
    return np.polyval(np.asarray(_COEFFICIENTS), x)


def _named(name: str) -> Callable[..., Any]:
    def run(np: Any, x: Any, **keywords: Any) -> Any:
        for part in name.split("."):
            np = getattr(np, part)
        return np(x, **keywords)

    return run


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


# ----------------------------------------------------------------------------------- the table


def far(x: Any, least: float = 0.1) -> Any:
    """Whether no element is near zero."""
    return np.all(np.abs(x) > least)


def steps(unit: float) -> Test:
    """Real operands of which no multiple of a unit is near."""
    return lambda x: is_real(x) and np.all(np.abs(x / unit - np.round(x / unit)) > 0.03)


def off_the_cut(x: Any) -> Any:
    """Complex operands that are nearly real nowhere."""
    return np.iscomplexobj(x) and far(np.imag(x))


def is_mask(x: Any) -> bool:
    """Booleans."""
    return np.asarray(x).dtype.kind == "b"


_ROOTS, _COEFFICIENTS = [-2.0, 0.0, 2.0], [1.0, -2.0, 0.5]
ELEMENTWISE: tuple[Maker, ...] = (
    *of_names("sin cos square conj negative real imag", is_number),
    *of_names("tanh arctan arcsinh positive deg2rad"),
    *of_names("sinh cosh expm1 exp2 i0", on(low=-3.0, high=3.0)),
    *of_names("log log2 log10 sqrt cbrt", on(low=0.2)),
    *of_names("log1p", on(low=-0.7)),
    *of_names("arcsin arccos arctanh tan", on(low=-0.9, high=0.9)),
    *of_names("abs fabs sign sinc", on(0.0)),
    *of_names("floor ceil trunc rint modf", steps(0.5)),
    *of_names("exp sinh cosh", lambda x: np.all(np.abs(x) < 3)),
    *of_names("reciprocal log sqrt arctan angle", off_the_cut),
    of_one("abs({0})", lambda np, x: abs(x), far),
    of_one("-{0}", lambda np, x: -x, is_number),
    of_one("{0} ** 2", lambda np, x: x**2, is_number),
    of_one("{0} ** 3", lambda np, x: x**3, is_number),
    of_one("{0} ** 0.5", lambda np, x: x**0.5, on(low=0.2)),
    of_one("2.0 ** {0}", lambda np, x: 2.0**x, on(high=4.0)),
    of_one("1.5 - {0} / 3", lambda np, x: 1.5 - x / 3, is_number),
    of_one("3 / {0}", lambda np, x: 3 / x, far),
    of_one("{0} + 2j", lambda np, x: x + 2j, is_number),
    of_one("1j * {0}", lambda np, x: 1j * x, is_number),
    of_one("2 - {0}", lambda np, x: 2 - x, is_number),
    of_one("np.float64(0.5) * {0}", lambda np, x: np.float64(0.5) * x, is_number),
    of_one("{0} > 0.1", lambda np, x: x > 0.1, on(0.1)),
    of_one("{0} % 1.7", lambda np, x: x % 1.7, steps(1.7)),
    of_one("{0} // 0.7", lambda np, x: x // 0.7, steps(0.7)),
    of_one("np.clip({0}, -1, 0.8)", lambda np, x: np.clip(x, -1, 0.8), on(-1.0, 0.8)),
    of_one("np.maximum({0}, 0.3)", lambda np, x: np.maximum(x, 0.3), on(0.3)),
    of_one("np.where({0} > 0.2, {0}, 0.1)", lambda np, x: np.where(x > 0.2, x, 0.1), on(0.2)),
    of_one("np.sort({0}, None)", lambda np, x: np.sort(x, None), apart),
    of_one("x.ravel()[np.argsort({0}, None)]", _in_order, apart),
    of_one("np.interp({0}, [-2, 0, 2], [1, -2, 0.5])", _interpolated, on(*_ROOTS)),
    of_one("np.polyval([1, -2, 0.5], {0})", _polynomial, is_number),
)
"""One operand, element by element."""

BINARY: tuple[Maker, ...] = (
    of_two("{0} + {1}", lambda np, x, y: x + y),
    of_two("{0} * {1}", lambda np, x, y: x * y),
    of_two("{0} - {1}", lambda np, x, y: x - y, lambda x, y: not (is_mask(x) or is_mask(y))),
    of_two("{0} / {1}", lambda np, x, y: x / y, lambda x, y: far(y, 0.4)),
    of_two("np.add({0}, {1})", lambda np, x, y: np.add(x, y)),
    of_two("np.multiply({0}, {1})", lambda np, x, y: np.multiply(x, y)),
    of_two("np.maximum({0}, {1})", lambda np, x, y: np.maximum(x, y), unequal),
    of_two("np.fmin({0}, {1})", lambda np, x, y: np.fmin(x, y), unequal),
    of_two(
        "np.hypot({0}, {1})",
        lambda np, x, y: np.hypot(x, y),
        lambda x, y: both_real(x, y) and far(x),
    ),
    of_two(
        "np.arctan2({0}, {1})",
        lambda np, x, y: np.arctan2(x, y),
        lambda x, y: both_real(x, y) and far(x),
    ),
    of_two("np.power({0}, {1})", lambda np, x, y: np.power(x, y), powers),
    of_two("{0} ** {1}", lambda np, x, y: x**y, powers),
    of_two("np.logaddexp({0}, {1})", lambda np, x, y: np.logaddexp(x, y), both_real),
    of_two(
        "np.where({1} > 0, {0}, {1})",
        lambda np, x, y: np.where(y > 0, x, y),
        lambda x, y: both_real(x, y) and away(y, 0.0),
    ),
    of_two(
        "np.where({1}, {0}, -0.5)", lambda np, x, y: np.where(y, x, -0.5), lambda x, y: is_mask(y)
    ),
    of_two("np.outer({0}, {1})", lambda np, x, y: np.outer(x, y)),
    of_two("np.subtract.outer({0}, {1})", lambda np, x, y: np.subtract.outer(x, y), both_real),
)
"""Two operands that broadcast."""

REDUCTIONS: tuple[Maker, ...] = (
    along("np.sum({0}, ...)", lambda np, x, **k: np.sum(x, **k)),
    along("{0}.mean(...)", lambda np, x, **k: x.mean(**k)),
    along("np.prod({0}, ...)", lambda np, x, **k: np.prod(x, **k), lambda x: x.size < 13),
    along("np.max({0}, ...)", lambda np, x, **k: np.max(x, **k), apart),
    along("{0}.min(...)", lambda np, x, **k: x.min(**k), apart),
    along("np.var({0}, ...)", lambda np, x, **k: np.var(x, **k)),
    along(
        "np.std({0}, ...)",
        lambda np, x, **k: np.std(x, **k),
        lambda x: x.ndim == 1 and np.std(x) > 0.2,
    ),
    along("np.median({0}, ...)", lambda np, x, **k: np.median(x, **k), apart),
    along("np.linalg.norm({0}, ...)", lambda np, x, **k: np.linalg.norm(x, **k), far, tuples=False),
    along("np.any({0} > 1, ...)", lambda np, x, **k: np.any(x > 1, **k), on(1.0)),
    along("np.flip({0}, ...)", lambda np, x, **k: np.flip(x, **k), keepdims=False),
    *[
        along(f"np.{name}({{0}}, ...)", _named(name), keepdims=False, none=False, tuples=False)
        for name in ("cumsum", "cumprod", "diff", "gradient", "fft.fft", "fft.ifft", "fft.fftshift")
    ],
    along(
        "np.fft.irfft({0}, 4, ...)",
        lambda np, x, **k: np.fft.irfft(x, 4, **k),
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
)
"""Along axes."""

PRODUCTS: tuple[Maker, ...] = (
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
"""Products, and linear algebra."""

LINES: tuple[tuple[Maker, ...], ...] = (
    ELEMENTWISE,
    BINARY,
    BINARY,
    REDUCTIONS,
    (with_index,),
    (writing,),
    (shaped, transposed, broadcast),
    (joined, rolled),
    PRODUCTS,
)
"""What a program's lines are drawn from, if nothing else is given: a family, then one of it."""
