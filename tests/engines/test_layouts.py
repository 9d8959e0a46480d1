"""Arrays laid out in any way, at the doors by which they become another engine's."""

import numpy as np
import pytest

from chainrules_py import export
from chainrules_tape import grad

BASE = np.arange(1.0, 13.0).reshape(3, 4) / 7
LAYOUTS = {
    "backwards": BASE[0][::-1],
    "rows backwards": BASE[::-1],
    "columns backwards": BASE[:, ::-1],
    "both, in steps": BASE[::-2, ::-2],
    "in steps": BASE[:, ::2],
    "one row, thrice": np.broadcast_to(BASE[0], (3, 4)),
    "columns first": BASE.T,
    "empty": BASE[:0][::-1],
    "single, backwards": BASE.astype(np.float32)[::-1],
    "another byte order": BASE.astype(">f8")[::-1],
    "number": np.float64(0.5),
}


def of_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from chainrules_torch import import_rule

    return import_rule(torch.tanh)


def of_jax():
    jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed")
    from chainrules_jax import import_rule

    return import_rule(jnp.tanh)


def of_autograd():
    np = pytest.importorskip("autograd.numpy", reason="autograd is not installed")
    from chainrules_autograd import import_rule

    return import_rule(np.tanh, operands=1)


ENGINES = {"torch": of_torch, "jax": of_jax, "autograd": of_autograd}


SAMPLE = ["rows backwards", "one row, thrice", "another byte order"]  # JAX compiles for each


@pytest.mark.parametrize(
    "engine, names",
    [
        ("torch", [*LAYOUTS]),
        ("autograd", [*LAYOUTS]),
        ("jax", SAMPLE),
        pytest.param("jax", [*LAYOUTS], marks=pytest.mark.slow),
    ],
    ids=["torch", "autograd", "jax", "jax, all"],
)
def test_imported_functions_take_any_layout(engine, names):
    f = ENGINES[engine]()
    for name in names:
        x = LAYOUTS[name]
        np.testing.assert_allclose(f(x), np.tanh(x), rtol=1e-5, err_msg=name)
        slope = 1.0 - np.tanh(x) ** 2
        np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(x), slope, rtol=1e-4, atol=1e-6)
        turned = grad(lambda x: np.sum(f(x[..., ::-1] if x.ndim else x)))(x)
        np.testing.assert_allclose(turned, slope, rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("engine", ENGINES)
def test_imported_functions_take_any_layout_of_mlx(engine):
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    f, x = export(ENGINES[engine](), to="mlx"), mx.array(BASE.astype(np.float32))
    slope = 1.0 - np.tanh(BASE) ** 2
    for taken in (slice(None), slice(None, None, -1), slice(None, None, 2)):
        places = np.zeros_like(BASE)
        places[:, taken] = 1.0
        found = mx.grad(lambda x, taken=taken: f(x[:, taken]).sum())(x)
        np.testing.assert_allclose(np.array(found), places * slope, rtol=1e-4, atol=1e-6)
