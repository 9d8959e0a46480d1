"""What the tests of generators share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def engines() -> Iterator[None]:
    """The engines that functions are exported to, in double precision."""
    pytest.importorskip("torch")
    pytest.importorskip("autograd")
    with pytest.importorskip("jax").enable_x64(True):
        yield
