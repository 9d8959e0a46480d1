"""Which modes a rule is stated for, and which follow."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ops as v
from chainrules_py import primitive, rrule
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.find_rule import missing_mode


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_nothing_is_missing_of_a_rule_of_both_modes(mode):
    case = Case(v.sin, (np.ones(3),), {}, None, True, 0, None)
    assert missing_mode(case, mode, transposed=False) == ""


def test_a_transpose_is_stated_by_nobody():
    f = primitive(lambda x, /: np.sin(x))

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        return np.sin(x), lambda t: (t * np.cos(x),)

    case = Case(f, (np.ones(3),), {}, None, True, 0, None)
    assert missing_mode(case, "forward") == missing_mode(case, "reverse") == ""
    assert "transpose of the other" in missing_mode(case, "forward", transposed=False)
