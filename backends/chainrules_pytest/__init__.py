"""The pytest plugin: the markers, and a test per array library by the fixture ``backend``.

pytest imports it at its start in every project where chainrules_py is installed. It is therefore
a package of its own, which imports neither chainrules_py nor an array library until a fixture is
used.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chainrules_py.testing import Backend

__all__ = ["backend", "pytest_configure"]

_LIBRARIES = {
    "numpy": "numpy",
    "array_api_strict": "array_api_strict",
    "array_api_strict:device1": "array_api_strict",
}


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    config.addinivalue_line("markers", "slow: takes more than about five seconds")
    config.addinivalue_line("markers", "gpu: needs a GPU that CuPy can use")


def _installed() -> list[str]:
    return [name for name, module in _LIBRARIES.items() if importlib.util.find_spec(module)]


@pytest.fixture(params=_installed())
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each installed array library on each of its devices.

    ``backend.asarray`` makes an array of a NumPy array, ``backend.numpy`` brings it back;
    ``backend.xp``, ``backend.device`` and ``backend.name`` are what they say.
    """
    from chainrules_py.testing import backends

    return {known.name: known for known in backends()}[request.param]
