"""CuPy as an array-API namespace: that of array-api-compat, with creation on a given device.

CuPy creates arrays on the current device. A rule creates arrays on the device of its operands, so
the creation functions here respect ``device``.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

import cupy

compat: Any = importlib.import_module("array_api_compat.cupy")
_runtime: Any = cupy.cuda.runtime


class on(contextlib.AbstractContextManager[None]):  # noqa: N801
    """A ``with`` block in which arrays are created on one device; None is the current one.

    ``with device:`` does the same with twice as many driver calls.
    """

    __slots__ = ("before", "number")

    def __init__(self, device: Any) -> None:
        self.number: int | None = None if device is None else int(device.id)
        self.before = 0

    def __enter__(self) -> None:
        if self.number is not None:
            self.before = _runtime.getDevice()
            if self.before != self.number:
                _runtime.setDevice(self.number)

    def __exit__(self, *_: object) -> None:
        if self.number is not None and self.before != self.number:
            _runtime.setDevice(self.before)


def asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """Make a CuPy array of numbers, or of an array on the host or a device."""
    with on(device):
        return cupy.array(x, dtype=dtype) if copy else cupy.asarray(x, dtype=dtype)


def _placed(make: Callable[..., Any]) -> Callable[..., Any]:
    def placed(*args: Any, device: Any = None, **keywords: Any) -> Any:
        with on(device):
            return make(*args, **keywords)

    placed.__name__, placed.__doc__ = make.__name__, make.__doc__
    return placed


arange = _placed(cupy.arange)
empty = _placed(cupy.empty)
eye = _placed(compat.eye)
full = _placed(cupy.full)
linspace = _placed(compat.linspace)
ones = _placed(cupy.ones)
zeros = _placed(cupy.zeros)


# Operations such as the gamma and Bessel functions, which CuPy has under SciPy's names.
SPECIAL = frozenset(
    {
        *("beta", "betainc", "betaln", "binom", "boxcox", "boxcox1p", "cosm1", "digamma"),
        *("ellipk", "ellipkm1", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp1"),
        *("exp10", "expi", "expit", "exprel", "gamma", "gammainc", "gammaincc", "gammaln"),
        *("gammasgn", "huber", "i0", "i0e", "i1", "i1e", "inv_boxcox", "inv_boxcox1p", "j0"),
        *("j1", "k0", "k0e", "k1", "k1e", "kl_div", "lambertw", "log_expit", "log_ndtr"),
        *("loggamma", "logit", "ndtr", "ndtri", "polygamma", "pseudo_huber", "rel_entr"),
        *("rgamma", "sici", "xlog1py", "xlogy", "y0", "y1", "zeta"),
    }
)


def __getattr__(name: str) -> Any:
    if name in SPECIAL:  # takes a third of a second to import
        return getattr(importlib.import_module("cupyx.scipy.special"), name)
    return getattr(compat, name)
