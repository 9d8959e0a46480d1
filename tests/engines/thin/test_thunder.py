"""The adapter to Thunder. It has an environment of its own: `make test-thunder`."""

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from tests.engines.battery import ONE_MODE, polar, softplus

torch = pytest.importorskip("torch")
try:
    import thunder
except (ImportError, AttributeError) as error:
    pytest.skip(
        f"Thunder cannot be imported beside PyTorch {torch.__version__} ({error}); "
        f"`make test-thunder` has an environment where it can",
        allow_module_level=True,
    )
import chainrules_engines.thunder as adapter  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # what Thunder says of itself is its own
X = np.array([0.3, -0.7, 1.2])
A = np.array([[2.0, 0.3, 0.1], [0.4, 1.5, -0.2], [0.0, 0.3, 1.1]])


def gradients(program, *arrays):
    xs = [torch.tensor(x, requires_grad=True) for x in arrays]
    jitted = thunder.jit(program, executors=[adapter.executor])
    jitted(*xs).backward()
    trace = str(thunder.last_traces(jitted)[-1])
    return [x.grad.numpy() for x in xs], trace


@pytest.mark.parametrize("separate", [False, True])
def test_gradients(separate):
    solve = adapter.export(v.solve, separate=separate)
    total = adapter.export(v.sum, separate=separate)

    def program(a, x):
        y = solve(a, x)
        return total(y * y, axis=0) * 2.0

    (a_bar, x_bar), trace = gradients(program, A, X)
    assert "solve_" in trace
    assert "linalg" not in trace  # one operator, into which nobody has looked
    y = np.linalg.solve(A, X)
    b_bar = np.linalg.solve(A.T, 4.0 * y)
    assert np.allclose(x_bar, b_bar)
    assert np.allclose(a_bar, -np.outer(b_bar, y))


@pytest.mark.parametrize("separate", [False, True])
def test_rules_of_ones_own(separate):
    f = adapter.export(softplus, separate=separate)
    (x_bar,), _ = gradients(lambda x: f(x).sum(), X)
    assert np.allclose(x_bar, 1 / (1 + np.exp(-X)))


@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize(
    "f, slope",
    [(np.linalg.norm, X / np.sqrt(np.sum(X**2))), (lambda x: v.sin(x) * 2.0, 2.0 * np.cos(X))],
)
def test_functions_of_numpy_and_lambdas(f, slope, separate):
    g = adapter.export(f, separate=separate)
    (x_bar,), _ = gradients(lambda x: g(x).sum(), X)
    assert np.allclose(x_bar, slope)


def test_what_it_cannot():
    f = adapter.export(ONE_MODE["forward"].f)
    (x_bar,), _ = gradients(lambda x: f(x).sum(), X)
    assert np.allclose(x_bar, 2 * X)  # the engine installed transposes it
    g = adapter.export(polar)
    with pytest.raises(NotDifferentiableError, match="gives one tensor"):
        gradients(lambda x: g(x, x)[0].sum(), X)
    for x in (X, torch.tensor(X, dtype=torch.float32)):
        said = adapter.supports(softplus, x)
        assert (said.grad, said.jvp, said.jit, said.order) == (True, False, True, 1)
