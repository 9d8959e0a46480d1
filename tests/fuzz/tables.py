"""The lines that random programs are made of.

A line is drawn where it has a derivative, a margin away from kinks and poles, so that differences
are a truth to compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.lines import Maker, Test, apart, away, is_number, is_real
from tests.fuzz.makers import (
    along,
    both_real,
    broadcast,
    einsum,
    joined,
    of_names,
    of_one,
    of_square,
    of_two,
    on,
    powers,
    product,
    rolled,
    shaped,
    transposed,
    unequal,
    with_index,
    writing,
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


def far(x: Any, least: float = 0.1) -> Any:
    """Tell whether no element is near zero."""
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
