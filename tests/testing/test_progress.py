"""The bar of what takes long: on a terminal, after a while, and gone at the end."""

from __future__ import annotations

import io
import types

import pytest

from chainrules_py.testing import check_rule, progress
from chainrules_py.vocabulary import sin


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def stderr(monkeypatch):
    made = Terminal()
    # pytest puts its own in the place of sys.stderr between a fixture and its test.
    monkeypatch.setattr(progress, "sys", types.SimpleNamespace(stderr=made))
    return made


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "AFTER", -1.0)


def gone_through(*given):
    with progress.progress(*given) as todo:
        return list(todo)


def test_short_work_draws_nothing(stderr):
    assert gone_through(range(3)) == [0, 1, 2]
    assert not stderr.getvalue()


@pytest.mark.usefixtures("at_once")
def test_bar_is_drawn_and_cleared(stderr):
    assert gone_through("ab", lambda x: f"<{x}>") == ["a", "b"]
    assert "[############............] 1/2 <b>" in stderr.getvalue()
    assert stderr.getvalue().endswith("\r\x1b[K")


@pytest.mark.usefixtures("at_once")
def test_no_terminal_no_bar(monkeypatch):
    plain = io.StringIO()
    monkeypatch.setattr("sys.stderr", plain)
    gone_through(range(3))
    assert not plain.getvalue()


@pytest.mark.usefixtures("at_once")
def test_only_the_outermost_is_drawn(stderr):
    with progress.progress(["outer"]) as todo:
        for _ in todo:
            gone_through(["inner"])
    assert "outer" in stderr.getvalue()
    assert "inner" not in stderr.getvalue()
    gone_through(["after"])
    assert "after" in stderr.getvalue()


def interrupted():
    with progress.progress([1, 2]) as todo:
        for _ in todo:
            raise KeyboardInterrupt


@pytest.mark.usefixtures("at_once")
def test_bar_goes_when_the_work_stops(stderr):
    """Also while somebody keeps the error, and with it the frames."""
    with pytest.raises(KeyboardInterrupt) as kept:
        interrupted()
    assert stderr.getvalue().endswith("\r\x1b[K")
    gone_through(["again"])
    assert "again" in stderr.getvalue()
    assert kept.value


@pytest.mark.usefixtures("at_once")
def test_a_check_says_where_it_is(stderr):
    check_rule(sin, 1.0, checks=("value", "push"))
    assert "1/2 push of sin(float)" in stderr.getvalue()
