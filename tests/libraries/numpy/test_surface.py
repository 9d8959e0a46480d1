"""Every call of NumPy's functions that was entered, judged in every cell."""

from __future__ import annotations

import pytest

from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.checks import check_call, check_twin


def calls():
    """All calls; slow but a tenth of each function's, and the first with each of its keywords."""
    for name in names_with_calls():
        seen = set()
        for i, call in enumerate(surface_calls(name)):
            keywords = {*call.sample.options}
            quick = i % 10 == 0 or not keywords <= seen
            seen |= keywords
            yield pytest.param(call, id=str(call), marks=() if quick else pytest.mark.slow)


@pytest.mark.parts(8)
@pytest.mark.parametrize("call", list(calls()))
def test_call(call):
    assert "value" in check_call(call)
    check_twin(call)
