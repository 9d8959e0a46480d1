"""Templates: a rule with its test, and a package of rules."""

from __future__ import annotations

import importlib.util
import keyword
import re
import textwrap

from chainrules_py.primitives.signature import result_name

KINDS = ("scalar", "linear", "bilinear", "rule", "constant")


def unfit(name: str, operands: tuple[str, ...], kind: str) -> str:
    """Return which name is unfit for a rule, and why; an empty string if none is.

    Examples
    --------
    >>> unfit("double", ("y",), "linear"), unfit("double", ("y_bar",), "linear")
    ('', 'y_bar is the cotangent of the result there')
    """
    own = {f"{x}_dot": f"the tangent of {x}" for x in operands} if kind == "rule" else {}
    own |= {f"of_{x}": f"the map of {x}" for x in operands} if kind == "rule" else {}
    own |= {"y": "the value"} if kind in ("scalar", "rule") else {}
    own |= (
        {"y_bar": "the cotangent of the result"} if kind in ("linear", "bilinear", "rule") else {}
    )
    texts = {"np", "v", "LinearMap", "Array", "check_rule", "primitive", "rule"}
    for k, x in enumerate((name, *operands)):
        if not x.isidentifier() or keyword.iskeyword(x):
            return f"{x} is no name in Python"
        if k and x in own:
            return f"{x} is {own[x]} there"
        if k and (x in texts or x == name or x in operands[: k - 1]):
            return f"{x} is used twice"
        if not k and x in {
            *texts,
            "non_differentiable",
            *[f"{constructor}_rule" for constructor in KINDS],
        }:
            return f"{x} is used by the text itself"
    return ""


def new_rule(name: str, operands: tuple[str, ...], kind: str) -> str:
    """Write a primitive, a rule for it, and a test.

    Parameters
    ----------
    name : str
        The name of the function.
    operands : tuple of str
        The names of its operands.
    kind : {"scalar", "linear", "bilinear", "rule", "constant"}
        The rule constructor: elementwise, linear in its operand, linear in each of two operands, in
        full, or without a derivative.

    Returns
    -------
    str
        A module, with gaps for the mathematics.
    """
    takes, y = ", ".join(operands), result_name(operands)
    of = {
        "scalar": "\n".join(
            [
                f"scalar_rule(\n    {name},",
                *[f"    lambda {y}, {takes}: ...,  # ∂{y}/∂{x}, elementwise" for x in operands],
                '    complex="holomorphic",  # or "real"; without it complex is refused\n)',
            ]
        ),
        **dict.fromkeys(
            ("linear", "bilinear"),
            f"{kind}_rule(\n    {name},\n"
            + "\n".join(
                [f"    lambda y_bar, {takes}: ...,  # the cotangent of {x}" for x in operands]
            )
            + "\n)",
        ),
        "rule": (
            f"@rule({name})\n"
            f"def {name}_rule({', '.join([f'{x}: Array' for x in operands])}):\n"
            '    """dy = ...;  the formula, and where it is from."""\n'
            f"    y = {name}({takes})\n"
            + "\n".join(
                [
                    f"    of_{x} = LinearMap(\n"
                    f"        lambda {x}_dot, {takes}: ...,  # push: the tangent of y\n"
                    f"        lambda y_bar, {takes}: ...,  # pull: the cotangent of {x}\n"
                    f"        {takes},  # what the two need\n    )"
                    for x in operands
                ]
            )
            + f"\n    return y, ({', '.join([f'of_{x}' for x in operands])},)"
        ),
        "constant": f"non_differentiable({name})",
    }[kind]
    constructors = {
        "rule": "Array, LinearMap, primitive, rule",
        "constant": "non_differentiable, primitive",
    }
    imports = constructors.get(kind) or f"primitive, {kind}_rule"
    head = textwrap.dedent(
        f'''\
        """{name}, and its derivative."""

        import numpy as np

        from chainrules_py import {imports}
        from chainrules_py import ops as v  # rules written in operations run on every array library
        from chainrules_py.testing import check_rule


        @primitive
        def {name}({takes}):
            """Say what it computes."""
            return ...


        '''
    )
    test = ", ".join(["np.array([0.3, 0.7])"] * len(operands))
    return f"{head}{of}\n\n\ndef test_{name}():\n    check_rule({name}, {test})\n"


def unfit_package(name: str, about: str) -> str:
    """Return why a package, or the module it is about, cannot have this name; empty if it can.

    Examples
    --------
    >>> unfit_package("myrules", "scipy"), unfit_package("my-rules", "scipy")
    ('', "'my-rules' is no name of a package: write my_rules")
    """
    root = about.partition(".")[0]
    if not about.isidentifier() or keyword.iskeyword(about):
        write = root if root.isidentifier() and not keyword.iskeyword(root) else "mylibrary"
        return f"--about {about!r} is no root module: write --about {write}"
    fit = re.fullmatch(r"[A-Za-z]([A-Za-z0-9_]*[A-Za-z0-9])?", name)
    if fit is None or keyword.iskeyword(name):
        parts = "_".join(re.findall(r"[A-Za-z0-9]+", name)).lstrip("0123456789_")
        write = "myrules" if not parts or keyword.iskeyword(parts) else parts
        return f"{name!r} is no name of a package: write {write}"
    taken = name in (about, "tests") or importlib.util.find_spec(name) is not None
    return f"{name!r} is a module already, which would be hidden: write {name}_rules" * taken


def new_package(name: str, about: str) -> dict[str, str]:
    """Write a package that only has rules for another package's functions.

    Parameters
    ----------
    name : str
        The name of the distribution and the package.
    about : str
        The root module of the functions that the rules are about. The rules are loaded when an
        object of that module is first looked up.

    Returns
    -------
    dict
        The text of each file, by its path.
    """
    pyproject = f'''\
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"

        [project]
        name = "{name.replace("_", "-")}"
        version = "0.1.0"
        description = "Derivatives of {about}, for every engine that takes rules."
        requires-python = ">=3.11"
        dependencies = ["chainrules-py"]

        # The key is the root module of the functions that the rules are about.
        [project.entry-points."chainrules_py.rules"]
        {about} = "{name}"

        [tool.hatch.build.targets.wheel]
        packages = ["{name}"]
        '''
    package = f'''\
        """Derivatives of {about}."""

        chainrules_contract = 1  # with chainrules_py: stated above the rules, which need it

        from {name} import rules  # noqa: E402

        __all__ = ["rules"]
        '''
    rules = f'''\
        """Rules, a statement each; they are in force as soon as {about} is differentiated."""

        from chainrules_py import primitive, scalar_rule

        # from {about} import some_function        # a ufunc, or a primitive
        # scalar_rule(some_function, lambda y, x: ...)
        '''
    tests = f'''\
        """Check every rule of the package."""

        from chainrules_py.testing import check_module


        def test_rules():
            found = check_module("{name}.rules")
            assert found.passed, found
        '''
    files = {
        "pyproject.toml": pyproject,
        f"{name}/__init__.py": package,
        f"{name}/rules.py": rules,
        "tests/test_rules.py": tests,
        "README.md": f"# {name}\n\nDerivatives of `{about}`, as a package of rules.\n",
    }
    return {path: textwrap.dedent(text) for path, text in files.items()}
