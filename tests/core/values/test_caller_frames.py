"""Who calls, and whether it assigns."""

from __future__ import annotations

import random

from chainrules_py.values.caller_frames import assigns, caller, first_of_callers


def test_a_caller_is_found_by_its_depth():
    def asks(depth):
        return caller(depth).f_code.co_name

    def between():
        return asks(1), asks(2)

    assert between() == ("between", "test_a_caller_is_found_by_its_depth")


def test_the_innermost_module_that_counts_is_found():
    def asks(found):
        return first_of_callers(found)

    assert asks(lambda name: name) == __name__
    outside = asks(lambda name: None if name == __name__ else name)
    assert outside.startswith("_pytest")


def test_an_assignment_is_told_from_a_function_in_c():
    class Rows(list):
        def __setitem__(self, where, row):
            seen.append(assigns(caller()))

    seen: list[bool] = []
    rows = Rows([1, 2])
    rows[0] = 2
    rows[0:1] = [2]
    list(map(rows.__setitem__, [0], [1]))
    random.Random(0).shuffle(rows)  # written in Python, which assigns
    assert seen[:3] == [True, True, False]
    assert all(seen[3:])
