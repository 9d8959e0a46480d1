"""Versions of PyTorch that lack names that are not public: other ways, or an error."""

from textwrap import dedent

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.autograd import forward_ad  # noqa: E402

from chainrules_py.errors import ContractError  # noqa: E402
from chainrules_torch import _private  # noqa: E402
from tests.forks import Forks  # noqa: E402

WITHOUT = """
    import pkgutil
    import warnings

    import numpy as np
    import torch

    found = pkgutil.resolve_name

    def resolve_name(path):
        if any([name in path for name in MISSING]):
            raise AttributeError(path)
        return found(path)

    pkgutil.resolve_name = resolve_name
    from chainrules_py.errors import ContractError
    from chainrules_torch import export

    x = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    norm = export(np.linalg.norm)
"""
PUBLIC = ("autocast", "_default_hooks", "_subclasses", "_dynamo")
GRADIENT = """
    norm(x).backward()
    assert np.allclose(x.grad, [0.6, 0.8])
    with torch.autograd.graph.save_on_cpu():
        (slope,) = torch.autograd.grad(norm(x), x, create_graph=True)
        (curvature,) = torch.autograd.grad(slope[0], x)
    assert np.allclose(curvature, [0.128, -0.096])
    with torch.autocast("cpu", torch.bfloat16):
        assert norm(x).dtype == torch.float64
    u = torch.ones_like(x)
    assert np.allclose(torch.func.jvp(norm, (x.detach(),), (u,))[1], 1.4)
"""
REFUSED = """
    try:
        torch.func.grad(norm)(x.detach())
    except ContractError as error:
        assert "pip install 'torch>=2.8,<2.14'" in str(error)
    else:
        raise AssertionError
"""


def test_gradients():
    with Forks("numpy, torch") as forks:
        for missing, then in [(PUBLIC, GRADIENT), (("is_functorch_wrapped_tensor",), REFUSED)]:
            done = forks.run(f"MISSING = {missing!r}\n" + dedent(WITHOUT) + dedent(then))
            assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("level", [_private.dual_level, _private._dual_level])
def test_levels_of_dual_numbers_are_seen(level):
    assert level() < 0
    with forward_ad.dual_level():
        assert level() >= 0
    assert level() < 0


def test_what_nothing_stands_for_names_the_versions():
    absent = _private._name("torch:_C.no_such_name").with_a_part
    with pytest.raises(ContractError, match=r"has no torch\._C\.no_such_name\.with_a_part"):
        absent(1.0)
