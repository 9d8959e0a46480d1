"""Every call of SciPy's functions that was entered, judged in every cell."""

from __future__ import annotations

import pytest

from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.checks import check_call, check_twin

CALLS = [call for name in names_with_calls("scipy") for call in surface_calls(name)]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_call(call):
    assert "value" in check_call(call)
    check_twin(call)
