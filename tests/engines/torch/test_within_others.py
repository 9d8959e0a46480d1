"""PyTorch's transformations inside of functions that our tape, or dual numbers, differentiate."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import func  # noqa: E402

from chainrules_py import ChainRulesError, TracerError  # noqa: E402
from chainrules_py import vocabulary as v  # noqa: E402
from chainrules_tape import grad, jvp  # noqa: E402
from chainrules_torch import export, import_rule  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
X, ONES = torch.tensor([0.5, 1.0]), torch.ones(2)
SIN = export(v.sin)


def total(x):
    return torch.sin(x).sum()


def layered(x):
    linear = torch.nn.Linear(2, 1)
    return func.functional_call(linear, {"weight": x[None], "bias": torch.zeros(1)}, (ONES,))


TRANSFORMED = {
    "grad": lambda x: func.grad(total)(x),
    "grad_and_value": lambda x: func.grad_and_value(total)(x)[0],
    "vmap": lambda x: torch.vmap(torch.sin)(x),
    "jvp": lambda x: func.jvp(torch.sin, (x,), (ONES,))[1],
    "jvp of a tangent": lambda x: func.jvp(torch.sin, (ONES,), (x,))[1],
    "vjp": lambda x: func.vjp(torch.sin, x)[1](ONES)[0],
    "jacrev": lambda x: func.jacrev(torch.sin)(x),
    "jacfwd": lambda x: func.jacfwd(torch.sin)(x),
    "hessian": lambda x: func.hessian(total)(x),
    "functional_call": layered,
    "of what it captured": lambda x: func.grad(lambda z: (z * x).sum())(ONES),
    "of an exported function": lambda x: func.grad(lambda z: (SIN(z) * x).sum())(ONES),
}
ENGINES = {
    "grad": lambda f: grad(lambda x: f(x).sum())(X),
    "jvp": lambda f: jvp(f, (X,), (ONES,)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("door", TRANSFORMED)
def test_a_transformation_of_pytorchs_is_refused_with_what_to_write(door, engine):
    with pytest.raises(TracerError, match=r"tensors alone.*import_rule\(torch.func.grad\(f\)\)"):
        ENGINES[engine](TRANSFORMED[door])


def test_what_to_write_works():
    g = import_rule(func.grad(total))
    torch.testing.assert_close(grad(lambda x: g(x).sum())(X), -X.sin())
    torch.testing.assert_close(grad(lambda x: grad(total)(x).sum())(X), -X.sin())


def test_errors_of_programs_stay_what_they_are():
    def failing(x):
        msg = "something else"
        raise RuntimeError(msg)

    for run in ENGINES.values():
        with pytest.raises(RuntimeError, match="something else") as caught:
            run(failing)
        assert not isinstance(caught.value, ChainRulesError)
    with pytest.raises(ValueError, match="in_dim=0"):
        grad(lambda x: torch.vmap(torch.sin)(torch.tensor(1.0)) * x)(1.0)
