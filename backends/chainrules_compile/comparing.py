"""Comparing: whether what a function captured is still the same, asked at each call.

Each function has its code and its defaults, and each name stands for the same object. What is asked
often is written out as an expression, which takes a third of the time.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from chainrules_compile.held import Held

NOTHING = object()
"""What a name stands for that nothing has, and what an empty cell holds."""
_SINGLY = 5
"""Up to how many names are looked up one by one."""
OFTEN = 100
"""At which call the expression is written: Python takes 0.1 ms for it."""
_TERMS = 24
"""How many functions, cells, names and arrays an expression has at most."""


def testing(
    held: Iterable[Held], prints: Sequence[Any], put: Callable[[Callable[[], bool]], None]
) -> Callable[[], bool]:
    """Return what tells whether something has changed; when asked often, it puts a quicker one."""
    held = [*held]
    functions = [each for each in held if each.function is not None]
    rest = [each for each in held if each.function is None]
    as_they_were = comparing(functions)
    left = OFTEN

    def slowly() -> bool:
        for each in rest if as_they_were() else held:
            if not each[0]() and each.changes() - each.own:
                return True
        return bool(prints) and any([mark(x, False) != before for x, mark, before in prints])

    def changed() -> bool:  # which does not know itself: it goes when nobody has it
        nonlocal left
        left -= 1
        if not left:
            written = written_out(functions, rest, prints, slowly)
            if written is not None:
                put(written)
        return slowly()

    return changed


def written_out(
    functions: Iterable[Held],
    rest: Iterable[Held],
    prints: Sequence[Any],
    slowly: Callable[[], bool],
) -> Callable[[], bool] | None:
    """Return what asks by one expression, and where that says no slowly; None for much."""
    parts, cells, names = parts_of(functions)
    kept = [is_kept(x, before) for x, _, before in prints]
    arrays = [(x, *before) for (x, _, before), is_so in zip(prints, kept, strict=True) if is_so]
    marked = [each for each, is_so in zip(prints, kept, strict=True) if not is_so]
    counts = len(parts), len(cells), len(names), len(arrays)
    if not 0 < sum(counts) <= _TERMS or any([x is NOTHING for *_, x in names]):
        return None
    sames = [each.same for each in rest]

    def others() -> bool:
        for same in sames:
            if not same():
                return slowly()
        return bool(marked) and any([mark(x, False) != before for x, mark, before in marked])

    given = [x for each in (*parts, *cells, *names, *arrays) for x in each]
    make = _maker(*counts, bool(sames or marked))
    found: Callable[[], bool] = make(others, slowly, *given)
    return found


def is_kept(x: Any, before: Any) -> bool:
    """Tell whether the print of an array is all of its bytes, its shape and its dtype."""
    if type(x) is not np.ndarray or x.dtype.hasobject or len(before) != 3:
        return False
    return type(before[0]) is bytes and len(before[0]) == x.nbytes


@functools.lru_cache(maxsize=256)
def _maker(functions: int, cells: int, names: int, arrays: int, others: bool) -> Any:
    """Make what makes such a function, for so many functions, cells, names and arrays."""
    given, tests = ["others", "slowly"], []
    for i in range(functions):
        given += [f"f{i}", f"code{i}", f"defaults{i}"]
        tests.append(f"f{i}.__code__ is code{i} and f{i}.__defaults__ is defaults{i}")
        tests.append(f"not f{i}.__kwdefaults__")
    for i in range(cells):
        given += [f"cell{i}", f"content{i}"]
        tests.append(f"cell{i}.cell_contents is content{i}")
    for i in range(names):
        given += [f"scope{i}", f"name{i}", f"x{i}"]
        tests.append(f"scope{i}[name{i}] is x{i}")
    for i in range(arrays):
        given += [f"array{i}", f"bytes{i}", f"shape{i}", f"dtype{i}"]
        tests.append(f"array{i}.tobytes() == bytes{i} and array{i}.shape == shape{i}")
        tests.append(f"array{i}.dtype == dtype{i}")
    source = (
        f"def make({', '.join(given)}):\n def changed():\n  try:\n   if {' and '.join(tests)}:\n"
        f"    return {'others()' if others else False}\n"
        "  except (KeyError, ValueError):\n   pass\n  return slowly()\n return changed\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)  # noqa: S102
    return scope["make"]


def parts_of(held: Iterable[Held]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return functions with code and defaults, cells with contents, and scopes, names, objects.

    A name that several of them look up is looked up once.
    """
    parts = [each.function for each in held if each.function is not None]
    functions = [each[:3] for each in parts]
    cells = [*{id(each[0]): each for *_, found, _ in parts for each in found}.values()]
    names = {(id(each[0]), each[1]): each for *_, found in parts for each in found}
    return functions, cells, [*names.values()]


def comparing(held: Iterable[Held]) -> Callable[[], bool]:
    """Return what tells whether some functions, most of one module, are all as they were."""
    functions, cells, names = parts_of(held)
    scopes = [
        looking(scope, [each for each in names if each[0] is scope])
        for scope in {id(scope): scope for scope, *_ in names}.values()
    ]

    def as_they_were() -> bool:
        for f, code, defaults in functions:
            if f.__code__ is not code or f.__defaults__ is not defaults or f.__kwdefaults__:
                return False
        try:
            for cell, x in cells:
                if cell.cell_contents is not x:
                    return False
        except ValueError:  # it is empty
            return False
        for is_as_it_was in scopes:  # noqa: SIM110 (a generator takes longer than most of them)
            if not is_as_it_was():
                return False
        return True

    return as_they_were


def looking(scope: dict[str, Any], names: list[tuple[Any, str, Any]]) -> Callable[[], bool]:
    """Return what tells whether names still stand for the same objects, or for none."""
    each = [(name, x) for _, name, x in names]
    if len(each) <= _SINGLY:
        look = scope.get

        def one_by_one() -> bool:
            for name, x in each:  # noqa: SIM110 (a generator takes longer than all of them)
                if look(name, NOTHING) is not x:
                    return False
            return True

        return one_by_one
    there = [(name, x) for _, name, x in names if x is not NOTHING]
    missing = [name for _, name, x in names if x is NOTHING]
    keys, is_ = scope.keys(), operator.is_
    if not there:
        return lambda: keys.isdisjoint(missing)
    # The first is asked for twice, as of one name there would be no tuple.
    get = operator.itemgetter(*[name for name, _ in there], there[0][0])
    wanted = tuple([x for _, x in there])

    def same() -> bool:
        try:
            return all(map(is_, get(scope), wanted)) and keys.isdisjoint(missing)
        except KeyError:
            return False

    return same
