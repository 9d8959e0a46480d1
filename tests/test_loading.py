"""Packages that bring rules: announced by entry point, loaded when their library is seen."""

from __future__ import annotations

import itertools
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

LIBRARY = "class Thing:\n    pass\n\n\ndef double(x):\n    return x\n"
RULES = """
from chainrules_py import LinearMap, primitive, rule
import thinglib

chainrules_contract = {contract}
thinglib.double = primitive(thinglib.double)


@rule(thinglib.double)
def double_rule(x: {annotation}):
    return x, (LinearMap(lambda t: {factor} * t, lambda t: {factor} * t),)
"""


def distribution(folder: Path, name: str, modules: dict[str, str], entry_points: str) -> None:
    """A package as an installer leaves it."""
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


def run(folder: Path, program: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(folder)!r})\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def third_party(
    folder: Path,
    contract: int = 1,
    annotation: str = "float",
    factor: float = 2.0,
    name: str = "thingrules",
) -> None:
    distribution(
        folder,
        name,
        {name: RULES.format(contract=contract, annotation=annotation, factor=factor)},
        f"[chainrules_py.rules]\nthinglib = {name}\n",
    )


def test_rules_for_another_packages_functions_come_when_it_is_seen(tmp_path):
    (tmp_path / "thinglib.py").write_text(LIBRARY)
    third_party(tmp_path)
    out = run(
        tmp_path,
        """
        import chainrules_py as cr, thinglib
        assert "thingrules" not in sys.modules
        print(cr.rules_for(thinglib.double), "thingrules" in sys.modules)
        print(cr.rrule(thinglib.double, 1.0)[1](1.0), cr.rules_for(thinglib.double)[0].layer.name)
        """,
    )
    assert out.splitlines()[-1] == "(2.0,) THIRD_PARTY"


def test_another_contract_is_an_error_that_names_both_numbers(tmp_path):
    (tmp_path / "thinglib.py").write_text(LIBRARY)
    third_party(tmp_path, contract=7)
    out = run(
        tmp_path,
        """
        import chainrules_py as cr, thinglib
        try:
            cr.rrule(thinglib.double, 1.0)
        except cr.ContractError as error:
            print(error)
        """,
    )
    assert "chainrules_contract = 7" in out
    assert "keeps 1" in out


def test_a_package_that_cannot_be_imported_breaks_nobody_and_is_listed(tmp_path):
    (tmp_path / "thinglib.py").write_text(LIBRARY)
    distribution(
        tmp_path,
        "broken",
        {"broken": "raise RuntimeError('planted')\n"},
        "[chainrules_py.rules]\nthinglib = broken\n",
    )
    out = run(
        tmp_path,
        """
        import chainrules_py as cr, numpy as np, thinglib
        print(cr.rrule(np.sin, 0.0)[1](1.0), cr.explain(thinglib.double, 1.0))
        """,
    )
    assert out.startswith("(1.0,)") or "1.0" in out.splitlines()[0]
    assert "broken could not be imported: RuntimeError: planted" in out


ORDERS = list(
    itertools.permutations(["import chainrules_numpy", "import thingrules", "import usercode"])
)


@pytest.mark.parametrize("order", ORDERS, ids=lambda o: "-".join(s.split()[1] for s in o))
def test_the_winner_does_not_depend_on_the_order_of_loading(tmp_path, order):
    """User over third party over backend over core, each with one signature for one word."""
    body = """
from chainrules_py import LinearMap, Numeric, rule
from chainrules_py.vocabulary import cosh
chainrules_contract = 1
@rule(cosh)
def {name}_rule(x: Numeric):
    return cosh(x), (LinearMap(lambda t: {factor} * t, lambda t: {factor} * t),)
"""
    distribution(
        tmp_path,
        "thingrules",
        {"thingrules": body.format(name="third", factor=3.0)},
        "[chainrules_py.rules]\nthinglib = thingrules\n",
    )
    distribution(
        tmp_path,
        "thingbackend",
        {"thingbackend": body.format(name="backend", factor=2.0)},
        "[chainrules_py.backends]\nthinglib2 = thingbackend\n",
    )
    (tmp_path / "usercode.py").write_text(body.format(name="user", factor=4.0))
    for winners, expected in ((order, "4.0"), ([o for o in order if "user" not in o], "3.0")):
        imports = "\n".join(["import thingbackend", *winners])
        for program in (imports, "\n".join(reversed(imports.splitlines()))):
            out = run(
                tmp_path,
                f"import chainrules_py as cr\n{program}\n"
                "from chainrules_py.vocabulary import cosh\n"
                "print(cr.rrule(cosh, 0.5)[1](1.0)[0])",
            )
            assert out == expected


def test_the_backend_beats_the_core_by_layer(tmp_path):
    body = """
from chainrules_py import LinearMap, Numeric, rule
from chainrules_py.vocabulary import cosh
chainrules_contract = 1
@rule(cosh)
def backend_rule(x: Numeric):
    return cosh(x), (LinearMap(lambda t: 2.0 * t, lambda t: 2.0 * t),)
"""
    distribution(
        tmp_path, "b", {"thingbackend": body}, "[chainrules_py.backends]\nthinglib = thingbackend\n"
    )
    out = run(
        tmp_path,
        "import chainrules_py as cr, thingbackend\n"
        "from chainrules_py.vocabulary import cosh\n"
        "print(cr.rrule(cosh, 0.5)[1](1.0)[0])",
    )
    assert out == "2.0"
