"""What is advised in place of functions that take no tracers, and where it is found."""

from __future__ import annotations

import functools
import linecache
import math
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import optimize

from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    TracerError,
    UnsupportedKeywordError,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import grad, jacobian, value_and_grad

LIBRARY = """
import functools
import numpy as np

def wrapped(f):
    @functools.wraps(f)
    def wrapper(*operands):
        return f(*map(np.asarray, operands))
    return wrapper

@wrapped
def total(x):
    return x.sum()

def mean(x):
    return total(x) / np.asarray(x).size

def spread(x):
    return total(x)

def plain(x):
    return np.asarray(x).max()

def stride(x):
    return x.strides
"""

BACKEND = """
import thinglib
from chainrules_py.primitives.conversion_advice import advise

chainrules_contract = 1
advise(thinglib.total, "write np.sum(x)")
advise(thinglib.mean, "write np.mean(x)")
advise(thinglib.spread, lambda line: None)
advise(thinglib.stride, "do without strides")
"""

PROGRAM = """
import thinglib
from chainrules_tape import grad
import numpy as np
for name in ("total", "mean", "spread", "plain", "stride"):
    f = getattr(thinglib, name)
    try:
        grad(lambda x: f(x))(np.ones(101))
    except Exception as error:
        print(name, type(error).__name__, "np.sum(x)" in str(error), "np.mean(x)" in str(error),
              "do without" in str(error), "primitive(" in str(error))
"""


@pytest.fixture
def library(tmp_path):
    (tmp_path / "thinglib.py").write_text(LIBRARY)
    (tmp_path / "thingbackend.py").write_text(BACKEND)
    info = tmp_path / "thingbackend-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thingbackend\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[chainrules_py.backends]\nthinglib = thingbackend\n")
    return tmp_path


def test_the_function_that_the_program_called_is_the_one_advised(library, tmp_path):
    """Behind a wrapper that many share, outside of what it calls itself, and loaded only then."""
    path = f"import sys; sys.path.insert(0, {str(library)!r})\n"
    (tmp_path / "program.py").write_text(path + textwrap.dedent(PROGRAM))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "total TracerError True False False False",
        "mean TracerError False True False False",
        "spread TracerError False False False True",
        "plain TracerError False False False True",
        "stride TracerError False False True False",
    ]


PACKAGE = """
import numpy as np

def fill(x, draw=np.random.default_rng(0).integers):
    y = np.zeros(len(x))
    y[:] = x
    return y

def converted(x):
    return np.array(x, dtype=float, copy=False)
"""

DIRECT = """
import boxlib
import numpy as np
from chainrules_tape import grad, jacobian

for of in (lambda: grad(lambda x: np.sum(boxlib.fill(x)))(np.ones(2)),
           lambda: jacobian(boxlib.converted)(np.ones(2))):
    try:
        of()
    except Exception as error:
        print(type(error).__name__, str(error).splitlines()[-1])
"""


def test_a_package_without_advice_is_made_an_operation(tmp_path):
    """Whatever it holds and does not call; also if it is given to an engine itself."""
    home = tmp_path / "site-packages"
    home.mkdir()
    (home / "boxlib.py").write_text(PACKAGE)
    (tmp_path / "program.py").write_text(f"import sys; sys.path.append({str(home)!r})\n{DIRECT}")
    run = [sys.executable, str(tmp_path / "program.py")]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    filled, converted = said
    assert "TracerError   make it an operation (fill takes plain values, at site-pack" in filled
    assert "TracerError   make it an operation (converted takes plain values, at site-" in converted


@pytest.mark.parametrize(
    "program",
    [
        "np.array(d[f'{key}'], dtype=float)",
        "np.array(d[f'{all}'], dtype=float)",
        "m.item(3)",
        "(m + m).item(-2)",
        "m.item(1, 0)",
    ],
)
def test_what_is_advised_is_the_same_program(program):
    def at(text, x):
        linecache.cache["advised.py"] = len(text), None, [text], "advised.py"
        space = {"np": np, "math": math, "m": x.reshape(2, 2) ** 2, "key": "k", "all": "k"}
        return eval(compile(text, "advised.py", "eval"), space | {"d": {"k": x[1]}})

    x = np.array([0.5, 2.0, 3.0, 4.0])
    with pytest.raises(TracerError) as caught:
        grad(functools.partial(at, program))(x)
    write = str(caught.value).rpartition("use ")[2].partition(", with")[0]
    truth = [(at(program, x + e) - at(program, x - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(grad(functools.partial(at, write))(x), truth, rtol=1e-6)


def test_a_map_of_a_function_of_plain_numbers_is_a_list():
    def width(x):
        lo, hi = map(float, (x.min(), x.max()))
        return hi - lo

    for f, of in (
        (width, "map(float, (x.min(), x.max()))"),
        (lambda m: sum(map(math.sqrt, m)), "map(math.sqrt, m)"),
    ):
        write = rf"\n  write a list comprehension for {re.escape(of)}, with NumPy's functions"
        with pytest.raises(TracerError, match=write):
            grad(f)(np.array([1.0, 3.0]))
    assert grad(lambda m: sum([np.sqrt(v) for v in m]))(np.array([1.0, 4.0])).tolist() == [
        0.5,
        0.25,
    ]


def test_a_dtype_of_several_results_is_asked_of_each():
    with pytest.raises(UnsupportedKeywordError, match="has no derivative here") as caught:
        grad(lambda x: np.sum(np.divmod(x, 0.75, dtype=np.float32)[1]))(np.ones(2))
    write = str(caught.value).rpartition("use ")[2]
    _, rest = eval(write, {"np": np, "x": np.ones(2)})
    np.testing.assert_array_equal(rest, np.full(2, 0.25, np.float32), strict=True)


EXPORTED = [
    "export(np.log)(x, where=m)",
    "export(np.log)(x, where=m, out=torch.zeros_like(x))",
    "f(x + 1.0, where=m)",
    "export(np.clip)(x, 0.0, 2.5, dtype=torch.float64)",
]


@pytest.mark.parametrize("program", EXPORTED)
def test_an_option_of_an_exported_function_is_applied_to_its_tensors(program):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    export = pytest.importorskip("chainrules_torch").export
    x, m = torch.tensor([0.5, 2.0, 3.0], requires_grad=True), torch.tensor([True, False, True])
    space = {"np": np, "torch": torch, "export": export, "f": export(np.log), "x": x, "m": m}
    linecache.cache["exported.py"] = len(program), None, [program], "exported.py"
    with pytest.raises(UnsupportedKeywordError, match=r"apply it to|b\[...\] = ") as caught:
        eval(compile(program, "exported.py", "eval"), space)
    assert "np.where" not in str(caught.value)  # it takes no tensors


def test_functions_of_scipys_are_found_by_their_modules():
    special = pytest.importorskip("scipy.special")
    from chainrules_py.primitives.plugins import module_of

    assert module_of(special.erf) == "scipy.special"
    assert module_of(special.logsumexp).startswith("scipy.special")
    assert module_of(functools.partial(print)) == "functools"
    assert module_of(None) == ""


FIRST = """
import math
import numpy as np
from chainrules_tape import grad
f = np.vectorize(lambda a: a * 2.0, otypes=[float])
for g in (lambda x: np.sum(f(x)), lambda x: np.sum(np.matrix([[1.0, 2.0]]) * x),
          lambda x: 1.0 * math.isclose(x[0], 2.0)):
    try:
        grad(g)(np.ones(2))
    except Exception as error:
        print(" ".join(str(error).splitlines()))
"""


def test_the_first_call_of_a_process_is_advised_as_later_ones():
    run = [sys.executable, "-c", FIRST]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    for line, advised in zip(
        said,
        ("use vectorize", "np.asarray(m) @ x", "cannot convert"),
        strict=True,
    ):
        assert advised in line


TEXTLESS = """
import numpy as np
from chainrules_tape import grad
def show(f, x):
    try:
        grad(f)(x)
    except Exception as error:
        print(type(error).__name__, *str(error).splitlines()[-1:])
show(lambda t: np.sum(np.hypot(np.array([t, 1.0]), 2)), 1.0)
show(lambda t: np.sum(np.arctan2(np.array([t, 1.0]), 2)), 1.0)
show(lambda t: np.sum(np.sin(np.array([t, 1.0]))), 1.0)
show(lambda t: np.interp(0.5, [0, 1], np.array([t, 1.0])), 1.0)
show(lambda t: [*np.nditer(t)][0], np.ones(2))
show(lambda t: np.max(np.ones(2), initial=t), 1.0)
show(lambda z: np.vectorize(lambda x: x * x)(z).real, 1.0 + 1j)
show(lambda z: np.sum([z, z]).real, 1.0 + 1j)
show(lambda m: np.array(2.0).std(mean=m), 1.0)
"""


IMPORTED = "after 'from chainrules_numpy.composites.mapping import vectorize'"
LISTED = "and np.stack([y, z]) for a list [y, z]"


def test_what_is_advised_without_source_text():
    # Since Python 3.13 the text of -c itself can be read.
    run = [sys.executable, "-c", f"exec({TEXTLESS!r})"]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == [
        *["TracerError   use np.stack of the numbers"] * 5,
        "TracerError   use NumPy's functions of x, not plain ones",
        f"TracerError   use vectorize(f)(x), {IMPORTED}",
        f"TracerError   use NumPy's functions of x, not plain ones, {LISTED}",
        "TracerError   write np.var(a, mean=m) for a.var(mean=m), and np.std for the method std",
    ]


def test_a_function_in_c_without_a_rule_is_given_one():
    sine = primitive(math.sin)
    advice = r"state its rule: scalar_rule\(sine, lambda y, x: \.\.\.\)"
    with pytest.raises(TracerError, match=advice):
        grad(sine)(1.0)
    with pytest.raises(TracerError, match=advice):
        grad(lambda x: 2.0 * sine(x + 1.0))(1.0)
    scalar_rule(sine, lambda y, x: math.cos(x))
    np.testing.assert_allclose(
        grad(sine)(1.0), (math.sin(1.0 + 1e-6) - math.sin(1.0 - 1e-6)) / 2e-6
    )


def test_an_array_of_traced_elements_is_advised_away():
    f = primitive(lambda x: np.sin(x))

    @rrule.register(f)
    def f_rule(x):
        x = np.asarray(x)
        return np.sin(x), lambda g: (g * np.cos(x),)

    slope = grad(lambda x: np.sum(f(x)))
    with pytest.raises(NotDifferentiableError, match=r"leave out np\.asarray"):
        grad(lambda x: np.sum(slope(x)))(np.array([0.5, -1.0]))


def test_an_option_of_a_rule_of_maps_is_given_a_map():
    f = primitive(lambda x, *, k=2.0: k * x)

    @rule(f)
    def f_rule(x, *, k):
        return f(x, k=k), (LinearMap(lambda t: k * t, lambda b: k * b),)

    with pytest.raises(NotDifferentiableError) as caught:
        grad(lambda k: f(1.0, k=k))(3.0)
    assert "(x, k=2.0), without the *, and give @rule(" in str(caught.value)
    assert "one more LinearMap, for k" in str(caught.value)


CALLERS = {
    "minimize": lambda f, x: optimize.minimize(f, x, jac=grad(f)),
    "minimize, value and gradient": lambda f, x: optimize.minimize(value_and_grad(f), x, jac=True),
    "fsolve": lambda f, x: optimize.fsolve(grad(f), x),
    "root": lambda f, x: optimize.root(lambda y: y, x, jac=jacobian(f)),
    "fmin_bfgs": lambda f, x: optimize.fmin_bfgs(lambda y: 1.0, x, fprime=grad(f), disp=0),
}


@pytest.mark.parametrize("caller", CALLERS)
def test_the_line_at_fault_is_advised_not_the_optimizer_that_calls_it(caller):
    def f(x):
        return np.sum(np.exp(np.array([x[0], x[1], 0.0])))

    with pytest.raises(TracerError, match=r"use np\.stack\(\[x\[0\], x\[1\], 0\.0\]\)"):
        CALLERS[caller](f, np.ones(2))
