"""Derive the aliases of one library's functions from those of another with the same names.

CuPy's ``sum`` has the meaning of NumPy's for the parameters they share. What NumPy's alias states
of a parameter holds for CuPy's of the same name; a parameter that only one of the two has is left
out, or refused where it is used.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from chainrules_py import RuleError
from chainrules_py.extend import REQUIRED, Alias, alias, aliases, parameters_of, see_all


def rows_of(root: str) -> dict[str, Alias]:
    """Return the aliases of a library, by the names of its functions without the root module.

    Parameters
    ----------
    root : str
        The root module of the library.

    Examples
    --------
    >>> import chainrules_numpy
    >>> rows = rows_of("numpy")
    >>> rows["sin"], rows["linalg.inv"]
    (<alias sin of sin>, <alias inv of inv>)
    """
    see_all(root)
    found = {}
    for native, row in list(aliases.items()):
        owner = getattr(native, "__objclass__", None)
        ufunc = getattr(native, "__self__", None)
        name = str(getattr(native, "__name__", ""))
        if owner is not None:
            module, name = owner.__module__, f"{owner.__name__}.{name}"
        elif hasattr(ufunc, "nin"):  # np.add.reduce
            module, name = type(ufunc).__module__, f"{ufunc.__name__}.{name}"  # type: ignore[union-attr]
        elif (module := getattr(native, "__module__", None)) is None:  # SciPy has ufuncs of NumPy's
            module = root if getattr(sys.modules.get(root), name, None) is native else ""
        if module.partition(".")[0] == root:
            inside = [part for part in module.split(".")[1:] if not part.startswith("_")]
            found[".".join([*inside, name])] = row
    return found


def derive(
    native: Callable[..., Any], row: Alias, *, parameters: Mapping[str, Any] | None = None
) -> Alias | None:
    """Add an alias for a function that is the same as one of another library.

    Parameters
    ----------
    native : callable
        The function.
    row : Alias
        The alias of the other function.
    parameters : mapping, optional
        From name to default, for a function whose signature cannot be read.

    Returns
    -------
    Alias or None
        None if one of the functions has a required parameter that the other lacks.
    """
    if row.hands_on:  # all arguments are passed on
        return alias(native, to=row.operation, parameters={})
    if parameters is None:
        try:
            parameters = _read(native, row)
        except (TypeError, ValueError, RuleError):
            return None
    theirs = _matched(parameters, row)
    ours = {name: n for n, name in theirs.items()}
    lacking = [d for n, d in parameters.items() if n not in theirs]
    lacking += [row.defaults[n] for n in row.names if n not in ours]
    if any(default is REQUIRED for default in lacking):
        return None
    rename = {n: row.names[t] for n, t in theirs.items() if t in row.names and row.names[t] != n}
    try:
        return alias(
            native,
            to=row.operation,
            rename=rename,
            lower={n: row.lower[t] for n, t in theirs.items() if t in row.lower},
            refuse=tuple([n for n, t in theirs.items() if t in row.refuse]),
            parameters=parameters,
            positional=tuple([n for n in parameters if theirs.get(n) in row.positional]),
            gather=ours.get(row.gather) if row.gather is not None else None,
            fewer=row.fewer,
        )
    except RuleError:
        return None


def _read(native: Callable[..., Any], row: Alias) -> dict[str, Any]:
    """Return the parameters of a function with defaults; for ``**`` those of the other function."""
    try:
        found = parameters_of(native)
    except RuleError:
        if (like := documented(native)) is None:
            raise
        found = parameters_of(like)
    names = (*found.positional, *([found.variadic] if found.variadic else ()), *found.keyword_only)
    parameters = {name: found.defaults.get(name, REQUIRED) for name in names}
    if found.variadic is not None:
        parameters[found.variadic] = row.defaults.get(row.gather or "", ())
    if found.keywords is not None:
        rest = [n for n in row.names if n not in row.positional or n in row.defaults]
        parameters |= {n: row.defaults[n] for n in rest if n not in parameters}
    return parameters


def _matched(parameters: Mapping[str, Any], row: Alias) -> dict[str, str]:
    """Map each parameter to the other function's of the same name, or else of the same position."""
    optional = {n for n in row.refuse if parameters.get(n) is not REQUIRED}
    found = {n: n for n in parameters if n in optional or (n in row.names and n not in row.refuse)}
    order = list(row.names)
    for place, n in enumerate(parameters):
        other = order[place] if place < len(order) else None
        required = parameters[n] is REQUIRED  # an optional one may have any meaning
        if n not in found and required and other is not None and other not in parameters:
            found[n] = other
    return found


_FIRST_LINE = re.compile(r"(?:\w+\.)*\w+\((?P<parameters>.*)\)(?: *->.*)?")
_TYPED = re.compile(r"(?<![=\w])\w+ +(?=\w)")


def documented(function: Callable[..., Any]) -> Any:
    """Return a function with the parameters in the first line of a docstring, or None.

    Cython writes a method's signature there: ``C.f(self, int axis=-1) -> C``.
    """
    line = (getattr(function, "__doc__", None) or "").partition("\n")[0].strip()
    match = _FIRST_LINE.fullmatch(line)
    if match is None:
        return None
    text = f"lambda {_TYPED.sub('', match['parameters'])}: None"
    try:
        tree: Any = ast.parse(text, mode="eval")
        found = tree.body.args
        for value in filter(None, (*found.defaults, *found.kw_defaults)):
            ast.literal_eval(value)  # only literals are allowed
    except (SyntaxError, ValueError):
        return None
    found.args, found.posonlyargs, found.kwarg = [*found.posonlyargs, *found.args], [], None
    return eval(compile(tree, "<documentation>", "eval"))  # noqa: S307 - of literals alone
