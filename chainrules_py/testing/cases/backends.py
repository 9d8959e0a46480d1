"""The array libraries that checks run on, each with its devices.

Installed libraries are found without importing them; a library is imported when it makes an array.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Backend:
    """Array library on one of its devices.

    Attributes
    ----------
    name : str
        The library and, if it has several, the device: ``"numpy"``, ``"array_api_strict:device1"``.
    library : str
        The module that is imported.
    find_device : callable, optional
        Returns the device, from the imported module; by default the library's default device.
    namespace : str, optional
        The module with the standard's functions, if it is not ``library``.
    prepare : callable, optional
        Called before the library is used for the first time.
    by_request : bool
        Whether the library is used only if it is named.
    lacks : callable, optional
        Returns why an installed library cannot be used; empty if it can.
    samples : int
        Number of samples of each operation that the cheap core checks: two, or one for a slow
        library.
    slow : frozenset of str
        Operations that take longest: all of their tests are marked slow.

    Examples
    --------
    >>> numpy = backend("numpy")
    >>> numpy.asarray([1.0, 2.0])
    array([1., 2.])
    """

    name: str
    library: str
    find_device: Callable[[Any], Any] | None = dataclasses.field(default=None, repr=False)
    namespace: str | None = dataclasses.field(default=None, repr=False)
    prepare: Callable[[], None] | None = dataclasses.field(default=None, repr=False)
    by_request: bool = dataclasses.field(default=False, repr=False)
    lacks: Callable[[], str] | None = dataclasses.field(default=None, repr=False)
    samples: int = dataclasses.field(default=2, repr=False)
    slow: frozenset[str] = dataclasses.field(default=frozenset(), repr=False)

    @property
    def xp(self) -> Any:
        """The namespace of the library."""
        if self.prepare is not None:
            self.prepare()
        return importlib.import_module(self.namespace or self.library)

    @property
    def device(self) -> Any:
        """The device that arrays are made on; None for the library's default."""
        return None if self.find_device is None else self.find_device(self.xp)

    @property
    def is_installed(self) -> bool:
        """Whether the library is installed."""
        return importlib.util.find_spec(self.library) is not None

    @property
    def missing(self) -> str:
        """Why the library cannot be used; empty if it can."""
        if not self.is_installed:
            return f"{self.library} is not installed"
        return "" if self.lacks is None else self.lacks()

    def asarray(self, x: Any) -> Any:
        """Convert a NumPy array to an array of this library, on this device, of the same dtype."""
        return self.xp.asarray(np.asarray(x), device=self.device)

    def numpy(self, x: Any) -> Any:
        """Convert an array of this library to a NumPy array with its numbers."""
        return to_numpy(x)

    def __str__(self) -> str:
        return self.name


def _has_gpu() -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CuPy warns if there is no CUDA
        return bool(importlib.import_module("cupy").is_available())


def _jax_in_double_precision() -> None:
    config = importlib.import_module("jax").config
    if not config.jax_enable_x64:
        config.update("jax_enable_x64", True)


# JAX compiles each operation for each shape; these consist of many operations, or of loops.
_SLOW_ON_JAX = frozenset({
    "adjugate", "bessel_i", "betainc", "cholesky_cotangent", "cholesky_tangent", "choose", "eig",
    "eigh", "eigvals", "expi", "expm", "expm_frechet", "fixed_point", "interp", "linear_solve",
    "lstsq", "lu_factor", "minimize", "odeint", "order_statistics", "partition", "pinv", "qr",
    "qr_raw", "root", "solve_sylvester", "unitary_factor", "weighted_quantile",
})  # fmt: skip
KNOWN = (
    Backend("numpy", "numpy"),
    Backend("array_api_strict", "array_api_strict"),
    Backend("array_api_strict:device1", "array_api_strict", lambda xp: xp.Device("device1")),
    Backend(
        "cupy",
        "cupy",
        namespace="chainrules_cupy.namespace",
        by_request=True,
        lacks=lambda: "" if _has_gpu() else "there is no GPU",
    ),
    Backend("torch", "torch", namespace="array_api_compat.torch", by_request=True),
    Backend(
        "jax",
        "jax",
        namespace="jax.numpy",
        prepare=_jax_in_double_precision,
        by_request=True,
        samples=1,
        slow=_SLOW_ON_JAX,
    ),
)


def backends() -> tuple[Backend, ...]:
    """Return the array libraries that are installed, with their devices.

    Further ones are available by name: ``"cupy"``, which needs a GPU, ``"torch"`` and ``"jax"``.
    """
    return tuple(known for known in KNOWN if known.is_installed and not known.by_request)


def backend(name: str) -> Backend:
    """Return the backend of a name.

    Raises
    ------
    LookupError
        If the name is unknown, or its library is not installed.
    """
    for known in KNOWN:
        if known.name == name and known.is_installed:
            return known
    there = [known for known in KNOWN if known.is_installed]
    raise LookupError(
        f"there is no array library {name!r} here; there are {', '.join(map(str, there))}"
    )


def to_numpy(x: Any) -> Any:
    """Convert an array, or a number, of any library and device to a NumPy array."""
    if type(x) is np.ndarray:
        return x
    library = type(x).__module__.partition(".")[0]
    if library == "array_api_strict":
        xp = importlib.import_module("array_api_strict")
        x = x.to_device(xp.Device("CPU_DEVICE"))
    elif library == "cupy":
        x = x.get()
    elif library == "torch":
        x = x.detach().cpu().resolve_conj().resolve_neg()
    return np.asarray(x)
