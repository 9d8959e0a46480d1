"""SciPy's ufuncs of whole numbers, truths and Python's numbers: as of real ones of NumPy."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
import scipy.special as special

from chainrules_compile import compile
from chainrules_py import ChainRulesError
from chainrules_tape import grad, jvp, vjp
from tests.libraries.scipy.regions import UFUNCS
from tests.libraries.scipy.samples.common import TAME

WHOLE = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?")
NUMBERS = np.array([0, 1, 2, 3, 7, 60, 100, 127, 200, 255])
PLACES = (0.0, 0.3, 0.7, 1.6, 3.2, 60.0)
FORMS: dict[str, Any] = {
    "number of Python": float,
    "number of NumPy": np.float64,
    "array": lambda x: np.array([x, x]),
}
SEVERAL = sorted(name for name, f in UFUNCS.items() if f.nin > 1)


def parts(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


def near(found: Any, wanted: Any, rtol: float) -> bool:
    pairs = zip(parts(found), parts(wanted), strict=True)
    return all(np.allclose(a, b, rtol=rtol, atol=1e-11, equal_nan=True) for a, b in pairs)


def slopes(f: Any, x: Any) -> tuple[Any, Any]:
    """Return those of both modes."""
    y, pull = cast("Any", vjp)(f, x)
    bars = tuple([np.ones_like(part) for part in parts(y)])
    ahead = jvp(f, (x,), (np.ones_like(x) if np.ndim(x) else 1.0,))[1]
    return ahead, pull(bars if isinstance(y, tuple) else bars[0])[0]


def beside(f: Any, place: int, others: list[Any]) -> Any:
    """Hold all operands but one."""
    return lambda z: f(*others[:place], z, *others[place + 1 :])


def wrongs(name: str, count: int, seed: int) -> Iterator[str]:
    """Draw operands that are whole, and judge the derivative in another one against float64."""
    rng = np.random.default_rng((zlib.crc32(name.encode()), seed))
    ufunc: Any = UFUNCS[name]
    numbers = NUMBERS[NUMBERS < 9] if f"special.{name}".startswith(TAME) else NUMBERS
    wide = "i8" if name.startswith("eval_") else "d"  # SciPy's loops of real orders lose digits
    for _ in range(count):
        place, dtype = int(rng.integers(ufunc.nin)), np.dtype(str(rng.choice(WHOLE)))
        most = 1 if dtype.kind == "b" else np.iinfo(dtype).max
        drawn = rng.choice(numbers[numbers <= most], ufunc.nin)
        form = str(rng.choice([*FORMS]))
        x = FORMS[form](float(rng.choice(PLACES)))
        sides = [
            beside(ufunc, place, [np.array([n, n], to) for n in drawn]) for to in (dtype, wide)
        ]
        try:
            found, wanted = [f(x) for f in sides]
            if not near(found, wanted, 1e-6):  # SciPy's own loops differ
                continue
            found, wanted = [slopes(f, x) for f in sides]
        except (ChainRulesError, TypeError):  # refused; of other types alone
            continue
        single = any(part.dtype == np.float32 for part in parts(sides[0](x)))
        for a, b in zip(found, wanted, strict=True):
            if not (near(a, b, 1e-4 if single else 1e-7) or np.any(np.isnan(b))):
                yield f"{name}: {form} {x} in operand {place} of {drawn} ({dtype}): {a}, {b}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(30))
def test_whole_numbers_are_real_ones(part: int) -> None:
    assert not [w for name in SEVERAL[part::30] for w in wrongs(name, 4, 0)]


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(1, 6))
def test_so_they_are_in_many_draws(seed: int) -> None:
    assert not [w for name in SEVERAL for w in wrongs(name, 12, seed)]


U8 = {n: np.array([n, n], np.uint8) for n in (0, 20, 60, 100)}
WRAPPED: dict[str, tuple[Any, Any, float]] = {
    "fdtrc": (lambda t: special.fdtrc(U8[100], t, U8[60]), (100.0, None, 60.0), 0.3),
    "gdtr": (lambda t: special.gdtr(U8[20], t, U8[20]), (20.0, None, 20.0), 390.0),
    "eval_sh_chebyt": (lambda t: special.eval_sh_chebyt(t, U8[0]), (None, 0.0), 0.3),
    "eval_jacobi": (
        lambda t: special.eval_jacobi(U8[60] > 0, U8[0] > 0, U8[60] > 0, t),
        (1, 0.0, 1.0, None),
        200.0,
    ),
    "hyperu": (lambda t: special.hyperu(U8[60] > 0, U8[60] > 0, t), (1.0, 1.0, None), 0.7),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_wrapped(name: str) -> None:
    f, reals, x = WRAPPED[name]
    real: Any = lambda t: UFUNCS[name](*[t if n is None else n for n in reals])
    step = 1e-5 * max(x, 1.0)
    want = 2 * (real(x + step) - real(x - step)) / (2 * step)
    total = lambda t: np.sum(f(t))
    for found in (
        grad(total)(x),
        cast("Any", compile)(grad(total))(x),
        jvp(total, (x,), (1.0,))[1],
    ):
        assert np.isclose(found, want, rtol=1e-6)


POINTS = np.array([-2.5, -1.0, 0.0, 0.0, 0.3, 0.5, 1.0, 2.0, 4.2])


def unlike(name: str, count: int) -> Iterator[str]:
    """Give Python's numbers, zeros among them, and compare with NumPy's."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    ufunc = UFUNCS[name]
    for _ in range(count):
        point = [float(p) for p in rng.choice(POINTS, ufunc.nin)]
        for k in range(ufunc.nin):
            at = beside(ufunc, k, point)
            try:
                found, wanted = [slopes(at, form(point[k])) for form in (float, np.float64)]
            except ChainRulesError:
                continue
            for a, b in zip(found, wanted, strict=True):
                if not near(a, b, 1e-9):
                    yield f"{name} in operand {k} at {point}: {a}, {b}"


@pytest.mark.parametrize("count", [1, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("part", range(30))
def test_pythons_numbers_are_numpys(part: int, count: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not [w for name in sorted(UFUNCS)[part::30] for w in unlike(name, count)]


def test_poles_of_pythons_numbers() -> None:
    assert np.isnan(grad(special.chndtrinc)(3.0, 0.0, 0.2))
    assert np.isclose(grad(special.elliprc, 1)(0.0, 0.7), -np.pi / 4 / 0.7**1.5)
    for of_poles, *orders in ((special.hyp1f1, 2.0, 0.0), (special.hyp2f1, 0.3, 4.2, 0.0)):
        ahead = jvp(lambda x, f=of_poles, at=orders: f(*at, x), (0.5,), (1.0,))[1]
        assert not np.isfinite(ahead)
