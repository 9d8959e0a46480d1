"""The engine door: one list of names, resolved when they are asked for, the same for checkers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from chainrules_py import __all__ as face
from chainrules_py import extend

STUB = Path(extend.__file__).with_suffix(".pyi")


def test_importing_it_imports_nothing():
    code = (
        "import sys, chainrules_py\n"
        "before = set(sys.modules)\n"
        "import chainrules_py.extend\n"
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['chainrules_py.extend']"


@pytest.mark.parametrize("name", extend.__all__)
def test_every_name_is_there_and_is_not_private(name):
    assert getattr(extend, name) is not None
    assert not name.startswith("_")
    assert name in dir(extend)


def test_names_of_the_face_are_not_said_twice():
    assert not {*face} & {*extend.__all__}


def test_checkers_read_the_same_names_from_the_same_modules():
    homes, listed = {}, []
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                homes[alias.asname or alias.name] = module if alias.asname else node.module
        elif isinstance(node, ast.Assign):
            listed = ast.literal_eval(node.value)
    assert homes == extend._HOME_OF | extend._MODULES
    assert sorted(listed) == sorted(extend.__all__)


def test_a_name_is_defined_where_the_list_says():
    """And not merely imported there: whoever moves it moves its line."""
    wrong = []
    for name, module in extend._HOME_OF.items():
        getattr(extend, name)
        tree = ast.parse(Path(sys.modules[module].__file__).read_text(encoding="utf-8"))
        own = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        for n in tree.body:
            targets = n.targets if isinstance(n, ast.Assign) else [getattr(n, "target", None)]
            own |= {t.id for t in targets if isinstance(t, ast.Name)}
        if name not in own:
            wrong.append((name, module))
    assert wrong == []


def test_what_it_has_not_is_an_error_that_leads_on():
    with pytest.raises(AttributeError, match=r"no attribute 'sin'; see docs/extend\.md"):
        extend.sin
    with pytest.raises(ImportError):
        from chainrules_py.extend import nothing  # type: ignore[attr-defined]  # noqa: F401
