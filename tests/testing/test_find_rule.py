"""Which modes a rule is stated for, and which follow."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import frule, primitive, rrule
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_frule, check_rrule, check_rule
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


def test_the_other_half_alone_is_refused_with_the_place_and_what_to_write():
    f, g = primitive(lambda x, /: np.sin(x)), primitive(lambda x, /: np.sin(x))

    @rrule.register(f)
    def back(x):
        return np.sin(x), lambda t: (t * np.cos(x),)

    @frule.register(g)
    def ahead(tangents, x):
        return np.sin(x), tangents[0] * np.cos(x)

    for check, h, place in ((check_frule, f, "back at "), (check_rrule, g, "ahead at ")):
        with pytest.raises(RuleCheckError, match=rf"(?s){place}.*write check_rule\(.*, \.\.\.\)"):
            check(h, np.ones(3))
        assert check_rule(h, np.ones(3)).passed
