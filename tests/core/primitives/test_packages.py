"""Packages of rules that clash, cannot be imported, or were written for another contract.

Each is installed as an outsider would install it: a folder in the path, with its announcement. What
is wrong with one is seen at the call that it would have served, and takes no other rule along.
"""

from __future__ import annotations

import pytest

from tests.core.primitives.test_plugins import distribution
from tests.forks import Forks


def package(folder, name, rules, contract="chainrules_contract = 1\n"):
    """A package whose rules stand in a module of their own, as `new-package` writes it."""
    head = "import scipy.special as sp\nfrom chainrules_py import *\n"
    distribution(folder, name, {}, f"[chainrules_py.rules]\nscipy = {name}\n")
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(f"{contract}from {name} import rules\n")
    (folder / name / "rules.py").write_text(head + rules)


HEAD = """
import warnings
import numpy as np, scipy.special as sp
import chainrules_py as cr
from chainrules_py.errors import PackageWarning
from chainrules_tape import grad

def said(f, *xs):
    "What a gradient is, or its error, and what was warned of."
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            got = float(grad(lambda *xs: f(*xs))(*xs))
        except cr.ChainRulesError as error:
            got = f"{type(error).__name__}: {error}"
    return got, [str(w.message) for w in seen if w.category is PackageWarning]
"""


@pytest.fixture(scope="module")
def forks():
    # Importing them looks at no entry point (tests/house/test_figures.py).
    with Forks("numpy, scipy.special, chainrules_py.errors, chainrules_tape") as forks:
        yield forks


@pytest.fixture
def told(tmp_path, forks):
    """``told(program)``: the lines that a program prints beside the packages of a folder."""

    def told(program):
        path = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        done = forks.run(path + HEAD + program)
        assert done.returncode == 0, done.stdout
        return done.stdout.splitlines()

    return told


def slope(f, number, n=1):
    return f"scalar_rule(sp.{f}, {', '.join([f'lambda y, *xs: {number}'] * n)})\n"


@pytest.mark.parametrize(
    "f, operands",
    [("owens_t", "0.3, 0.7"), ("agm", "1.0, 2.0"), ("voigt_profile", "1.0, 1.0, 1.0")],
)
def test_a_package_may_have_a_rule_for_a_ufunc_and_one_that_is_written_in_operations(
    tmp_path, told, f, operands
):
    n = operands.count(",") + 1
    package(tmp_path, "thirds", slope(f, 77.0, n))
    lines = told(f"print(said(sp.{f}, {operands}), said(sp.erf, 0.0))")
    assert lines == [f"(77.0, []) ({2 / 3.141592653589793**0.5}, [])"]


def test_a_rule_for_a_function_written_in_operations_holds_for_its_types_alone(tmp_path, told):
    state = (
        "@rule(sp.agm)\ndef agm_rule(a: float, b: float):\n    return 0.0, (identity, identity)\n"
    )
    package(tmp_path, "thirds", state)
    program = """
a = np.array([1.0, 3.0])
slope = grad(lambda a: np.sum(sp.agm(a, 2.0)))(a)
h = 1e-6
differences = (sp.agm(a + h, 2) - sp.agm(a - h, 2)) / (2 * h)
print(said(sp.agm, 1.0, 2.0)[0], np.abs(slope - differences).max() < 1e-8)
"""
    assert told(program) == ["1.0 True"]


@pytest.mark.parametrize("names", [("aaa", "zzz"), ("zzz", "aaa")], ids=["", "other way round"])
def test_of_two_packages_with_one_rule_none_wins_by_its_name(tmp_path, told, names):
    """It is an error at the call, and only there; the user decides."""
    for name, number, other in zip(names, (2.0, 3.0), ("erfcx", "dawsn"), strict=True):
        package(tmp_path, name, slope("owens_t", number, 2) + slope(other, number))
    program = """
print(said(sp.erfcx, 1.0), said(sp.dawsn, 1.0))
print(*said(sp.owens_t, 0.3, 0.7), sep="\\n")
print(" ".join(repr(cr.explain(sp.owens_t, 0.3, 0.7)).split()))
cr.scalar_rule(sp.owens_t, *[lambda y, h, a: 5.0] * 2); print(said(sp.owens_t, 0.3, 0.7))
"""
    lines = told(program)
    assert lines[0] == "(2.0, []) (3.0, [])"
    explained = lines[-2]
    for name in names:
        assert f"{name}, at" in explained
        assert (
            f"not (Numeric, Numeric) forward/reverse (third_party) {tmp_path}/{name}" in explained
        )
    assert "frule ambiguous rrule ambiguous" in explained
    assert "state one yourself" in explained
    error = "\n".join(lines[1:-3])
    assert "AmbiguousRuleError: owens_t has derivatives of several packages" in error
    assert all(f"{name}, at" in error and f"{name}/rules.py:3" in error for name in names)
    assert "state one yourself, which comes before theirs" in error
    assert lines[-3] == "[]"
    assert lines[-1] == "(5.0, [])"


def test_of_two_packages_with_primitives_for_one_function_the_second_is_not_loaded(tmp_path, told):
    """The warning names both, and what the second stated above that line is in force."""
    operation = """
from chainrules_py.extend import alias
@primitive
def mean(x1, x2, /):
    return sp.agm(x1, x2)
scalar_rule(mean, lambda y, a, b: {0}, lambda y, a, b: {0})
alias(sp.agm, to=mean)
"""
    package(tmp_path, "aaa", operation.format(2.0))
    package(tmp_path, "zzz", slope("erfcx", 4.0) + operation.format(3.0))
    program = """
print(said(sp.agm, 1.0, 2.0)); print(said(sp.erfcx, 1.0))
"""
    first, second = told(program)
    assert first.startswith("(2.0, ['zzz brings derivatives for scipy")
    assert "RuleError: agm has derivatives of two packages, aaa and zzz; uninstall one" in first
    assert second == "(4.0, [])"


def test_the_warning_shows_the_line_of_the_program(tmp_path, told):
    package(tmp_path, "broken", "import nothing_of_that_name\n")
    (tmp_path / "program.py").write_text(
        "import scipy.special as sp\nfrom chainrules_tape import grad\n\n"
        "def f(x):\n    return sp.dawsn(x)\n\ngrad(f)(1.0)\n"
    )
    program = """
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import program
print(*[(w.filename, w.lineno, w.category.__name__) for w in seen])
"""
    assert told(program) == [str((f"{tmp_path}/program.py", 5, "PackageWarning"))]


def test_a_package_that_cannot_be_imported_is_a_warning_at_the_first_call_it_would_serve(
    tmp_path, told
):
    package(tmp_path, "broken", slope("erfcx", 2.0) + "import nothing_of_that_name\n")
    package(tmp_path, "sound", slope("dawsn", 3.0))
    program = """
print(said(np.sin, 0.0))
print(said(sp.owens_t, 0.3, 0.7)[1])
print(said(sp.erfcx, 1.0), said(sp.dawsn, 1.0))
print(cr.explain(sp.erfcx, 1.0))
"""
    lines = told(program)
    assert lines[0] == "(1.0, [])"
    assert lines[1].startswith(
        '["broken brings derivatives for scipy, and could not be imported: ModuleNotFoundError: '
    )
    assert lines[1].count("import broken to see where, or uninstall it") == 1
    assert lines[2] == "(2.0, []) (3.0, [])"  # what it stated before counts
    assert "   !!   broken could not be imported: ModuleNotFoundError" in "\n".join(lines[3:])


@pytest.mark.parametrize(
    "contract, expected",
    [
        (
            "chainrules_contract = 2\n",
            "states chainrules_contract = 2, and this core keeps 1; in",
        ),
        ("", "states chainrules_contract = None, and this core keeps 1; write chainrules_contract"),
    ],
    ids=["another", "none"],
)
def test_a_package_of_another_contract_is_a_warning_and_none_of_its_rules_counts(
    tmp_path, told, contract, expected
):
    package(tmp_path, "older", slope("owens_t", 2.0, 2), contract)
    package(tmp_path, "sound", slope("dawsn", 3.0))
    program = """
got, seen = said(sp.owens_t, 0.3, 0.7)
print(got == 2.0, seen)
print(said(sp.owens_t, 0.3, 0.7)[1], said(sp.dawsn, 1.0))
import scipy.io
for f in (scipy.io.loadmat, np.busday_count):
    try:
        cr.rrule(f, 1.0)
    except cr.NoRuleError as error:
        print(" ".join(str(error).split()))
"""
    lines = told(program)
    assert lines[0].startswith("False [")
    assert expected in lines[0]
    assert lines[1] == "[] (3.0, [])"
    assert lines[2].startswith("no rule for loadmat(float64) older could not be imported: ")
    assert "older" not in lines[3]


def test_a_package_that_states_nothing_is_judged_by_its_contract(tmp_path, told):
    package(tmp_path, "older", "", "chainrules_contract = 2\n")
    lines = told("print(said(sp.dawsn, 0.0))")
    assert "and could not be imported: ContractError: older states" in lines[0]
    assert lines[0].startswith("(1.0, [")


def test_unregister_takes_what_the_caller_stated(tmp_path, told):
    package(
        tmp_path,
        "thirds",
        slope("owens_t", 2.0, 2) + "def back():\n    return unregister(sp.owens_t)\n",
    )
    program = """
cr.scalar_rule(sp.owens_t, lambda y, h, a: 5.0, lambda y, h, a: 5.0)
print(said(sp.owens_t, 0.3, 0.7)[0], *cr.unregister(sp.owens_t), said(sp.owens_t, 0.3, 0.7)[0])
try:
    cr.unregister(sp.owens_t)
except cr.RuleError as error:
    print(error)
import thirds.rules
print(*thirds.rules.back(), said(sp.owens_t, 0.0, 0.7)[0] == 2.0)
"""
    lines = told(program)
    assert lines[0].startswith("5.0 <rule owens_t(Numeric, Numeric) forward/reverse at <string>:")
    assert lines[0].endswith("> 2.0")
    assert lines[1].startswith("nothing is stated about owens_t here; rules_for(owens_t) lists")
    assert "thirds/rules.py:3> False" in lines[2]
