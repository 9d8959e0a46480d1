"""An engine of which the first that is seen is a captured value: its adapter is loaded."""

import importlib.util
import subprocess
import sys

import pytest

SOLVED = 0.5321461402868211
PROGRAMS = {
    "autograd": "autograd.grad(lambda a: v.root(lambda x: x**3 + x - a, 1.0))(0.7)",
    "jax": "jax.grad(lambda a: v.root(lambda x: x**3 + x - a, 1.0))(0.7)",
    "jax of arrays": "jax.jit(jax.grad(lambda a: v.root(lambda x: x**3 + x - a, one)))(0.7)",
    "jax, map": "jax.grad(lambda a: SOLVED * v.map(lambda x: a * x, one[None])[0])(0.7)",
    "torch": "torch.func.grad(lambda a: v.root(lambda x: x**3 + x - a, 1.0))(torch.tensor(0.7))",
    "mlx": "mx.grad(lambda a: v.root(lambda x: x**3 + x - a, mx.array(1.0)))(mx.array(0.7))",
}
BEFORE = {
    "jax": "import jax",
    "jax of arrays": "import jax; one = jax.numpy.asarray(1.0)",
    "jax, map": "import jax; one = jax.numpy.asarray(1.0)",
    "mlx": "import mlx.core as mx",
}


@pytest.mark.parametrize(
    "name", [pytest.param(x, marks=[] if x == "autograd" else [pytest.mark.slow]) for x in PROGRAMS]
)
def test_an_adapter_is_loaded_for_what_a_function_captured(name: str) -> None:
    engine = name.partition(" ")[0].strip(",")
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    before = BEFORE.get(name, f"import {engine}")
    code = (
        f"{before}\nSOLVED = {SOLVED}\nfrom chainrules_py import ops as v\n"
        f"assert abs(float({PROGRAMS[name]}) - SOLVED) < 1e-5"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
