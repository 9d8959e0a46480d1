"""Other libraries' arrays that nobody differentiates: SciPy's own calls, where ours stand."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse

import chainrules_scipy
from tests.libraries.scipy.samples.judge import samples

MAKERS = {
    "torch": ("torch", "chainrules_torch", "tensor"),
    "jax": ("jax.numpy", "chainrules_jax", "asarray"),
    "mlx": ("mlx.core", "chainrules_mlx", "array"),
}
# They start elsewhere each time, or are asked of ufuncs, which are SciPy's own under either name;
# some of those do not come back from numbers of 32 bits.
_NOT = (
    *("integrate.tplquad", "integrate.odeint", "interpolate.insert", "sparse.linalg.onenormest"),
)
ALL = [
    s
    for name, of in samples().items()
    for s in of
    if s.operands
    and not name.startswith(_NOT)
    and not isinstance(getattr(importlib.import_module("scipy.special"), name[8:], 0), np.ufunc)
]
SOME = ALL[::40]


def _made(library: str, x: Any) -> Any:
    module, ours, name = MAKERS[library]
    importlib.import_module(ours)
    x = np.asarray(x)
    single = library == "mlx" and x.dtype == float
    return getattr(importlib.import_module(module), name)(x.astype("f4") if single else x)


def _seen(y: Any, deep: int = 0) -> Any:
    """Return what anybody sees of a result: its class, dtype and bits, and those of its parts."""
    name = f"{type(y).__module__}.{type(y).__qualname__}"
    if scipy.sparse.issparse(y):
        return name, y.dtype, y.toarray().tobytes()
    if isinstance(y, (np.ndarray, np.generic)):
        return name, y.dtype, y.shape, y.dtype == object or y.tobytes()
    if isinstance(y, dict):
        y = tuple(y.items())
    if isinstance(y, (tuple, list)):
        return name, [_seen(part, deep + 1) for part in y if deep < 5]
    return name, repr(y) if isinstance(y, (complex, float, int, str)) else None


def _ran(sample: Any, operands: Any) -> Any:
    try:
        return _seen(sample.run(*operands))
    except Exception as error:
        return "raised", type(error).__name__


def _compare(sample: Any, library: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        operands = [_made(library, x) for x in sample.operands]
        plain = _ran(sample, operands)
        with chainrules_scipy.install():
            found = _ran(sample, operands)
    if plain != found:  # whose factors are ours always, and solve what SciPy's does not
        assert sample.name in ("sparse.linalg.splu", "sparse.linalg.factorized"), (plain, found)
        assert plain[0] == "raised"


@pytest.mark.parametrize("library", MAKERS)
def test_some_calls(library: str) -> None:
    pytest.importorskip(MAKERS[library][0])
    for sample in SOME:
        _compare(sample, library)


@pytest.mark.slow
@pytest.mark.parametrize("library", MAKERS)
@pytest.mark.parametrize("sample", ALL, ids=str)
def test_every_call(sample: Any, library: str) -> None:
    pytest.importorskip(MAKERS[library][0])
    _compare(sample, library)


@pytest.mark.parametrize("library", MAKERS)
@pytest.mark.parametrize("name", ["csr_array", "coo_matrix", "dia_array", "LinearOperator"])
def test_classes(library: str, name: str) -> None:
    pytest.importorskip(MAKERS[library][0])
    import scipy.sparse.linalg

    home = scipy.sparse.linalg if name == "LinearOperator" else scipy.sparse
    a = _made(library, np.array([[2.0, 0.0], [1.0, 3.0]]))
    where = np.array([0]) if name == "dia_array" else (np.array([0, 1]), np.array([1, 1]))
    data = _made(library, np.array([[1.0, 4.0]] if name == "dia_array" else [1.0, 4.0]))
    if name == "LinearOperator":
        product = lambda x: np.asarray(a) @ x
        calls: list[Any] = [lambda: home.LinearOperator((2, 2), matvec=product) @ [1, 2]]
    else:
        make = getattr(home, name)
        calls = [lambda: make(a), lambda: make((data, where), shape=(2, 2))]
    for call in calls:
        plain = _seen(call())
        with chainrules_scipy.install():
            assert _seen(call()) == plain


def test_what_is_differentiated_is_ours_still() -> None:
    torch = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    a = torch.eye(2, dtype=torch.float64)
    with chainrules_scipy.install():
        traced = a.clone().requires_grad_()
        assert isinstance(scipy.linalg.expm(traced), torch.Tensor)
        with torch.no_grad():
            assert isinstance(scipy.linalg.expm(traced), torch.Tensor)
        mapped = torch.func.vmap(scipy.linalg.expm)(torch.stack([a, 2 * a]))
        assert mapped.shape == (2, 2, 2)
        assert torch.func.grad(lambda x: scipy.linalg.expm(x)[0, 0])(a)[0, 0] > 2.7


@pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", ["quad", "quad_vec", "brentq"])
def test_a_tensor_that_a_function_holds_is_differentiated(name: str) -> None:
    torch = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    home = importlib.import_module("scipy.optimize" if name == "brentq" else "scipy.integrate")

    def value(rate: Any) -> Any:
        of = (lambda t: rate * t - 1.0) if name == "brentq" else (lambda t: (-rate * t) * t)
        y = getattr(home, name)(of, 0.0, 5.0)
        return y if name == "brentq" else y[0]

    rate = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    with chainrules_scipy.install():
        value(rate).backward()
    truth = (value(0.7 + 1e-5) - value(0.7 - 1e-5)) / 2e-5
    assert abs(rate.grad.item() - truth) < 1e-6 * abs(truth)
