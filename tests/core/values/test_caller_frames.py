"""Who calls."""

from __future__ import annotations

from chainrules_py.values.caller_frames import caller, first_of_callers


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
