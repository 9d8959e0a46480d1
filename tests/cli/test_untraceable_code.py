"""Lines that do not trace: which are found, and that what is said to write gives the same."""

from __future__ import annotations

import math
import re
import time

import numpy as np
import pytest

pytest.importorskip("click")

import chainrules_tape
from chainrules_py import TracerError
from chainrules_py.cli import obstacles_in
from chainrules_tape import grad

HEAD = "import cmath\nimport math\nimport numpy as np\n"


def of(body, head=HEAD):
    """Return a program with a function of an array x, whose lines are given."""
    lines = "".join([f"    {line}\n" for line in body.splitlines()])
    return f"{head}def f(x):\n{lines}"


def followed(text):
    """Return a program with all that the doctor says to write, to the letter."""
    lines, imports = text.splitlines(), []
    for found in reversed(obstacles_in(text)):
        write, *after = re.split(r", (?=after|with)", found.write)
        imports += re.findall("after '(.*)'", " ".join(after))
        line, at = lines[found.line - 1], found.column
        assert line[at:].startswith(found.code)
        lines[found.line - 1] = line[:at] + write + line[at + len(found.code) :]
    return "\n".join([*imports, *lines, ""])


def run(text):
    space = {}
    exec(text, space)
    return space["f"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "body",
    [
        "return 3 * float(x[0] + 1)",
        "return 2 * (x[0] + x[1]).item()",
        "return 3 * \\\n    float(x[0] + 1)",
        "return -float(x[0] if x[1] > 0 else 1)",
        "return np.sum(np.mean([x, x**2], axis=0)) + np.mean([x[0], x[1]])",
        "return np.std([x[0], x[1]], ddof=1)",
        "return np.median([x[0], x[1], x[2]])",
        "y = np.ones(3)\nnp.divide(1.0, x, out=y, where=x > 1)\nreturn np.sum(y)",
        "y = np.empty(3)\nnp.sum(np.outer(x, x), axis=0, out=y)\nreturn y @ y",
        "return np.sum(np.exp(x, out=np.empty(3)))",
        "return np.outer(x, x).item(5) * np.outer(x, x).item(0, 1)",
        "y = np.array(x, dtype=float)\ny[0] = 7.0\nreturn np.sum(x * y)",
        "return np.asarray([x[0], x[1]], float) @ x[1:]",
        "return x[0] * math.isclose(x[0], x[1], abs_tol=1.0)",
        "return 2 / math.log(x[2], 3)",
        "return math.hypot(x[0], x[1], x[2]) + math.hypot(*x)",
        "return math.fsum(y**2 for y in x) * math.prod(y for y in x)",
        "return abs(cmath.exp(1j * x[0]) + x[1])",
        "return np.fromiter((y**2 for y in x), dtype=float) @ x",
        "rng = np.random.default_rng(0)\nreturn np.sum(rng.normal(x, 1.0) ** 2)",
        "rng = np.random.default_rng(0)\nreturn rng.normal(loc=x[0]) ** 2",
        "b = np.zeros(2, dtype=complex)\nb[0] = x[0] ** 2\nreturn np.abs(b[0] + 1j)",
        "b = np.zeros(shape=(2, 3))\nb[0][1] = x[0] ** 2\nreturn np.sum(b)",
        "b: np.ndarray = np.eye(2)\nb[0], b[1] = x[0], x[1] ** 2\nreturn np.sum(b)",
        "b = np.full(2, 0.5)\nnp.add.at(b, [0, 0], x[:2] ** 2)\nreturn np.sum(b**2)",
        "b = np.array([0.5, 2.0, 1.0])\nnp.copyto(b, x**2)\nreturn np.sum(b)",
        "b = np.identity(3)\nnp.fill_diagonal(b, x**2)\nreturn np.sum(b)",
        "b = np.empty(2)\nb.fill(x[0] ** 2)\nreturn np.sum(b)",
    ],
)
def test_the_same_is_computed_by_what_is_written_to_the_letter(body):
    text, x = of(body), np.array([0.5, 1.25, 2.0])
    f, g = run(text), run(followed(text))
    assert obstacles_in(text)
    np.testing.assert_allclose(g(x.copy()), f(x.copy()), rtol=1e-14)
    steps = 1e-6 * np.eye(3)
    differences = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(chainrules_tape.grad(g)(x), differences, rtol=1e-6, atol=1e-7)


def test_what_is_written_does_not_change_what_a_caller_passed():
    body = "y = np.array(x, dtype=float)\ny[0] = 7.0\nreturn y"
    x = np.array([0.5, 1.25])
    run(followed(of(body)))(x)
    np.testing.assert_array_equal(x, [0.5, 1.25])


@pytest.mark.parametrize(
    "body",
    [
        "return x[math.floor(x[1])] * sum(x[i] for i in range(math.ceil(x[1])))",
        "m = np.zeros(3, dtype=bool)\nm[0] = x[0] > 0\nreturn np.sum(x[m])",
        "i = np.zeros(2, int)\ni[0] = np.argmax(x)\nreturn np.sum(x[i])",
        "b = np.zeros(3)\nb[0] = 1.0\nreturn b @ x",
        "return math.comb(len(x), 2) * math.sqrt(len(x)) * x[0] / float(x.size)",
        "x.node.value = 3.0\nreturn x.left.value",
        "return x + np.array(2, x.dtype)",
    ],
)
def test_what_traces_is_not_found(body):
    assert not obstacles_in(of(body))


@pytest.mark.parametrize(
    "line, write",
    [
        (
            "np.array(x[f'{y}'], dtype=float)",
            "x[f'{y}'].astype(float), with np.stack(x[f'{y}']) for x[f'{y}'] if it is a list",
        ),
        (
            "np.random.shuffle(x.ravel())",
            "x.ravel()[...] = x.ravel()[np.random.permutation(len(x.ravel()))]",
        ),
    ],
)
def test_a_program_may_have_braces_and_calls_in_what_is_written_anew(line, write):
    (found,) = obstacles_in(of(f"return {line}"))
    assert (found.code, found.write) == (line, write)


@pytest.mark.parametrize(
    "line",
    [
        "math.nextafter(x[0], 2.0, steps=3)",
        "math.dist(*x)",
        "np.array(object=x, dtype=float)",
        "np.fromiter(iter=x, dtype=float)",
        "np.fromiter(x, float, count=2)",
        "np.sin(x, out=(y,))",
        "np.modf(x, out=y)",
    ],
)
def test_what_depends_on_values_is_found_without_a_replacement(line):
    (found,) = obstacles_in(of(f"return {line}"))
    assert (found.code, found.write) == (line, "")


@pytest.mark.parametrize(
    "line, write",
    [
        ("scipy.stats.norm(loc=0, scale=2.0).pdf(x)", "from chainrules_scipy.stats import norm"),
        ("scipy.stats.norm.pdf(x)", "from chainrules_scipy.stats import norm"),
        ("expm(x)", "from chainrules_scipy.linalg import expm"),
        ("so.brentq(f, x[0], 1)", "from chainrules_scipy.optimize import brentq"),
        ("scipy.stats.mstats.trimmed_mean(x)", None),
    ],
)
def test_functions_of_scipy_with_a_counterpart_are_found(line, write):
    pytest.importorskip("scipy")
    head = "import scipy.stats\nimport scipy.optimize as so\nfrom scipy.linalg import expm\n"
    found = obstacles_in(of(f"return {line}", head))
    assert len(found) == (write is not None)
    assert not found or found[0].write.endswith(f"after '{write}'")


def test_names_are_those_of_the_program():
    head = "import numpy\nfrom math import sin as s\n"
    (found,) = obstacles_in(of("return s(numpy.exp(x))", head))
    assert found.write == "np.sin(numpy.exp(x)), after 'import numpy as np'"


def test_a_sum_of_many_terms_is_found():
    terms = " + ".join([f"x[{i}]" for i in range(600)])
    (found,) = obstacles_in(of(f"return float({terms})"))
    assert found.write in ("", f"({terms})")  # as the limit of recursion allows, which others raise


def test_long_programs_are_read():
    assert not obstacles_in(f"def f(x):\n    return {' + '.join(['x[0]'] * 600)}\n")
    start = time.process_time()
    assert len(obstacles_in("def f(x): return math.sin(x)\n" * 4000)) == 4000
    assert time.process_time() - start < 15


TRACES = (
    "x[int(np.argmax(x))]",
    "int(x.sum() // 1) * x[0]",
    "int(np.floor(x.sum())) * x[0]",
    "float(round(x[0])) * x[1]",
    "math.prod(x[:2])",
    "np.sum(np.divide(1.0, x, out=np.zeros_like(x), where=x > 0.5))",
    "np.sum(np.add(x, 1.0, out=x.copy()))",
    "float(np.sum(x > 0.5)) * x[0]",
    "math.log(np.count_nonzero(x)) * x[0]",
    "np.array(np.isnan(x), dtype=float) @ x",
    "float(not x[0]) + x[1]",
    "len(f'{x.argmin():d}') * x[0]",
    "np.mean([np.argmax(x), 3.0]) * x[0]",
)
REFUSED = (
    "int(x[0] / 0.1) * x[1]",
    "float(np.sign(x[0])) * x[0]",
    "x[int(np.clip(x[0] * 2, 0, 2))]",
    "float(np.where(x > 0.5, x, 0.0)[0]) * x[0]",
    "math.fsum(x)",
)


@pytest.mark.parametrize("line", [*TRACES, *REFUSED])
def test_a_line_is_reported_if_running_it_refuses_it(line):
    f = eval(f"lambda x: {line}", {"np": np, "math": math})
    try:
        grad(f)(np.array([0.3, 0.9, 1.2]))
        refused = False
    except TracerError:
        refused = True
    assert refused == bool(obstacles_in(of(f"return {line}"))) == (line in REFUSED)


def test_a_buffer_made_like_another_array_may_be_traced():
    made = "y = np.zeros_like(x)\nnp.sin(x, out=y)\nreturn np.sum(y)"
    assert not obstacles_in(of(made))
    assert obstacles_in(of(made.replace("zeros_like(x)", "zeros(3)")))
