"""Compiled functions on arrays of engines: exported, inside of what is, and called as they are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_py import export
from chainrules_py.ops import matmul, sum, tanh
from chainrules_tape import grad

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")

X, W = np.array([0.3, 0.7], np.float32), np.array([[0.5, 0.2], [-0.3, 0.4]], np.float32)


def energy(x, w):
    return sum(tanh(matmul(w, x)) ** 2)


GIVEN: dict[str, Any] = {
    "itself": lambda f, to: export(f, to=to),
    "inside": lambda f, to: export(lambda x, w: f(x, w) * 1.0, to=to),
    "called": lambda f, to: f,
}
FUNCTIONS: dict[str, Any] = {
    "f": energy,
    "gradient": lambda x, w: sum(grad(energy)(x, w) ** 2),
}
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"target": "c"})


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_compiled_function_is_its_function_on_arrays_of_an_engine(function, given, warm):
    """It said that arrays are to be converted, whose derivative would be gone."""
    f, of = FUNCTIONS[function], GIVEN[given]
    for options in OPTIONS if warm else OPTIONS[:1]:
        compiled: Any = compile(f, **options)
        if warm:
            compiled(X, W)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            results: list[Any] = []
            for make in (f, compiled, compiled):
                g = of(make, "torch")
                x = torch.tensor(X, requires_grad=True)
                y = g(x, torch.tensor(W))
                y.backward()
                at = jax.numpy.array(X), jax.numpy.array(W)
                h = of(make, "jax")
                found = [y.item(), x.grad.numpy(), jax.grad(h)(*at), jax.jit(h)(*at)]
                results.append([np.asarray(a) for a in found])
        for found in results[1:]:
            for a, b in zip(found, results[0], strict=True):
                np.testing.assert_array_equal(a, b)
        told = [str(w.message) for w in said if w.category is RecordingWarning]
        assert len(told) == len({*told})
        assert "an array of torch" in told[0]
        assert "call or export the function itself" in told[0]
        np.testing.assert_array_equal(compiled(X, W), f(X, W))
