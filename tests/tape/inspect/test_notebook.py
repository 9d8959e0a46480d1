"""Values as HTML in notebooks: each is well-formed, and says what the text says."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import chainrules_tape.pictures
from chainrules_compile import compile
from chainrules_py import Tangent, explain, identity, primitive, scalar_rule
from chainrules_py.testing import RuleCheckError, check_rule
from chainrules_tape import Tape, value_and_grad

formatters = pytest.importorskip("IPython.core.formatters")


@dataclass
class Layer:
    w: Any
    b: Any


@primitive
def halved(x, /):
    return np.divide(x, 2.0)


scalar_rule(halved, lambda _y, _x: 2.0)


@pytest.fixture
def html():
    class Shell:
        display_formatter = formatters.DisplayFormatter()

    Shell.display_formatter.formatters["text/html"].enabled = True
    chainrules_tape.pictures.load_ipython_extension(Shell)

    def html(x):
        text = Shell.display_formatter.format(x)[0].get("text/html")
        assert text, type(x)
        ET.fromstring(f"<div>{text}</div>")
        return text

    return html


def test_variable(html):
    with Tape() as tape:
        x = tape.variable(np.array([1.0, 2.0]), "x")
        text = html(x)
    assert "float64" in text
    assert "[1. 2.]" in text


def test_tangent(html):
    text = html(Tangent[Layer](w=np.ones((2, 3)), b=0.5))
    assert "Tangent[Layer]" in text
    assert "(2, 3)" in text
    assert "0.5" in text


def test_compiled(html):
    compiled = compile(value_and_grad(lambda x: np.sum(np.sin(x) < 2.0) * np.sum(np.sin(x))))
    compiled(np.ones(3))
    text = html(compiled)
    assert "float64" in text
    assert "np.cos" in text or "cos(" in text


def test_reports_rules_and_maps(html):
    assert "passed" in html(check_rule(np.sin, np.ones(2)))
    with pytest.raises(RuleCheckError) as caught:
        check_rule(halved, np.array([1.0, 2.0]))
    report = getattr(caught.value, "report", None)
    if report is not None:
        assert "failed" in html(report)
    assert "scalar_rule" in html(explain(np.sin, 1.0))
    assert "identity" in html(identity) or html(identity)
