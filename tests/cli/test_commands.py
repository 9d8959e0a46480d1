"""The command ``chainrules``: what each of its operations prints, and its exit status."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import subprocess
import sys
import types
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

import chainrules_tape
from chainrules_py import ChainRulesError, ignore_derivatives
from chainrules_py.cli import (
    OBSTACLES,
    doctor,
    main,
    migrated,
    obstacles_in,
    show_versions,
    templates,
)
from chainrules_py.cli.function_and_operands import function_in
from chainrules_py.testing import RuleCheckError
from chainrules_py.testing.report.report import Finding, Report
from chainrules_py.testing.samples.sample import ENTERED

SCRIPT = """\
import numpy as np

def loss(x, y):
    return np.sum(np.sin(x) * y)
"""


RULES = """\
from chainrules_py import primitive, scalar_rule

@primitive
def tripled(x):
    return 3.0 * x

scalar_rule(tripled, lambda y, x: 3.0)
"""


@pytest.fixture
def said(capsys, monkeypatch, tmp_path):
    """Run the command in an empty folder; give its exit status and what it printed."""
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(SCRIPT, encoding="utf-8")

    def run(*operations):
        status = main([*operations])
        out = capsys.readouterr()
        return status, out.out + out.err

    return run


def test_what_there_is(said):
    status, text = said("--help")
    assert status == 0
    operations = "explain rules coverage check new-rule new-package doctor graph compile migrate"
    for operation in [*operations.split(), "versions"]:
        assert operation in text
        assert said(operation, "--help")[0] == 0


def test_explain(said):
    status, text = said("explain", "numpy.matmul")
    assert status == 0
    assert "forward/reverse" in text
    status, text = said("explain", "numpy.matmul", "float64[2,2]", "float64[2]")
    assert status == 0
    assert "is the operation matmul" in text
    assert "rrule  " in text
    status, text = said("explain", "script.py:loss")
    assert status == 1
    assert "new-rule" in text


@pytest.mark.parametrize(
    "name, made",
    [
        ("numpy.linalg.norm", "vector_norm"),
        ("numpy.clip", "clip"),
        ("numpy.cross", "multiply"),
        ("numpy.kron", "multiply"),
        ("numpy.interp", "interp"),
        ("numpy.linspace", "linspace"),
        ("scipy.integrate.quad", "quad"),
    ],
)
def test_explain_says_that_a_composite_is_differentiable(said, name, made):
    pytest.importorskip(name.partition(".")[0])
    status, text = said("explain", name)
    assert status == 0
    assert f"{name} is differentiable: a composite of " in text
    assert made in text


@pytest.mark.parametrize(
    "name, write",
    [
        ("normal", "loc + scale * rng.standard_normal(size)"),
        ("poisson", "logarithm"),
        ("bytes", ""),
    ],
)
def test_explain_says_how_a_draw_is_differentiated(said, name, write):
    status, text = said("explain", f"numpy.random.{name}")
    assert status == 1
    assert "draws are constants" in text
    assert write in text
    assert "new-rule" not in text


def test_a_script_is_given_by_its_path(said):
    assert "= sin(v0)" in said("graph", "script.py", "np.ones(2)", "np.ones(2)")[1]
    assert "sin(x)" in said("compile", "script.py", "np.ones(2)", "np.ones(2)")[1]
    Path("rules.py").write_text(RULES, encoding="utf-8")
    status, text = said("check", "rules.py")
    assert status == 1
    assert "tripled has a rule" in text
    assert "no sample" in text
    status, text = said("check", "rules.py:tripled", "float64[3]")
    assert status == 0
    assert "tripled(float64[3]): passed" in text
    Path("two.py").write_text(f"{SCRIPT}\n\ndef other(x):\n    return x\n", encoding="utf-8")
    status, text = said("graph", "two.py", "1.0")
    assert status == 1
    assert "(loss, other); write two.py:function" in text


def test_a_compiled_gradient_says_what_it_gives(said):
    text = said("compile", "script.py:loss", "1.0", "2.0", "--gradient")[1]
    assert "value_and_gradient_of_loss" in text


@pytest.mark.parametrize(
    "given, words",
    [
        (("graph", "script.py:loss"), "is given no operands; write a shape for each, float64[3,2]"),
        (("graph", "script.py:lost", "1.0"), "script.py has no 'lost'; did you mean 'loss'?"),
        (("compile", "script.py:loss", "float[3]"), "write a shape, float64[3,2]"),
        (("explain", "numpy.matmul", "float64[2,2]"), "takes (x1, x2), and x2 is missing; write a"),
        (("check", "script.py:loss"), "has no rule to check; `chainrules new-rule loss` starts"),
        (("explain", "numpy.sin", "-1.0"), "No such option '-1'; write -- before an operand"),
        (("grad", "script.py:loss", "1.0"), "No such command 'grad'. Did you mean 'graph'?"),
    ],
)
def test_what_is_wrong_with_a_command_is_one_line(said, given, words):
    status, text = said(*given)
    assert status in (1, 2)
    assert words in text
    assert text.startswith("Error: ")
    assert len(text.splitlines()) == 1


NAMED = """\
from __future__ import annotations
import dataclasses

@dataclasses.dataclass
class Line:
    slope: float

    def at(self, x):
        return self.slope * x

square = lambda x: x * x
"""


def test_a_script_may_have_dataclasses_and_notes_of_types(said):
    Path("named.py").write_text(NAMED, encoding="utf-8")
    status, text = said("compile", "named.py:square", "3.0")
    assert status == 0
    assert "x * x" in text
    for name, new in (("Line.at", "at"), ("square", "f")):
        assert f"`chainrules new-rule {new}` starts one" in said("explain", f"named.py:{name}")[1]
        assert said("new-rule", new)[0] == 0


@pytest.mark.parametrize("code", ["0", "'usage: ...'", ""])
@pytest.mark.parametrize("given", [("check", "left.py"), ("graph", "stops.py:f", "1.0")])
def test_a_program_that_exits_is_no_success(said, given, code):
    Path("left.py").write_text(f"def f(x): ...\nraise SystemExit({code})\n", encoding="utf-8")
    Path("stops.py").write_text(f"def f(x):\n    raise SystemExit({code})\n", encoding="utf-8")
    status, text = said(*given)
    assert status == 1
    assert "raises SystemExit at" in text
    assert "left" not in sys.modules


def test_np_is_numpy(said):
    assert "is differentiable: a composite" in said("explain", "np.linalg.norm")[1]
    assert "is differentiable: a composite" in said("explain", "np.linalg.norm", "float64[2]")[1]


def test_an_error_of_ours_says_the_line_of_the_program(said):
    Path("lossy.py").write_text(
        "import math\n\ndef loss(x):\n    return math.sin(x)\n", encoding="utf-8"
    )
    status, text = said("graph", "lossy.py:loss", "np.float64(1.0)")
    assert status == 1
    assert "lossy.py:4: math.sin(x)\n  use np.sin(x)" in text


@pytest.mark.parametrize(
    "operations, message",
    [
        (("explain", "numpy.sinn"), "numpy has no 'sinn'; did you mean 'sin'?"),
        (("explain", "nomodule.f"), "no module 'nomodule' can be imported; install it"),
        (("graph", "nofile.py:f", "1.0"), "there is no file 'nofile.py'; write path/to/script.py"),
        (("graph", "script.py:g", "1.0"), "script.py has no 'g'; write script.py:function"),
        (("graph", "numpy.sin", "1.0", "-o", "a.png"), "a graph is written as .svg, or as text"),
        (
            ("graph", "numpy.sin", "1.0", "-o", "no/a.svg"),
            "there is no folder 'no' for -o no/a.svg",
        ),
        (("new-rule", "f", "a", "--kind", "bilinear"), "name two"),
        (("new-rule", "f", "x", "y"), "y is the value there"),
        (("new-rule", "f", "x", "y", "--kind", "scalar"), "y is the value there: name"),
        (("new-rule", "f", "y_bar", "--kind", "linear"), "y_bar is the cotangent of the result"),
        (("new-rule", "f", "x", "x_dot"), "x_dot is the tangent of x there"),
        (("new-rule", "f", "x", "x"), "x is used twice"),
        (("new-rule", "f", "lambda"), "lambda is no name in Python"),
        (("new-rule", "class", "x"), "class is no name in Python"),
        (("new-rule", "f", "v"), "v is used twice"),
        (("new-rule", "rule", "x"), "rule is used by the text itself"),
        (("new-rule", "primitive", "x"), "primitive is used by the text itself"),
    ],
)
def test_mistakes_are_told_with_what_to_write(said, operations, message):
    status, text = said(*operations)
    assert status == 1
    assert message in text
    assert "Traceback" not in text


BAD_NAMES = (
    "my-rules", "1bad", "class", "a b", "", "numpy", "json", "tests", "../up", "a/b", "a.b", "_a",
    "a_", "é", "/a/b", "none\n",
)  # fmt: skip
TEXTS = (
    "float64[3",
    "foo(1)",
    "float7[3]",
    "1 +",
    "",
    "1/0",
    "np.nothing",
    "float64[9000000000000]",
)
PLACES = (
    "script.py:nothing", "script.py:number", "script.py:", "broken.py:f", "binary.py:f",
    "needs.py:f", "raises.py:f", "text.txt:f", ".:f", ":f", "numpy", "numpy.pi", "numpy.", "", "..",
    "needs.f", "operator.add", "builtins.int",
)  # fmt: skip
MODULES = ("math", "broken", "binary", "needs", "raises", "", "..", "numpy.pi", "numpy:sin")
FILES = ("binary.py", ".", "nofile.py", "")
COMMANDS = {
    "operand": [
        *[(c, "numpy.sin", x) for c in ("graph", "compile", "explain") for x in TEXTS],
        *[("compile", "numpy.sin", x, "--gradient") for x in TEXTS[:2]],
        *[("graph", "numpy.add", "1.0", x) for x in TEXTS[:2]],
    ],
    "function": [
        *[(c, place, "np.ones(3)") for c in ("graph", "compile") for place in PLACES],
        *[("explain", place) for place in PLACES[:-2]],
        *[("graph", "numpy.sin", x) for x in ("'a'", "None", "object()")],
        ("graph", "script.py:loss", "1.0"),
        ("compile", "script.py:loss", "np.ones(2)", "np.ones(3)"),
    ],
    "module": [
        *[("check", module) for module in MODULES],
        *[("rules", module) for module in MODULES if module not in ("math", "numpy.pi")],
        ("check", "numpy.sin", "--backend", "fortran"),
        ("check", "script"),
    ],
    "file": [
        *[(c, file) for c in ("doctor", "migrate") for file in FILES],
        ("graph", "numpy.sin", "1.0", "-o", "nowhere/a.svg"),
        ("graph", "numpy.sin", "1.0", "-o", "."),
        ("compile", "numpy.sin", "1.0", "--save", "nowhere/a.py"),
    ],
    "name": [
        *[("new-rule", "f", x) for x in TEXTS],
        *[("new-package", name, "--about", "numpy") for name in BAD_NAMES],
        *[("new-package", "myrules", "--about", x) for x in ("a b", "", "class", "scipy.linalg")],
    ],
}


@pytest.mark.parametrize("bad", COMMANDS)
def test_no_command_answers_with_a_traceback(said, bad):
    texts = {
        "broken.py": b"def f(:\n", "binary.py": b"\xff\xfe\x00", "text.txt": b"f",
        "needs.py": b"import nothing_of_that_name\n", "raises.py": b"1 / 0\n",
    }  # fmt: skip
    for name, text in texts.items():
        Path(name).write_bytes(text)
    Path("script.py").write_text(f"{SCRIPT}\nnumber = 3\n", encoding="utf-8")
    kept = sorted(Path().iterdir())
    for operations in COMMANDS[bad]:
        status, text = said(*operations)  # what it raises would be the traceback
        assert status == (2 if bad == "operand" else status or 3), operations
        assert "rror: " in text, operations
    assert [p for p in sorted(Path().iterdir()) if p.name != "__pycache__"] == kept


def test_what_is_wrong_is_told_where_it_stands(said):
    Path("raises.py").write_text("def f(x):\n    return x.nothing\n", encoding="utf-8")
    text = said("compile", "raises.py:f", "1.0")[1]
    assert "raises.py:f raises AttributeError at raises.py:2: " in text.replace(
        f"{Path.cwd()}/", ""
    )
    text = said("graph", "numpy.sin", "float64[3")[1]
    assert "write a shape, float64[3,2], or an expression with np, 'np.ones(3)'" in text


def test_a_single_operation_is_judged_too(said):
    status, text = said("check", "chainrules_py.ops.sin")
    assert status == 0
    assert "1 x" in text
    assert " 0 failed" in text


def test_rules_and_coverage(said):
    status, text = said("rules", "chainrules_py.rules.polynomials")
    assert status == 0
    assert "polyval" in text
    assert text.rstrip().endswith("rules")
    found = json.loads(said("rules", "chainrules_py.rules.polynomials", "--json")[1])
    assert {"polyval", "roots"} <= {rule["function"] for rule in found}
    assert json.loads(said("coverage", "--json")[1])["sin"] == ["forward", "reverse"]


def test_check(said):
    status, text = said("check", "chainrules_py.rules.interpolation")
    assert status == 0
    assert "0 failed" in text


def test_check_of_a_wrong_rule(said):
    Path("wrongrules.py").write_text(
        "import numpy as np\n"
        "from chainrules_py import primitive, scalar_rule\n"
        "from chainrules_py.testing import Sample, enter_samples\n"
        "@primitive\n"
        "def tripled(x):\n"
        "    return 3.0 * x\n"
        "scalar_rule(tripled, lambda y, x: 2.0)\n"
        "enter_samples(tripled, Sample(np.ones(2)))\n",
        encoding="utf-8",
    )
    from chainrules_py import testing

    if not hasattr(testing, "enter_samples"):
        pytest.skip("samples are entered otherwise")
    sys.path.insert(0, "")
    try:
        status, text = said("check", "wrongrules")
    finally:
        sys.path.remove("")
        ENTERED.pop(sys.modules.pop("wrongrules").tripled)  # which the tests of all samples find
    assert status == 1
    assert "wrong" in text


@pytest.mark.parametrize("kind", templates.KINDS)
def test_a_new_rule_is_a_program_with_gaps(kind):
    operands = ("a", "b") if kind in ("bilinear", "rule") else ("a",)
    text = templates.new_rule("double", operands, kind)
    ast.parse(text)
    body = {"bilinear": "a * b", "rule": "a * b"}.get(kind, "a + a")
    body = "np.sign(a)" if kind == "constant" else body
    filled = text.replace("return ...", f"return {body}", 1)
    gaps = {
        "scalar": ["2.0"],
        "linear": ["2.0 * y_bar"],
        "bilinear": ["y_bar * v.conj(b)", "v.conj(a) * y_bar"],
        "rule": ["a_dot * b", "y_bar * v.conj(b)", "a * b_dot", "v.conj(a) * y_bar"],
        "constant": [],
    }[kind]
    for gap in gaps:
        filled = filled.replace(": ...,", f": {gap},", 1)
    assert "..." not in filled.replace("dy = ...;", "")
    module = types.ModuleType("filled")
    sys.modules["filled"] = module
    try:
        exec(compile(filled, "filled.py", "exec"), vars(module))
        module.test_double()
    finally:
        del sys.modules["filled"]


def test_doctor_reads_a_script_and_runs_nothing(said):
    Path("lossy.py").write_text(
        "import math\nimport numpy as np\nfrom scipy.integrate import quad\n"
        "raise SystemExit('it was run')\n"
        "def loss(x):\n"
        "    b = np.zeros(3)\n"
        "    b[0] = x\n"
        "    return math.sin(b[0]) + quad(lambda t: t * x, 0, 1)[0]\n",
        encoding="utf-8",
    )
    status, text = said("doctor", "lossy.py")
    assert status == 1
    assert "lossy.py:6:9: np.zeros(3)" in text
    assert "write np.zeros_like(x, shape=3)" in text
    assert "write np.sin(b[0])" in text
    assert "from chainrules_scipy.integrate import quad" in text
    assert said("doctor", "script.py")[0] == 0
    found = json.loads(said("doctor", "lossy.py", "--json")[1])
    assert [f["line"] for f in found] == [6, 8, 8]


def program(body):
    space = {"np": np, "math": __import__("math"), "ignore_derivatives": ignore_derivatives}
    text = f"def f(x):\n    {body}\n"
    exec(text, space)
    return text, space["f"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("obstacle", OBSTACLES, ids=[o.name for o in OBSTACLES])
def test_what_the_doctor_finds_is_refused_and_what_it_says_traces(obstacle):
    if obstacle.name == "scipy":
        pytest.importorskip("scipy")
    x = np.array([0.3, 0.7])
    before, f = program(obstacle.before)
    assert [o.obstacle for o in obstacles_in(before)] == [obstacle.name]
    with pytest.raises(ChainRulesError):
        chainrules_tape.grad(f)(x)
    after, g = program(obstacle.after)
    assert not obstacles_in(after)
    slope = chainrules_tape.grad(g)(x)
    if obstacle.name != "random":
        h = 1e-6
        differences = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(2)]
        np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_the_installation_is_looked_at(said):
    status, text = said("doctor", "--json")
    assert status == 0
    rows = json.loads(text)["packages"]
    for _, name, _, state in rows:
        assert state in ("works", "is imported") or name in state or "does not run here" in state
    assert {name for _, name, _, state in rows if state == "works"} >= {"numpy", "tape"}


@pytest.mark.parametrize(
    "verdict, state",
    [
        ("passed", "works"),
        ("failed", "broken: AttributeError: no such table"),
        ("skipped", "does not run here: AttributeError: no such table"),
        (None, "is imported"),
    ],
)
def test_the_doctor_says_works_of_what_gave_a_gradient(said, monkeypatch, verdict, state):
    tape = importlib.metadata.EntryPoint("tape", "chainrules_tape", "chainrules_py.engines")
    found = {"chainrules_py.engines": [tape]}

    def judged(f, x, only):
        if verdict is None:
            raise ValueError(only)
        cell = Finding(only, verdict, "AttributeError: no such table\nagain: ...")
        report = Report("norm", "", 0, findings=[cell])
        if verdict == "failed":
            raise RuleCheckError(report)
        return report

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found.get(group, []))
    monkeypatch.setattr(doctor, "check_everywhere", judged)
    status, text = said("doctor", "--json")
    assert json.loads(text)["packages"][0][3] == state
    assert status == int(state.startswith("broken"))


@pytest.mark.parametrize(
    "kind, name", [("engines", "tape"), ("backends", "numpy"), ("exporters", "autograd")]
)
def test_trials(kind, name):
    pytest.importorskip({"tape": "numpy"}.get(name, name))
    assert doctor.tried(kind, name) == "works"


def test_graph(said):
    status, text = said("graph", "script.py:loss", "float64[2]", "np.ones(2)", "-o", "loss.svg")
    assert status == 0
    assert "loss.svg" in text
    assert "sin" in Path("loss.svg").read_text(encoding="utf-8")
    ET.parse("loss.svg")
    assert "sin" in said("graph", "script.py:loss", "float64[2]", "np.ones(2)")[1]


def test_compile(said):
    operations = ("compile", "script.py:loss", "float64[2]", "np.ones(2)", "--gradient")
    status, text = said(*operations)
    assert status == 0
    assert "cos" in text
    assert said(*operations, "--save", "saved.py")[0] == 0
    loss = function_in("script.py:loss")
    y, slope = function_in("saved.py:value_and_gradient_of_loss")(np.array([0.3, 0.7]), np.ones(2))
    assert y == loss(np.array([0.3, 0.7]), np.ones(2))
    np.testing.assert_allclose(slope, np.cos([0.3, 0.7]))


def test_versions(said, capsys):
    status, text = said("versions")
    assert status == 0
    assert np.__version__ in text
    show_versions()
    assert "python" in capsys.readouterr().out
    assert json.loads(said("versions", "--json")[1])["numpy"] == np.__version__


def test_it_is_a_module_too():
    root = str(Path(chainrules_tape.__file__).resolve().parents[2])
    paths = os.pathsep.join([root, os.path.join(root, "backends")])
    command = [sys.executable, "-m", "chainrules_py", "versions"]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "numpy" in done.stdout


# ----------------------------------------------------------------------------------- migrating

OLD = """\
# comments, é and spaces stay
import autograd.numpy   as np, os
import autograd
from autograd import (grad,   # both
    value_and_grad)
import autograd.numpy.random as npr ; from autograd.scipy.special import logsumexp
from autograd.extend import primitive
name = "autograd.numpy"

def f(x):
    from autograd.misc.optimizers import adam
    return autograd.elementwise_grad(np.tanh)(x)
"""


def test_only_imports_change():
    moved = migrated(OLD)
    expected = OLD.replace("import autograd.numpy", "import chainrules_autograd.numpy")
    expected = expected.replace("from autograd", "from chainrules_autograd")
    expected = expected.replace("import autograd\n", "import chainrules_autograd as autograd\n")
    assert moved.text == expected
    assert moved.notes == ()
    space = {}
    exec(moved.text, space)
    np.testing.assert_allclose(space["f"](0.5), 1 - np.tanh(0.5) ** 2)


def test_what_has_no_counterpart_is_told():
    moved = migrated("from autograd.numpy.numpy_jvps import f\nimport autograd.misc\n")
    assert moved.notes[0].startswith("line 1: autograd.numpy.numpy_jvps has no counterpart")
    assert moved.notes[1].startswith("line 2: what is called autograd.… after")
    assert migrated("import autograd_gamma\n").text == "import autograd_gamma\n"
    for inner in ("core", "tracer"):
        moved = migrated(f"from autograd.{inner} import primitive\n")
        assert moved.text == "from chainrules_autograd.extend import primitive\n"
        assert not moved.notes


def test_migrate_says_that_nothing_changes(said):
    assert said("migrate", "script.py") == (0, "script.py: nothing changes\n")


def test_migrate_shows_and_writes(said):
    Path("old.py").write_bytes(OLD.replace("\n", "\r\n").encode())
    status, text = said("migrate", "old.py")
    assert status == 0
    assert "+from chainrules_autograd.extend import primitive" in text
    assert Path("old.py").read_bytes() == OLD.replace("\n", "\r\n").encode()
    assert said("migrate", "--write", "old.py")[0] == 0
    new = Path("old.py").read_bytes().decode()
    assert "import chainrules_autograd as autograd\r\n" in new
    assert new == migrated(OLD).text.replace("\n", "\r\n")


def test_what_is_no_python_is_told(said):
    Path("broken.py").write_text("def f(:\n", encoding="utf-8")
    for operation in ("migrate", "doctor"):
        status, text = said(operation, "broken.py")
        assert status == 1
        assert "broken.py:1: " in text


def test_without_what_it_is_drawn_with(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["versions"]) == 2
    assert "pip install 'chainrules-py[cli]'" in capsys.readouterr().err


@pytest.mark.parametrize("end", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028"])
def test_what_ends_no_line_of_python_does_not_move_the_rest(end):
    head = "\f" if end == "\f" else "pass"  # the others are no spaces of Python
    lines = [head, f's = "{end}"', "import {}.numpy as np", "s = s; from {} import grad", ""]
    for line_end in ("\n", "\r\n", "\r"):
        text = line_end.join(lines)
        expected = text.replace("{}", "chainrules_autograd")
        assert migrated(text.replace("{}", "autograd")).text == expected


@pytest.mark.parametrize(
    "old, new",
    [
        ("from autograd . numpy import sin", "from chainrules_autograd.numpy import sin"),
        ("from \\\n autograd.numpy import sin", "from \\\n chainrules_autograd.numpy import sin"),
        ("import autograd . numpy as np", "import chainrules_autograd.numpy as np"),
        ("import autograd\n.5", "import chainrules_autograd as autograd\n.5"),
    ],
)
def test_names_of_modules_may_have_spaces_in_them(old, new):
    assert migrated(old).text == new


def test_names_that_a_star_imports_are_to_be_imported_one_by_one():
    note = "line 1: import the names of autograd.scipy.special one by one"
    assert migrated("from autograd.scipy.special import *\n").notes == (note,)


def test_files_that_cannot_be_read_do_not_keep_others_from_it(said):
    texts = {
        "a.py": "import autograd as a\n",
        "b.py": "print 1\n",
        "c.py": "import autograd as a\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    status, text = said("migrate", "--write", *texts)
    assert status == 1
    assert "Error: b.py:1: " in text
    for name in ("a.py", "c.py"):
        assert Path(name).read_text(encoding="utf-8") == "import chainrules_autograd as a\n"


def test_the_mark_of_an_encoding_stays(said):
    mark = b"\xef\xbb\xbf"
    Path("old.py").write_bytes(mark + b"import autograd as a\nf = lambda x: float(x)\n")
    assert "old.py:2:15: float(x)" in said("doctor", "old.py")[1]
    assert said("migrate", "--write", "old.py")[0] == 0
    assert Path("old.py").read_bytes().startswith(mark + b"import chainrules_autograd as a\n")


@pytest.mark.parametrize("command", ["doctor", "migrate"])
def test_notebooks_are_no_scripts(said, command):
    Path("book.ipynb").write_text('{"cells": []}', encoding="utf-8")
    status, text = said(command, "book.ipynb")
    assert status == 1
    assert "`jupyter nbconvert --to script book.ipynb`" in text


def test_names_without_a_counterpart_are_noted():
    text = (
        "from autograd.core import VJPNode, vspace\n"
        "from autograd.extend import primitive, SparseObject\n"
        "from autograd import numpy as np, grad\n"
        "from autograd.numpy.linalg import norm\n"
    )
    assert migrated(text).notes == (
        "line 1: VJPNode of autograd.core has no counterpart",
        "line 2: SparseObject of autograd.extend has no counterpart",
    )
