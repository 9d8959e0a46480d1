"""Functions of this library in saved modules, which run where it cannot be imported."""

import builtins
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingError, compile
from chainrules_compile.function_source import Definitions, UnwrittenError
from chainrules_compile.internal_functions import Apart, Gathered
from chainrules_compile.result_checks import close
from chainrules_compile.scope import Scope
from chainrules_numpy.gathers import add_along
from chainrules_py import ops as v
from chainrules_py.extend import flatten
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
    "sum where": lambda x: np.sum(A.T * x, axis=0, where=A.T > 1, initial=0.5) @ x,
    "mean where": lambda x: np.mean(x * x, where=x > 0.5) * np.std(x, where=x > 0.5),
    "select": lambda x: np.sum(np.select([x > 1, x < 0.5], [x * x, x**3], 0.1)),
    "bincount": lambda x: np.sum(np.bincount([0, 1, 1, 3], weights=x) ** 2),
    "searchsorted": lambda x: np.sum(np.searchsorted(np.sort(x), [0.5, 1.0])) * x[0] ** 2,
    "nonzero": lambda x: np.sum(np.nonzero(x > 0.5)[0] * x[1:] ** 2),
    "split": lambda x: np.sum(np.array_split(x, 3)[0] ** 3),
    "trapezoid": lambda x: np.trapezoid(x**2, x=np.cumsum(x)),
    "accumulate": lambda x: np.sum(np.maximum.accumulate(x) ** 2),
    "irfft": lambda x: np.sum(np.fft.irfft(x) ** 2),
    "repeat": lambda x: np.sum(np.repeat(x, [1, 0, 2, 1]) ** 2),
    "vander": lambda x: np.sum(np.vander(x) ** 2),
    "dot": lambda x: np.sum(np.dot(A, np.dot(A.T, x)) * x) + np.inner(x, x) ** 2,
    "dot of stacks": lambda x: np.sum(np.dot(A[None] * x[0], A.T * x) ** 2),
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


BUILTINS = {
    "max": lambda x: np.max(x, initial=0.1),
    "min": lambda x: np.min(x, initial=9.0),
    "method": lambda x: x.max(initial=0.1),
    "any": lambda x: np.sum(x) if np.any(x > 1) else np.sum(x * x),
    "all": lambda x: np.sum(x) if np.all(x > 0) else np.sum(x * x),
    "round": lambda x: np.sum(np.round(x, 1) * x),
    "abs": lambda x: np.sum(abs(x)) + np.sum(np.abs(x)),
    "pow": lambda x: np.sum(np.power(x, 3)),
    "bool": lambda x: np.sum(x * np.astype(x, np.bool_)),
}


@pytest.mark.parametrize("name", BUILTINS)
def test_functions_with_the_name_of_a_builtin_leave_that_to_others(tmp_path, name):
    """`max = numpy.max` was the `max` of the library's functions beside it: `t / max(n, 1)`."""

    def f(x):
        deviations = (matrix(x) - np.mean(matrix(x), axis=0)) ** 3
        rules = sum([each(x) for each in FUNCTIONS.values()])
        return np.sum(deviations) + np.sum(np.diag(matrix(x), 1) ** 2) + rules

    both = ct.value_and_grad(lambda x: BUILTINS[name](x) + f(x))
    compiled = compile(both)
    compiled(X)
    compiled.save(tmp_path / "saved.py")
    scope = alone((tmp_path / "saved.py").read_text(encoding="utf-8"))
    assert not [key for key in scope if hasattr(builtins, key) and key[:2] != "__"]
    for x in (X, X + 0.01):
        assert close(scope[compiled.__name__](x), both(x))


@pytest.mark.parametrize("name", ["max", "sum", "len", "getattr", "range"])
def test_functions_may_have_the_name_of_a_builtin(tmp_path, name):
    """The functions beside one that is called `max` call that of Python."""
    scope = {"np": np}
    exec(f"def {name}(x): return np.mean(x**2) * np.prod(x) + np.pad(x, 1)[1] + x[x > 1][0]", scope)
    compiled = compile(ct.value_and_grad(scope[name]))
    compiled(X)
    compiled.save(tmp_path / "saved.py")
    saved = alone((tmp_path / "saved.py").read_text(encoding="utf-8"))[name]
    assert close(saved(X + 0.01), ct.value_and_grad(scope[name])(X + 0.01))


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


def test_structures_of_other_packages_are_not_written():
    """NumPy alone does not know them; of a result they would be taken for one leaf."""

    class Pair(NamedTuple):
        x: float
        y: float

    tree = flatten(((Pair(1.0, 2.0),), {}))[1]
    for function in (Apart(np.sum, tree), Gathered(add_along), Gathered(Apart(np.sum, tree))):
        with pytest.raises(UnwrittenError):
            Definitions(Scope()).define("name", function)


def test_leaves_of_nested_results_are_in_order():
    definitions = Definitions(Scope())
    definitions.define("found", Gathered(np.histogramdd))
    imports = "".join([f"import {module}\n" for module in definitions.constants.imports])
    found = alone(imports + "import numpy\n" + "".join(definitions.lines))["found"]
    x = np.arange(12.0).reshape(6, 2)
    for y, wanted in zip(found(x, bins=2), Gathered(np.histogramdd)(x, bins=2), strict=True):
        np.testing.assert_array_equal(y, wanted)


def test_one_of_several_lambdas_of_a_line_is_not_written():
    """Which of them it is, their lines do not say."""
    both = (lambda x: x + 1, lambda x: x - 1)
    for f in both:
        f.__module__ = "chainrules_numpy"
        with pytest.raises(UnwrittenError):
            Definitions(Scope()).define("name", f)


@pytest.mark.parametrize("f", [add_along, v.sin], ids=["function", "operation"])
def test_static_functions_are_compared_by_identity(tmp_path, f):
    """A copy of the source is another function, and the module would refuse its own arguments."""
    compiled = compile(lambda f, x: (x * x, f is None), static="f")
    compiled(f, X)
    with pytest.raises(RecordingError, match="NumPy alone cannot have"):
        compiled.save(tmp_path / "saved.py")
