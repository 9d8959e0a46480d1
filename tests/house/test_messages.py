"""The page of messages: each class has one example, which says what to write in three lines."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import pytest

ADVICE = re.compile(r"(write|take|pass|use|or) \{?\(?x\.value|like=x\)")
"""``x.value`` is no attribute of a number, and ``like=`` takes none."""
DOCS = Path(__file__).resolve().parents[2] / "docs"
spec = importlib.util.spec_from_file_location("messages", DOCS / "_ext" / "messages_table.py")
try:
    messages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(messages)
except ModuleNotFoundError:  # docutils comes with the documentation's tools
    pytest.skip("no docutils", allow_module_level=True)


@pytest.mark.parametrize("name", messages.EXAMPLES)
def test_an_example_raises_its_class_and_says_what_to_write(name):
    found = messages.raised(name)
    assert type(found).__mro__[0].__name__ == name or name in [
        cls.__name__ for cls in type(found).__mro__
    ]
    text = messages.said(found)
    assert len(text.splitlines()) <= 3, text
    assert len(text) <= 500, text
    assert ".value" not in text
    assert "like=" not in text


def test_every_class_has_one_example():
    assert sorted(messages.EXAMPLES) == sorted(cls.__name__ for cls in messages.CLASSES)
    assert all(messages.summary(cls) for cls in messages.CLASSES)


def test_no_page_advises_what_fails_with_plain_numbers():
    """``x.value`` is no attribute of a number; ``like=`` takes none."""
    for path in [*DOCS.glob("*.md"), DOCS.parent / "README.md"]:
        text = path.read_text(encoding="utf-8")
        for advice in ("write `x.value`", "take `x.value`", "{x.value:", "(x.value)", "like=x)"):
            assert advice not in text, (path.name, advice)


def test_no_text_in_the_code_advises_it():
    root = DOCS.parent
    wrong = []
    for path in [*(root / "chainrules_py").rglob("*.py"), *(root / "backends").rglob("*.py")]:
        if path.name == "untraceable_code.py":  # which finds it in scripts
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        found = [t for t in texts if isinstance(t, str) and ADVICE.search(t)]
        wrong += [f"{path.relative_to(root)}: {text[:80]}" for text in found]
    assert not wrong
