"""Who calls."""

from __future__ import annotations

from chainrules_py.values.caller_frames import caller, calling_module


def test_a_caller_is_found_by_its_depth():
    def asks(depth):
        return caller(depth).f_code.co_name

    def between():
        return asks(1), asks(2)

    assert between() == ("between", "test_a_caller_is_found_by_its_depth")


def test_the_module_that_calls_is_found_behind_libraries_that_pass_a_call_on():
    def asks(*passing):
        return calling_module(passing)

    assert asks() == __name__
    assert asks("tests") == "_pytest.python"
