"""Saving of a program as a module that needs only NumPy.

Objects that the source names become lines: functions of NumPy and SciPy by their names, arrays by
their values, functions of this library by their source.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from chainrules_compile.compile_one_call import CompiledProgram
from chainrules_compile.errors import MISS, RecordingError
from chainrules_compile.function_source import Definitions, UnwrittenError
from chainrules_compile.scope import Scope
from chainrules_py.extend import describe

_NOT_FINITE = """recorded for other arguments: its derivative meets NaN or an infinite quotient \
here, and the compiled function computes it anew then, in another way; call that"""
_BRANCH = "recorded for other arguments: the function takes another branch here; record it anew"
_REFUSAL = """def _refused(*given):
    arrays = [isinstance(x, numpy.ndarray) for x in given]
    texts = [f"{{x.dtype}}{{[*x.shape]}}" if a else repr(x)[:80] for a, x in zip(arrays, given)]
    here = f"; given {{', '.join(texts)}}; record it anew"
    return ValueError({forms} + ", in the memory order of that call" + here)


"""


def module_of(name: str, source: str, scope: Scope, facts: Sequence[tuple[str, str]]) -> str:
    """Return the text of a module that contains a program.

    Raises
    ------
    RecordingError
        If the program uses an object that cannot be saved.
    """
    miss = scope.name(MISS, "MISS")
    asked = r"    if (not \(  # guards\n(        [^\n]*\n)+    \):|[^\n]*are_apart\w*\([^\n]*)\n"
    source = re.sub(asked + rf"        return {miss}\n", "", source)
    tree = ast.parse(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    written = Definitions(scope)
    for key in sorted(used & scope.keys() - {name}):
        x = scope[key]
        if x is MISS or x is None or getattr(builtins, key, None) is x:
            continue
        try:
            written.define(key, x)
        except UnwrittenError:
            refuse(key, x)
    imports = written.constants.imports | {"numpy"}
    if name in {module.partition(".")[0] for module in imports}:
        refuse(f"the name of a module, {name}, for its function", None)
    head, *body = source.replace(", /", "", 1).rstrip().split("\n")
    given = ", ".join([node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)])
    forms = ", ".join([f"{path}: {fact}" for path, fact in facts])
    body = [_without_miss(line, body[i + 1 :], miss, given) for i, line in enumerate(body)]
    said = f'"""{name}: recorded, simplified and written by chainrules_compile."""\n\n'
    imported = "".join([f"import {module}\n" for module in sorted(imports)])
    refusal = _REFUSAL.format(forms=repr(f"recorded for other arguments, {forms}"))
    lines = "\n".join([head, *body])
    return f"{said}{imported}\n{refusal}\n{''.join(written.lines)}\n\n{lines}\n"


def _without_miss(line: str, rest: list[str], miss: str, given: str) -> str:
    """Return a line of a program that raises an error where the program would return a miss.

    A gradient that is NaN is computed anew with strict zeros, and a quotient that is not finite in
    another way. The program sums squares, which may overflow where all numbers are finite.
    """
    if not line.endswith(f"return {miss}"):
        return line
    begins = line.removesuffix(f"return {miss}")
    if not begins.strip():
        return f"{begins}raise _refused({given})"
    test = re.fullmatch(r"( *if not \(?\w+\(vdot\w*\((?:\w+ := )?(\w+)\b.*\)\)\)?): ", begins)
    if test is None:
        scalar = re.search(r"if (not \(?is_?finite\w*\(|(\w+) != \2:)", begins)
        of = _BRANCH if scalar is None else _NOT_FINITE
        return f"{begins}raise ValueError({of!r})"
    start, x = test.groups()
    later = [text for text in rest if re.search(rf"\b{x}\b", text)]
    passes = all([text.strip().startswith("return ") for text in later])
    bad = f"numpy.isnan({x}).any()" if passes else f"not numpy.isfinite({x}).all()"
    return f"{start} and {bad}: raise ValueError({_NOT_FINITE!r})"


def unchanged(programs: Sequence[CompiledProgram], name: str) -> CompiledProgram:
    """Return the newest program that matches what the function captures now.

    Raises
    ------
    RecordingError
        If there is none: a program would mix old and new captured values.
    """
    for program in programs:
        if not program.guards.changed():
            return program
    raise RecordingError(
        f"what {name} captures, or a rule that it calls, has changed since it was called last, and "
        f"some of it is in the program; call it again, and save it then"
    )


def write_module(path: Path, text: str) -> None:
    """Write a module, and delete the bytecode that Python cached for the previous one.

    Python compares sources by size and by modification time in seconds.
    """
    path.write_text(text, encoding="utf-8")
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        old.unlink(missing_ok=True)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def written(path: Any, write: Callable[[Path], object], folder: str = "") -> None:
    """Write to a file, or to a folder if `folder` describes what is written to it.

    Raises
    ------
    RecordingError
        If the path cannot be written to.
    """
    wanted = "a folder, as 'energy_grad'" if folder else "a file, as 'energy_grad.py'"
    place = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(place, str) or not place or "\0" in place:
        said = describe(path) if place is None else repr(place)
        raise RecordingError(
            f"save takes where to write to, and {said} is not a path; name {wanted}"
        )
    if folder and place.endswith(".py"):
        raise RecordingError(
            f"{folder} is saved as a folder, not as {place}; name one, or compile it for the "
            f"target 'numpy', and save that"
        )
    try:
        write(Path(place))
    except OSError as error:
        raise RecordingError(
            f"nothing can be written to {place!r} ({error.strerror}); name {wanted}, that may be"
        ) from error


def refuse(name: str, x: Any) -> NoReturn:
    """Raise for an object that cannot be saved.

    Raises
    ------
    RecordingError
        Always; the message contains the name.
    """
    what = "" if x is None else f", {describe(x)} of {getattr(x, '__module__', 'no module')},"
    raise RecordingError(
        f"the program uses {name.removesuffix('_numpy')}{what} which a module that needs NumPy "
        f"alone cannot have; keep the compiled function itself"
    )
