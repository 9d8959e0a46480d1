"""Every call of NumPy's functions that was entered, judged in every cell."""

from __future__ import annotations

import pytest

from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.checks import check_call, check_twin

CALLS = [
    # A sixth of each function's calls at once, its first among them; the others by `make test-all`.
    pytest.param(call, id=str(call), marks=() if i % 6 == 0 else pytest.mark.slow)
    for name in names_with_calls()
    for i, call in enumerate(surface_calls(name))
]


@pytest.mark.parts(4)
@pytest.mark.parametrize("call", CALLS)
def test_call(call):
    assert "value" in check_call(call)
    check_twin(call)
