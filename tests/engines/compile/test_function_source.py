"""Functions of this library in saved modules, which run where it cannot be imported."""

import subprocess
import sys

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingError, compile
from chainrules_compile.function_source import Definitions, UnwrittenError
from chainrules_compile.result_checks import close
from chainrules_compile.scope import Scope
from chainrules_numpy.gathers import add_along
from chainrules_py import ops as v
from tests.engines.compile.test_save import alone

X = np.array([0.3, 1.2, 0.7, 2.0])
A = np.arange(1.0, 13.0).reshape(4, 3) / 7
B = np.diag([1.0, 2.0, 3.0, 4.0])


def matrix(x):
    return np.outer(x, x) + B


def added(x):
    y = x * 1.0
    np.add.at(y, [0, 0], x[1])
    return np.sum(y * y)


FUNCTIONS = {
    "third power": lambda x: np.sum(x**3),
    "power": lambda x: np.sum(x**2.5),
    "exponent": lambda x: np.sum(2.0**x),
    "both": lambda x: np.sum(x**x),
    "places": lambda x: np.sum(x[np.array([0, 2, 2])] ** 2),
    "mask": lambda x: np.sum(x[x > 1] ** 2),
    "add.at": added,
    "clip": lambda x: np.sum(np.clip(x, 0.5, 1) ** 2),
    "minimum": lambda x: np.sum(np.minimum(x, 1) ** 2),
    "sort": lambda x: np.sum(np.sort(x) * x),
    "pad": lambda x: np.sum(np.pad(x, 1) ** 2),
    "tril": lambda x: np.sum(np.tril(np.outer(x, x))),
    "interp": lambda x: np.sum(np.interp(x, [0, 1, 2.5], [0, 1, 4.0]) ** 2),
    "einsum": lambda x: np.einsum("i,ij->", x, A) ** 2,
    "prod": lambda x: np.prod(x),
    "cumprod": lambda x: np.sum(np.cumprod(x)),
    "median": lambda x: np.median(x) ** 2,
    "percentile": lambda x: np.percentile(x, 30) ** 2,
    "norm": lambda x: np.linalg.norm(x),
    "cholesky": lambda x: np.sum(np.linalg.cholesky(matrix(x))),
    "eigh": lambda x: np.sum(np.linalg.eigh(matrix(x))[1] ** 4),
    "eigvalsh": lambda x: np.sum(np.linalg.eigvalsh(matrix(x)) ** 2),
    "det": lambda x: np.linalg.det(matrix(x)),
    "qr": lambda x: np.sum(np.linalg.qr(matrix(x))[1]),
    "pinv": lambda x: np.sum(np.linalg.pinv(matrix(x))),
    "svd": lambda x: np.sum(np.linalg.svd(matrix(x))[1]),
    "solve": lambda x: np.sum(np.linalg.solve(matrix(x), x)),
    "sums": lambda x: np.sum((A[:, :, None] * x) ** 2 + x),
    "mean": lambda x: np.mean(np.std(A.T * x, axis=0)),
}
HESSIANS = [name for name in FUNCTIONS if name not in ("eigh", "qr", "pinv")]
CASES = [(ct.value_and_grad, name) for name in FUNCTIONS]
CASES += [pytest.param(ct.hessian, name, marks=pytest.mark.slow) for name in HESSIANS]


@pytest.mark.parametrize("form, name", CASES)
def test_functions_of_numpy_are_saved(tmp_path, form, name):
    compiled = compile(form(FUNCTIONS[name]))
    compiled(X)
    compiled.save(tmp_path / "saved.py")
    text = (tmp_path / "saved.py").read_text(encoding="utf-8")
    saved = alone(text)[compiled.__name__]
    for x in (X, X + 0.01):
        assert close(saved(x), form(FUNCTIONS[name])(x)), text
    assert "import chainrules" not in text


def test_a_module_needs_numpy_alone(tmp_path):
    compiled = compile(ct.value_and_grad(lambda x: np.linalg.det(matrix(x)) + np.median(x) ** 1.5))
    compiled(X)
    compiled.save(tmp_path / "saved.py")
    code = f"""import sys
sys.path[:0] = [{str(tmp_path)!r}]
for name in ("scipy", "chainrules_py", "chainrules_numpy", "chainrules_compile"):
    sys.modules[name] = None
import numpy, saved
print(*saved.{compiled.__name__}(numpy.array({(X + 0.1).tolist()}))[1].tolist())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = compiled(X + 0.1)[1]
    np.testing.assert_allclose([float(y) for y in done.stdout.split()], wanted, rtol=1e-12)


def test_constants_of_one_name_in_two_modules_stay_apart():
    """`_SMALL` is 4096 in one module and 16384 in another."""
    from chainrules_numpy.array_operations import broadcast_to_numpy
    from chainrules_numpy.sum_adjoints import sum_transpose_numpy

    definitions = Definitions(Scope())
    definitions.define("one", broadcast_to_numpy)
    definitions.define("other", sum_transpose_numpy)
    text = "".join(definitions.lines)
    assert "size > 4096" in text
    assert "size > 16384" in text


def test_functions_are_written_with_those_that_they_call():
    definitions = Definitions(Scope())
    definitions.define("add_to", add_along)
    imports = "".join([f"import {module}\n" for module in definitions.constants.imports])
    function = alone(imports + "import numpy\n" + "".join(definitions.lines))["add_to"]
    found, wanted = np.zeros((4, 3)), np.zeros((4, 3))
    places, y = np.array([0, -1, 0, 2]), np.ones((4, 3))
    function(found, y, places, 0)
    np.add.at(wanted, places, y)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("x", [object(), lambda x: x, ct.grad, RecordingError, np.ma.masked_array])
def test_others_are_not_written(x):
    if x is np.ma.masked_array:
        x = x([1.0], [True])
    with pytest.raises(UnwrittenError):
        Definitions(Scope()).define("name", x)


@pytest.mark.parametrize("f", [add_along, v.sin], ids=["function", "operation"])
def test_static_functions_are_compared_by_identity(tmp_path, f):
    """A copy of the source is another function, and the module would refuse its own arguments."""
    compiled = compile(lambda f, x: (x * x, f is None), static="f")
    compiled(f, X)
    with pytest.raises(RecordingError, match="NumPy alone cannot have"):
        compiled.save(tmp_path / "saved.py")
