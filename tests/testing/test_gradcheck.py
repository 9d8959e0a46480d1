"""Whole programs, differentiated by the engine that is installed, against differences."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ignore_derivatives, primitive, scalar_rule
from chainrules_py.primitives import plugins
from chainrules_py.testing import RuleCheckError, check_grads

X = np.asarray([0.3, 0.5, -1.0])


@primitive
def wrong(x, /):
    return x * x * x


scalar_rule(wrong, lambda _y, x: 2 * x * x)


@primitive
def flat(x, /):
    return x * x * x


scalar_rule(flat, lambda _y, x: 3 * ignore_derivatives(x) ** 2)


def loss(p, n, name):
    assert name == "a name"
    y = np.sin(p["w"]) @ p["x"]
    return {"loss": y * y * n, "count": n}


@pytest.mark.parametrize(
    "f, operands",
    [
        (lambda x: np.sum(np.sin(x) * x), (X,)),
        (loss, ({"w": X, "x": 2 * X}, 2, "a name")),
        (lambda z: np.sum(z * z * np.conj(z)), (X + 1j,)),
        (lambda x, y: (x * y, x / y), (2.0, 3.0)),
        (np.linalg.cholesky, (np.eye(3) + 0.1,)),
        (lambda x: 2 * x, (X,)),
    ],
    ids=["loss", "structures", "complex", "numbers", "function of NumPy", "linear"],
)
def test_right_programs_pass_in_every_nesting(f, operands):
    report = check_grads(f, *operands)
    assert [finding.verdict for finding in report.findings] == ["passed"] * 6


def test_orders_and_modes():
    report = check_grads(lambda x: np.sum(x**3), X, order=3, modes=("reverse",))
    names = ["reverse", "reverse over reverse", "reverse over reverse over reverse"]
    assert [finding.check for finding in report.findings] == names
    assert len(check_grads(np.sin, X, order=3).findings) == 2 + 4 + 8


def test_wrong_derivative_inside_is_named():
    with pytest.raises(RuleCheckError, match=r"the gradient of <lambda>.* factor 2/3") as e:
        check_grads(lambda x: np.sum(wrong(x)), X)
    report = e.value.report
    assert [finding.check for finding in report.failures] == ["forward"]
    assert "check_grads(f, np.array([0.3, 0.5, -1.0]" in report.again
    assert "test_gradcheck.py:" in str(report)
    assert (report._repr_html_() or "").count("<rect") == 3


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_wrong_second_derivative_is_found(mode):
    check_grads(lambda x: np.sum(flat(x)), X, order=1)
    with pytest.raises(RuleCheckError, match=f"{mode} over {mode}"):
        check_grads(lambda x: np.sum(flat(x)), X, modes=(mode,))


def test_what_cannot_be_traced_is_told():
    with pytest.raises(RuleCheckError, match="to float: its derivative would be lost"):
        check_grads(float, 3.0)
    with pytest.raises(RuleCheckError, match="to float: its derivative would be lost"):
        check_grads(lambda x: np.asarray([float(x)]), 3.0)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x**2 if type(x) is float else 0.0 * x,
        lambda x: x * 2.0 if hasattr(x, "payload") else x * 3.0,
        lambda x: x * float(str(x).strip()),
        lambda x: x * eval("".join(["", str(x)])),
    ],
)
def test_a_branch_that_is_another_one_when_traced_is_found(program):
    """What no tracer can answer as the number does is found by differences."""
    with pytest.raises(RuleCheckError, match="is wrong"):
        check_grads(program, 3.0)


def test_kink_is_skipped():
    report = check_grads(np.abs, np.asarray([0.0, 1.0]), order=1)
    assert report.verdict("forward") == "skipped"


def test_where_nothing_can_be_perturbed():
    with pytest.raises(ValueError, match=r"nothing in <lambda>\(int\) can be perturbed"):
        check_grads(lambda n: n, 3)


def test_modes_are_checked():
    with pytest.raises(ValueError, match="modes is"):
        check_grads(np.sin, 1.0, modes=("fwd",))
    with pytest.raises(ValueError, match="order is 0"):
        check_grads(np.sin, 1.0, order=0)


def test_without_an_engine(monkeypatch):
    monkeypatch.setattr(plugins, "default_engine", lambda: None)
    with pytest.raises(RuleCheckError, match="no engine is installed"):
        check_grads(np.sin, 1.0)
