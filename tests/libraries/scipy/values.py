"""Calls of the ufuncs of ``scipy.special`` for which a traced value is compared with SciPy's own.

Their operands are also hostile ones: negative, zero, not finite, whole, narrow, lists, of several
shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special

from chainrules_py import ChainRulesError, NoRuleError
from chainrules_tape import jvp
from tests.libraries.scipy.samples.common import TAME

_NUMBERS = (0.3, 2.5, 1.2, 5.0, 0.05, -0.7, 1.0, -2.0, 0.0, -0.0, np.nan, np.inf, -np.inf)


def _forms(x: float, y: float) -> Iterator[Any]:
    """Give two numbers in each form in which an operand is given."""
    yield x
    yield np.float64(x)
    yield np.array([x, y])
    yield np.array([[x], [y]])
    yield np.array([x, y], np.float32)
    yield np.float32(x)
    if np.isfinite([x, y]).all():
        yield int(x)
        yield np.array([x, y]).astype(np.int16)
        yield [x, y]
    yield np.array(x)
    yield np.zeros(0)


def ufuncs() -> tuple[str, ...]:
    """Name the ufuncs of ``scipy.special``, each once."""
    named = {id(f): n for n, f in sorted(vars(scipy.special).items()) if type(f) is np.ufunc}
    return tuple(sorted(named.values()))


def calls(name: str, count: int) -> Iterator[tuple[Any, ...]]:
    """Give operands of a ufunc, the same in every process."""
    n = getattr(scipy.special, name).nin
    rng = np.random.default_rng([n, *name.encode()])
    numbers = _NUMBERS[:5] if f"special.{name}".startswith(TAME) else _NUMBERS
    for k in range(count):
        # Half of the calls are at numbers that most functions take.
        drawn = rng.choice(numbers[:5] if k % 2 else numbers, (n, 2))
        forms = [tuple(_forms(*map(float, pair))) for pair in drawn]
        yield tuple([given[rng.integers(len(given))] for given in forms])


def _plain(y: Any) -> Any:
    return getattr(y, "__payload__", y)


def differences(name: str, count: int) -> list[str]:
    """List the calls of a ufunc that have another value, shape or dtype when they are traced."""
    ufunc: Callable[..., Any] = getattr(scipy.special, name)
    found = []
    for xs in calls(name, count):
        try:
            with np.errstate(all="ignore"):
                known = ufunc(*xs)
        except (TypeError, ValueError):  # it does not take these, or they do not fit
            continue
        for k, x in enumerate(xs):
            if isinstance(x, (int, list)) or np.asarray(x).dtype.kind != "f":
                continue
            seen: list[Any] = []

            def at(z: Any, xs: Any = xs, k: int = k, seen: Any = seen) -> Any:
                y = ufunc(*xs[:k], z, *xs[k + 1 :])
                seen.append(y)
                return y

            try:
                with np.errstate(all="ignore"):
                    jvp(at, (x,), (np.ones_like(x)[()],))
            except ChainRulesError as error:
                if isinstance(error, NoRuleError):
                    found.append(f"{name}{xs!r}: {error}")
            if not seen:
                continue
            for y, z in zip(_parts(known), _parts(seen[0]), strict=True):
                z = _plain(z)
                same_dtype = isinstance(x, float) or np.asarray(z).dtype == np.asarray(y).dtype
                if not same_dtype or not np.array_equal(z, y, equal_nan=True):
                    found.append(f"{name}{xs!r} in {k}: {z!r}, and SciPy has {y!r}")
    return found


def _parts(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)
