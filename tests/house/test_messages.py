"""The page of messages: each program on it raises an error of ours that says what to write."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from chainrules_py import ChainRulesError

DOCS = Path(__file__).resolve().parents[2] / "docs"
spec = importlib.util.spec_from_file_location("messages", DOCS / "_ext" / "messages_table.py")
try:
    messages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(messages)
except ModuleNotFoundError:  # docutils comes with the documentation's tools
    pytest.skip("no docutils", allow_module_level=True)

# What a person is told to do, in the imperative.
WRITE = re.compile(
    r"\b(write|give|leave|take|choose|import|make|state|mark|pass|start|loosen|look|say|use|from|install)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", messages.PROGRAMS)
def test_a_message_says_what_and_what_to_write(name):
    if name == "function of SciPy":
        pytest.importorskip("scipy")
    error = messages.raised(name)
    assert isinstance(error, (ChainRulesError, ImportError)), error
    assert WRITE.search(str(error)), str(error)
    assert len(str(error)) < 900


def test_every_class_of_errors_is_on_the_page():
    page = (DOCS / "messages.md").read_text(encoding="utf-8")
    classes = [c.__name__ for c in messages.CLASSES]
    assert not [c for c in classes if f"`{c}`" not in page]


def test_every_class_of_errors_has_its_place_and_a_program():
    """A traceback names the class, and the class is the anchor."""
    found = messages.by_class()
    assert not [c.__name__ for c in messages.CLASSES if not found[c]]
    assert {*found} - {*messages.CLASSES} == {ImportError}


def test_anchors_are_distinct():
    names = [*messages.PROGRAMS, *[c.__name__ for c in messages.CLASSES]]
    anchors = [messages.anchor(name) for name in names]
    assert len({*anchors}) == len(anchors)
