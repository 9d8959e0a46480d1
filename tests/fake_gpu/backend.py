"""CuPy on the host as an array library of the judge."""

from __future__ import annotations

from chainrules_py.testing import Backend
from chainrules_py.testing import backend as _backend
from tests.fake_gpu import cupy_on_host


def _gpu() -> str:
    try:
        return "" if _backend("cupy").missing else "there is a GPU, which CuPy uses"
    except LookupError:
        return "cupy is not installed"


ON_HOST = Backend(
    "cupy-host",
    "cupy",
    namespace="chainrules_cupy.namespace",
    prepare=cupy_on_host.install,
    by_request=True,
    lacks=_gpu,
)
"""CuPy with its memory on the host."""


def backend(name: str) -> Backend:
    """Find the backend of a name: ``"cupy-host"``, or one that the judge knows.

    Raises
    ------
    LookupError
        If it is not known, or its library is not installed.
    """
    return ON_HOST if name == ON_HOST.name and ON_HOST.is_installed else _backend(name)


def is_importable() -> bool:
    """Whether `chainrules_cupy` can be imported; without a GPU, CuPy is on the host from now on.

    It keeps functions of CuPy's when it is imported: those that need a driver, if it comes first.
    """
    try:
        on_host = backend(ON_HOST.name)
    except LookupError:
        return False
    if not on_host.missing and on_host.prepare is not None:
        on_host.prepare()
    return True
