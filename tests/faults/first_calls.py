"""First calls: what a function gives in a process in which nothing is loaded yet.

``python -m tests.faults.first_calls 0 20`` asks every 20th case from the first, each in a child of
its own, and names those whose first answer is not the second: what speaks for a library is loaded
when something of it is met, whatever is met first.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_tape import grad, jvp
from tests.faults.children import in_child

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special")
ARRAY = np.array([0.25, 0.5])
BESIDE: dict[str, Any] = {
    "array": ARRAY,
    "list": [0.25, 0.5],
    "number": 0.5,
    "whole": 2,
    "scalar": np.float32(0.5),
    "matrix": np.eye(2) + 0.25,
}
"""What the other operands are."""


Case = tuple[str, str, int, int, str, str, str]


def pushed(program: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what a program's derivative along its own operand is."""
    return lambda x: jvp(program, (x,), (x,))


WAYS: dict[str, Callable[..., Any]] = {"grad": grad, "jvp": pushed}


def cases() -> Iterator[Case]:
    """Name functions: how many operands, which is differentiated, what, beside what, and how."""
    for module in MODULES:
        for name, f in sorted(vars(importlib.import_module(module)).items()):
            if name[0] == "_" or not callable(f) or isinstance(f, type):
                continue
            for count in (f.nin,) if isinstance(f, np.ufunc) else _counts(f):
                for place in range(count):
                    for kind in ("number", "array", "matrix"):
                        for beside in BESIDE if count > 1 else ("",):
                            for way in WAYS:
                                yield module, name, count, place, kind, beside, way


def _counts(f: Callable[..., Any]) -> tuple[int, ...]:
    try:
        parameters = inspect.signature(f).parameters.values()
    except (TypeError, ValueError):
        return (1, 2)
    count = len([p for p in parameters if p.default is p.empty and p.kind in (0, 1)])
    return (count,) if count < 4 else ()


def answers(
    module: str, name: str, count: int, place: int, kind: str, beside: str, way: str
) -> list[str]:
    """Tell what two calls give, one after the other."""
    f = getattr(sys.modules[module], name)
    operands = [BESIDE.get(beside)] * count

    def program(x: Any) -> Any:
        result = f(*operands[:place], x, *operands[place + 1 :])
        return np.sum(np.real(result[0] if type(result) is tuple else result) * 1.0)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [_answer(WAYS[way](program), BESIDE[kind]) for _ in range(2)]


def _answer(program: Callable[..., Any], x: Any) -> str:
    try:
        return repr(program(x))
    except Exception as error:
        told = str(error).partition("; ")[0]  # what to write instead depends on what is loaded
        return re.sub(r"0x[0-9a-f]+", "", f"{type(error).__name__}: {told}")


def differing(start: int, step: int) -> tuple[int, list[str]]:
    """Ask every so manieth case; count them, and tell which answered otherwise at first."""
    chosen = list(itertools.islice(cases(), start, None, step))
    wrong = []
    for case in chosen:
        first, second = in_child(functools.partial(answers, *case))
        if first != second:
            wrong.append(f"{case}: {first[:200]} | {second[:200]}")
    return len(chosen), wrong


def main() -> None:
    """Ask, and tell what was wrong."""
    count, wrong = differing(*map(int, sys.argv[1:3]))
    print(*wrong, sep="\n")
    print(f"{count} cases, {len(wrong)} wrong")


if __name__ == "__main__":
    main()
