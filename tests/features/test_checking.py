"""Features of the checks: what they compare, what they find, and what they do not call wrong."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_py import LinearMap, ignore_derivatives, primitive, rrule, rule, scalar_rule
from chainrules_py.testing import RuleCheckError, check_everywhere, check_rule
from chainrules_tape import grad, jvp
from tests.features.rows import feature

A = np.array([0.3, 1.0, 2.0])


def _wrong(kind):
    f = primitive(lambda x: np.multiply(x, x))

    def push(t, x):
        return {"push": 3.0, "conjugate": 2.0}.get(kind, 2.0) * t * x

    def pull(b, x):
        if kind == "shape":
            return np.sum(b * 2.0 * x) * np.ones(2)
        if kind == "dtype":
            return (2.0 * b * x).astype(np.float64)
        if kind == "write":
            b *= 2.0
            return b * x
        factor = {"pull": 3.0, "push": 2.0}.get(kind, 2.0)
        return factor * b * (ignore_derivatives(x) if kind == "second" else x)

    @rule(f)
    def f_rule(x):
        return f(x), (LinearMap(push, pull, x),)

    return f


@feature(85, "the reverse rule against differences", page="test-your-rule", best="tinygrad, all")
@feature(86, "the forward rule against differences", page="test-your-rule", best="JAX: check_grads")
@feature(87, "second derivatives, in every nesting", page="test-your-rule",
         best="PyTorch: gradgradcheck; Chainer: check_double_backward")  # fmt: skip
@feature(88, "the two halves are adjoint", page="test-your-rule", best="JAX; Tapenade")
@feature(93, "the gradient has the right dtype and shape", page="test-your-rule",
         best="PyTorch: check_grad_dtypes")  # fmt: skip
@pytest.mark.parametrize("kind", ["push", "pull", "second", "shape", "write"])
def test_a_wrong_rule_is_found(kind):
    with pytest.raises(RuleCheckError):
        check_rule(_wrong(kind), A)


@feature(91, "sums in place, types that follow, methods that clash",
         page="test-your-rule", best="ChainRulesTestUtils.jl")  # fmt: skip
@feature(
    90, "patterns of zero cotangents", page="test-your-rule", best="PyTorch: check_undefined_grad"
)
@feature(92, "batches of cotangents; a registration that engines can use", page="test-your-rule",
         best="PyTorch: check_batched_grad, opcheck")  # fmt: skip
@feature(97, "arrays with gaps, without axes, and empty ones", page="test-your-rule",
         best="PyTorch: OpInfo")  # fmt: skip
def test_a_right_rule_passes_all_checks():
    report = check_rule(np.multiply, A, A, thorough=True)
    passed = str(report)
    gathered = check_rule(v.take, A, np.array([0, 1, 1]), thorough=True)
    assert gathered.verdict("accumulation") == "passed", gathered
    for name in ("zeros", "owned", "types", "conduct", "shapes"):
        assert report.verdict(name) == "passed", (name, passed)


@feature(89, "both Jacobians are shown where they differ, with the line of the rule",
         page="test-your-rule", best="Tapenade: -debugADJ")  # fmt: skip
def test_what_differs_is_shown():
    with pytest.raises(RuleCheckError, match="factor") as caught:
        check_rule(_wrong("pull"), A)
    text = str(caught.value)
    assert "test_checking.py" in text
    jacobian = caught.value.report.jacobian
    assert np.shape(jacobian.have) == np.shape(jacobian.want)


@feature(94, "where it is not differentiable is found, and skipped", page="test-your-rule",
         best="ChainRulesTestUtils.jl, tangent")  # fmt: skip
def test_kinks_are_skipped():
    report = check_rule(np.abs, np.array([0.0, 1.0]))
    assert not report.failures
    assert "smooth" in str(report)


@feature(96, "shapes and values drawn by properties", page="test-your-rule",
         best="MyGrad: backprop_test_factory")  # fmt: skip
def test_shapes_are_drawn():
    pytest.importorskip("hypothesis")
    from hypothesis import given, settings

    import chainrules_py.testing.strategies as strategies

    @settings(max_examples=3, derandomize=True, database=None, deadline=None)
    @given(strategies.arrays(strategies.shapes(max_side=2, max_dims=2)))
    def checked(x):
        assert not check_rule(v.sin, x).failures

    checked()


def _signs(n):
    """Matrices at which the least step turns the sign of vectors that a library gives."""
    x = np.diag(np.arange(1.0, n + 1.0))
    return [x, x[::-1, ::-1].copy(), x + 1e-12]


@feature(98, "what is determined up to signs, phases and order is compared so",
         page="test-your-rule", best="PyTorch: output_process_fn_grad")  # fmt: skip
@pytest.mark.parametrize("f", [np.linalg.eigh, np.linalg.svd, np.linalg.qr, np.linalg.eig])
@pytest.mark.parametrize("k", [0, 1])
def test_signs_of_vectors_are_no_mistake(f, k):
    report = check_rule(f, _signs(3)[k])
    assert not report.failures
    assert report.verdict("push") == "passed"


@feature("N7", "losses that do not see the choice are right, others are an error or a warning",
         page="promises", best="requested in JAX, PyTorch, TensorFlow")  # fmt: skip
def test_losses_of_what_is_determined():
    same = np.eye(3)
    invariant = lambda x: np.sum(np.linalg.eigh(x)[1] ** 2)
    np.testing.assert_allclose(grad(invariant)(same), np.zeros((3, 3)), atol=1e-12)
    spectrum = grad(lambda x: np.sum(np.exp(np.linalg.eigh(x)[0])))(same)
    np.testing.assert_allclose(spectrum, np.e * np.eye(3))


@feature("N14", "one call checks a rule in every engine and transformation", page="test-your-rule",
         best="requested in functorch, Thunder, JAX")  # fmt: skip
@pytest.mark.slow
def test_one_call_for_every_engine():
    @primitive
    def f(x):
        return v.exp(x)

    scalar_rule(f, lambda y, x: y)
    assert not check_everywhere(f, A).failures

    @primitive
    def g(x):
        return v.exp(x)

    @rrule.register(g)
    def g_rrule(x):
        return g(x), lambda y_bar: (2.0 * y_bar * g(x),)

    with pytest.raises(RuleCheckError):
        check_everywhere(g, A)
    assert jvp(f, (0.0,), (1.0,))[1] == 1.0
