"""Who calls."""

from __future__ import annotations

from chainrules_py.values.caller_frames import caller


def test_a_caller_is_found_by_its_depth():
    def asks(depth):
        return caller(depth).f_code.co_name

    def between():
        return asks(1), asks(2)

    assert between() == ("between", "test_a_caller_is_found_by_its_depth")
