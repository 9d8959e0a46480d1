"""FreeTensor's page on differentiation: a loop, a softmax with a gradient of its own, regions.

What is a range of statements with `UserGrad` there is a region under `user_grad` here, and what
`push_for_backward` gives is what the pullback uses.
"""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_vjp, user_grad
from chainrules_py.testing import check_rule
from chainrules_tape import Tape, grad, jvp, vjp

N = 4
RNG = np.random.default_rng(2)
X, XS = RNG.random(N), RNG.random((N, N))
DZDY, DZDYS = RNG.random(N), RNG.random((N, N))


def softmax(x):
    """Computed with a shift, for numerical stability."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def softmax_pulled(x, dzdy):
    """The product with the Jacobian matrix, J[i, j] = y[i] (δ[i, j] - y[j]), written out."""
    y = softmax(x)
    return dzdy @ (np.diag(y) - np.outer(y, y))


# -------------------------------------------------------------------------------- reverse mode


def dot(a, b):
    y = 0.0
    for i in range(N):
        y += a[i] * b[i]
    return y


def test_reverse_mode_of_a_loop():
    a = np.array([0, 1, 2, 3], dtype="float32")
    b = np.array([3, 2, 1, 0], dtype="float32")
    y, backward = vjp(dot, a, b)
    assert y == 4.0
    dzda, dzdb = backward(np.float32(1))
    assert dzda.dtype == dzdb.dtype == np.float32
    assert dzda.tolist() == b.tolist()
    assert dzdb.tolist() == a.tolist()


def test_gradients_by_name():
    """`requires=['a', 'b']`, and gradients that are looked up by the names of what they are of."""
    with Tape() as tape:
        inputs = {"a": tape.variable(X, "a"), "b": tape.variable(DZDY, "b")}
        y = dot(**inputs)
    grads = tape.grad(y, inputs)
    np.testing.assert_array_equal(grads["a"], DZDY)
    np.testing.assert_array_equal(grads["b"], X)


# ----------------------------------------------------------------------------- custom gradients


def test_the_softmax_differentiated_through_its_operations():
    y, backward = vjp(softmax, X)
    np.testing.assert_allclose(y, np.exp(X) / np.sum(np.exp(X)))
    np.testing.assert_allclose(backward(DZDY)[0], softmax_pulled(X, DZDY))


def softmax_by_region(x):
    """Without the derivative of the shift, which is zero and costs what the others cost."""

    @user_grad(x)
    def y(x):
        m = np.max(x, axis=-1)
        e = np.exp(x - m)
        s = np.sum(e, axis=-1)
        y = e / s

        def backward(dzdy):
            dzds = -np.sum(dzdy * y, axis=-1) / s
            dzde = dzdy / s + dzds
            return (dzde * e,)

        return y, backward

    return y


def softmax_by_function(recompute):
    """The same as a function, to be used in several places."""
    f = custom_vjp(softmax)

    def forward(x):
        e = np.exp(x - np.max(x))
        s = np.sum(e)
        return e / s, (e, s)

    def backward(res, dzdy):
        e, s = res
        dzds = -np.sum(dzdy * e / s) / s
        return ((dzdy / s + dzds) * e,)

    f.defvjp(forward, backward, recompute=recompute)
    return f


SOFTMAXES = {
    "region": softmax_by_region,
    "function": softmax_by_function(recompute=False),
    "function, recomputed": softmax_by_function(recompute=True),
}


@pytest.mark.parametrize("name", SOFTMAXES)
def test_the_softmax_with_a_gradient_of_its_own(name):
    f = SOFTMAXES[name]
    y, backward = vjp(f, X)
    np.testing.assert_allclose(y, softmax(X))
    np.testing.assert_allclose(backward(DZDY)[0], softmax_pulled(X, DZDY))
    np.testing.assert_allclose(jvp(f, (X,), (DZDY,))[1], softmax_pulled(X, DZDY))
    curved = lambda f: grad(lambda x: np.sum(grad(lambda x: np.sum(f(x) ** 2))(x) ** 2))(X)
    np.testing.assert_allclose(curved(f), curved(softmax))


@pytest.mark.parametrize("name", [name for name in SOFTMAXES if name != "region"])
def test_the_judge_passes_it(name):
    check_rule(SOFTMAXES[name], X, checks=("value", "push", "adjoint", "second order", "types"))


# ------------------------------------------------------------------------------ regions in loops


def rows_by_regions(x):
    """`m`, `e` and `s` are local to `i`: each backward function has its own."""
    y = np.empty((N, N), like=x)
    for i in range(N):

        @user_grad(x[i])
        def row(x_i):
            m = np.max(x_i, axis=-1)
            e = np.exp(x_i - m)
            s = np.sum(e, axis=-1)
            y_i = e / s

            def backward(dzdy):
                dzds = -np.sum(dzdy * y_i, axis=-1) / s
                dzde = dzdy / s + dzds
                return (dzde * e,)

            return y_i, backward

        y[i] = row
    return y


def rows_by_whole_arrays(x):
    """As the page has it: the region takes all of x, and uses the row i of it, also backwards."""
    y = np.zeros((N, N), like=x)
    for i in range(N):

        @user_grad(x)
        def part(x):
            e = np.exp(x[i] - np.max(x[i]))  # noqa: B023
            s = np.sum(e)

            def backward(dzdy):
                dzds = -np.sum(dzdy * e / s) / s
                dzdx = np.zeros(x.shape, like=dzdy)
                dzdx[i] += (dzdy / s + dzds) * e  # noqa: B023
                return (dzdx,)

            return e / s, backward

        y[i] = part
    return y


@pytest.mark.parametrize("rows", [rows_by_regions, rows_by_whole_arrays])
def test_a_softmax_of_rows_in_a_loop(rows):
    y, backward = vjp(rows, XS)
    np.testing.assert_allclose(y, softmax(XS))
    there = np.stack([softmax_pulled(x, v) for x, v in zip(XS, DZDYS, strict=True)])
    np.testing.assert_allclose(backward(DZDYS)[0], there)
    np.testing.assert_allclose(jvp(rows, (XS,), (DZDYS,))[1], there)


def test_second_gradients_of_regions_in_a_loop():
    def curved(rows):
        return grad(lambda x: np.sum(grad(lambda x: np.sum(rows(x) ** 2))(x) ** 2))(XS)

    np.testing.assert_allclose(curved(rows_by_regions), curved(softmax))
    with Tape(differentiable=True) as tape:
        x = tape.variable(XS, "x")
        slope = tape.grad(np.sum(rows_by_regions(x) ** 2), x)
        bend = tape.grad(np.sum(slope * slope), x)
    np.testing.assert_allclose(bend.value, curved(softmax))


def test_several_versions_of_one_variable():
    """A value is overwritten again and again, in place, and each version is used backwards."""

    def power(x, n):
        @user_grad(x)
        def y(x):
            y = np.array(x)
            pushed = []
            for _ in range(n - 1):
                pushed.append(y.copy())  # the version of now
                y *= x

            def backward(dzdy):
                dzdx = 0.0
                for now in reversed(pushed):
                    dzdx = dzdx + dzdy * now
                    dzdy = dzdy * x
                return (dzdx + dzdy,)

            return y, backward

        return y

    np.testing.assert_allclose(grad(lambda x: np.sum(power(x, 5)))(X), 5 * X**4)
    np.testing.assert_allclose(jvp(lambda x: power(x, 5), (X,), (DZDY,))[1], 5 * X**4 * DZDY)
