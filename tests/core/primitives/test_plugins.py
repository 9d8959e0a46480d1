"""Packages that bring rules: announced by entry point, loaded when their library is seen."""

from __future__ import annotations

import importlib.metadata
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from chainrules_py.primitives import plugins
from tests.forks import Forks

LIBRARY = "class Thing:\n    pass\n\n\ndef double(x):\n    return x\n"
RULES = """
from chainrules_py import LinearMap, primitive, rule
import thinglib

chainrules_contract = 1
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


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    # Importing it looks at no entry point (tests/house/test_figures.py).
    with Forks("chainrules_py.ops") as forks:
        yield forks


@pytest.fixture
def run(tmp_path: Path, forks: Forks) -> Callable[[str], str]:
    """``run(program)``: what a program prints beside the packages of a folder."""

    def run(program: str) -> str:
        path = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\n"
        done = forks.run(path + textwrap.dedent(program))
        assert done.returncode == 0, done.stdout
        return done.stdout.strip()

    return run


def third_party(
    folder: Path,
    annotation: str = "float",
    factor: float = 2.0,
    name: str = "thingrules",
) -> None:
    distribution(
        folder,
        name,
        {name: RULES.format(annotation=annotation, factor=factor)},
        f"[chainrules_py.rules]\nthinglib = {name}\n",
    )


def test_rules_for_another_packages_functions_come_when_it_is_seen(tmp_path, run):
    (tmp_path / "thinglib.py").write_text(LIBRARY)
    third_party(tmp_path)
    out = run(
        """
        import chainrules_py as cr, thinglib
        assert "thingrules" not in sys.modules
        print(cr.rules_for(thinglib.double), "thingrules" in sys.modules)
        print(cr.rrule(thinglib.double, 1.0)[1](1.0), cr.rules_for(thinglib.double)[0].layer.name)
        """,
    )
    assert out.splitlines()[-1] == "(2.0,) THIRD_PARTY"


ORDERS = list(
    itertools.permutations(["import chainrules_numpy", "import thingrules", "import usercode"])
)


@pytest.mark.parametrize(
    "order",
    [  # of each that comes first one order at once, in turn: each is the second and the last, too
        pytest.param(
            order,
            id="-".join(line.split()[1] for line in order),
            marks=() if i in (0, 3, 4) else pytest.mark.slow,
        )
        for i, order in enumerate(ORDERS)
    ],
)
def test_the_winner_does_not_depend_on_the_order_of_loading(tmp_path, order, run):
    """User over third party over backend over core, each with one signature for one operation."""
    body = """
from chainrules_py import LinearMap, Numeric, rule
from chainrules_py.ops import cosh
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
                f"import chainrules_py as cr\n{program}\n"
                "from chainrules_py.ops import cosh\n"
                "print(cr.rrule(cosh, 0.5)[1](1.0)[0])",
            )
            assert out == expected


def test_the_backend_beats_the_core_by_layer(tmp_path, run):
    body = """
from chainrules_py import LinearMap, Numeric, rule
from chainrules_py.ops import cosh
chainrules_contract = 1
@rule(cosh)
def backend_rule(x: Numeric):
    return cosh(x), (LinearMap(lambda t: 2.0 * t, lambda t: 2.0 * t),)
"""
    distribution(
        tmp_path, "b", {"thingbackend": body}, "[chainrules_py.backends]\nthinglib = thingbackend\n"
    )
    out = run(
        "import chainrules_py as cr, thingbackend\n"
        "from chainrules_py.ops import cosh\n"
        "print(cr.rrule(cosh, 0.5)[1](1.0)[0])",
    )
    assert out == "2.0"


# ------------------------------------------------------------------------- what is imported late


def test_files_with_rules_come_when_one_of_their_operations_is_looked_up(run):
    out = run(
        """
        import chainrules_py as cr
        from chainrules_py import ops as v

        def files():
            names = [m for m in sys.modules if m.startswith("chainrules_py.rules.")]
            return sorted(m.rpartition(".")[2] for m in names)

        print(files(), len(cr.rules_for(v.erf)), "special" in files(), "svd" in files())
        print("slogdet" in cr.coverage(), "svd" in files())
        """,
    )
    assert out.splitlines() == ["[] 1 True False", "True True"]


@pytest.mark.parametrize("first", ["", "cr.rrule(v.erf, 0.5)"], ids=["before", "after"])
def test_rules_of_users_keep_their_precedence(first, run):
    """Whether the core's rule of the operation was there when they were stated, or came after."""
    out = run(
        f"""
        import chainrules_py as cr, chainrules_scipy
        from chainrules_py import ops as v
        {first}
        @cr.rule(v.erf)
        def mine(x: cr.Numeric):
            return v.erf(x), (cr.LinearMap(lambda t: 7.0 * t, lambda t: 7.0 * t),)

        print(cr.rrule(v.erf, 0.5)[1](1.0)[0], len(cr.rules_for(v.erf)))
        text = repr(cr.explain(v.erf, 0.5))
        print("(user)" in text, "gamma_and_erf.py" in text)
        """,
    )
    assert out.splitlines() == ["7.0 2", "True True"]


def test_threads_that_look_up_at_once_all_find_what_comes_late(run):
    out = run(
        """
        import threading
        import numpy as np, chainrules_numpy
        from chainrules_py import ops as v
        from chainrules_py.extend import aliases, find_rule

        operations = [v.svd, v.det, v.erf, np.fft.fft, np.linalg.qr, np.median, v.svd] * 2
        gate, found = threading.Barrier(len(operations)), []

        def ask(f):
            gate.wait()
            known = find_rule(f, (np.ndarray,)) or f in aliases
            found.append(known and v.sum(np.ones(3)) == 3 and v.diagonal(np.eye(3)).sum() == 3)

        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=ask, args=(f,)) for f in operations]
        [t.start() for t in threads]; [t.join(60) for t in threads]
        print(len(found) == len(operations), all(found), any(t.is_alive() for t in threads))
        """,
    )
    assert out == "True True False"


def test_a_file_that_cannot_be_imported_is_tried_again(tmp_path, run):
    (tmp_path / "latefile.py").write_text(
        "import flag\nfrom chainrules_py import scalar_rule\nfrom operations import f\n"
        "scalar_rule(f, lambda y, x: 2.0)\nassert flag.up, 'not yet'\n"
    )
    (tmp_path / "flag.py").write_text("up = False\n")
    (tmp_path / "operations.py").write_text(
        "from chainrules_py import primitive\n@primitive\ndef f(x):\n    return 2.0 * x\n"
    )
    out = run(
        """
        import chainrules_py as cr, flag
        from chainrules_py.primitives.plugins import later
        from operations import f
        later("latefile", "operations")
        try:
            cr.rrule(f, 1.0)
        except AssertionError as error:
            print(error)
        flag.up = True
        print(cr.rrule(f, 1.0)[1](1.0), len(cr.rules_for(f)))
        """,
    )
    assert out.splitlines() == ["not yet", "(2.0,) 1"]


@pytest.mark.parametrize("error", [MemoryError, RecursionError, TimeoutError])
def test_an_error_of_the_process_is_no_failure_of_a_module(tmp_path, monkeypatch, error):
    name = f"meets_{error.__name__}"
    (tmp_path / f"{name}.py").write_text(
        f"import sys\nsys.met = getattr(sys, 'met', 0) + 1\n"
        f"if sys.met == 1:\n    raise {error.__name__}\nchainrules_contract = 1\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "met", 0, raising=False)
    with pytest.raises(error):
        plugins.load(name)
    assert name not in plugins.failures
    assert plugins.load(name).__name__ == name


def test_announcements_in_folders_are_those_of_the_standard_library(monkeypatch, tmp_path):
    usual = [f for f in sys.meta_path if not hasattr(f, "find_distributions") or f is PathFinder]
    monkeypatch.setattr(sys, "meta_path", usual)
    find = importlib.metadata.MetadataPathFinder.find_distributions
    monkeypatch.setattr(PathFinder, "find_distributions", find, raising=False)  # a backport deletes
    here = plugins._in_folders.__wrapped__()
    for group in (plugins.BACKENDS, plugins.ENGINES, plugins.RULES, plugins.OPERATIONS):
        found = importlib.metadata.entry_points(group=group)
        expected = {(e.name, e.value.partition(":")[0]) for e in found}
        assert set(here.get(group, ())) == expected
    info = tmp_path / "another-1.0.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(
        "# ours\n[chainrules_py.rules]\nnp = another.rules : f\n\n[console_scripts]\na = b:c\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    found = plugins._in_folders.__wrapped__()
    assert ("np", "another.rules") in found[plugins.RULES]
    assert found[plugins.ENGINES] == here[plugins.ENGINES]


@pytest.mark.parametrize("how", ["a finder of its own", "a zip file"])
def test_packages_that_are_found_in_another_way_are_left_to_the_standard_library(
    monkeypatch, tmp_path, how
):
    if how == "a zip file":
        (tmp_path / "packages.zip").write_bytes(b"")
        monkeypatch.syspath_prepend(tmp_path / "packages.zip")
    else:
        finder = type("Finder", (), {"find_distributions": staticmethod(lambda *_: [])})
        monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    assert plugins._in_folders.__wrapped__() == {}
