"""Faults in the first run of a program: where modules are loaded, rules bound, types solved.

``python -m tests.faults.cold 600`` injects so many, and names what was wrong. This process runs no
program itself: each fault has a child of its own, in which nothing is loaded or bound yet. There
the program meets the fault, and has to give the right answer afterwards, as has another one; and an
answer that it gave in spite of the fault has to be right.
"""

from __future__ import annotations

import faulthandler
import functools
import gc
import random
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from chainrules_compile import compile
from chainrules_py import export
from chainrules_py.values.caches import forget
from chainrules_tape import grad
from tests.faults import programs
from tests.faults.children import in_child
from tests.faults.interrupts import AtPoint, Interrupt, points_of
from tests.faults.programs import X, left_behind


def compiled() -> Any:
    """A program that is compiled."""
    return compile(grad(lambda x: np.sum(np.sin(x) * x + np.exp(x))))(X)


def of_scipy() -> Any:
    """Functions of a library that is loaded when it is met."""
    from scipy.special import erf, gammaln

    from chainrules_scipy.linalg import solve

    matrix = np.eye(3) + 0.1
    return [
        grad(lambda x: np.sum(erf(x) * gammaln(x)))(X),
        grad(lambda a: np.sum(solve(a, matrix)))(matrix),
    ]


def exported() -> Any:
    """A function with a rule, exported to another engine."""
    autograd = __import__("autograd")
    return autograd.grad(lambda x: export(programs.fresh(), to="autograd")(x).sum())(X)


PROGRAMS = (*programs.PROGRAMS[:-1], compiled, of_scipy, exported)
answer = programs.answer


class LateError(TimeoutError):
    """What a handler of an alarm raises, which ``except Exception`` catches."""


def raising(error: type[BaseException], program: Any, n: int) -> Any:
    """Have an error come up at the n-th point of a program, in whoever's Python code it is."""

    def raises() -> None:
        raise error

    return AtPoint(n, raises, points_of).answer(program)


def beneath(program: Any, n: int) -> Any:
    """Run a program where so many frames are left of Python's stack."""

    def call(frames: int) -> Any:
        return answer(program) if frames == 0 else call(frames - 1)

    sys.setrecursionlimit(1000)
    return call(940 - n)


def without_memory(program: Any, n: int) -> Any:
    """Run a program that finds no memory for its n-th object, and none for two after it."""
    import _testcapi

    gc.disable()
    faulthandler.disable()
    _testcapi.set_nomemory(n, n + 3)
    try:
        return answer(program)
    finally:
        _testcapi.remove_mem_hooks()


def with_warnings(program: Any, n: int) -> Any:
    """Run a program in which each warning is an error."""
    warnings.simplefilter("error")
    gc.set_threshold(n)
    return answer(program)


def without_collections(program: Any, n: int) -> Any:
    """Run a program while nothing is collected, and then collect in the middle of it."""
    gc.disable()
    return AtPoint(n, gc.collect, points_of).answer(program)


# By name: the fault, the errors that it may end in, and how far it goes.
KINDS: dict[str, tuple[Any, tuple[type[BaseException], ...], int | None]] = {
    "interrupt": (functools.partial(raising, Interrupt), (Interrupt,), None),
    "alarm": (functools.partial(raising, LateError), (LateError,), None),
    "recursion": (beneath, (RecursionError,), 300),
    "no memory": (
        without_memory,
        (MemoryError, SystemError, RuntimeError, SyntaxError, ImportError),
        60_000,
    ),
    "warnings": (with_warnings, (), 1000),
    "no collections": (without_collections, (), None),
}


def outcome(kind: str, n: int, programs: dict[Any, str]) -> str:
    """Return what is wrong after a fault in the first of some programs, or nothing."""
    fault, errors, _ = KINDS[kind]
    program = next(iter(programs))
    try:
        y = fault(program, n)
    except BaseException as error:
        if not isinstance(error, errors) and not isinstance(error.__cause__, errors):
            raise
        y = None
    sys.setrecursionlimit(3000)
    warnings.resetwarnings()
    if y is not None and y.hex() != programs[program]:
        return "another answer in spite of the fault"
    if left := left_behind():
        return ", ".join(left)
    for again, expected in [*programs.items()] * 2:
        if answer(again).hex() != expected:
            return f"another answer afterwards, of {again.__name__}"
        forget()
    return ""


@functools.cache
def expected_of(program: Any) -> str:
    """What a program gives in a process in which nothing else has run."""
    return in_child(lambda: answer(program).hex())


@functools.cache
def points_in(program: Any) -> int:
    """Count the points of a program's first run."""

    def passed() -> int:
        point = AtPoint(0, check=points_of)
        point.answer(program)
        return point.passed

    return in_child(passed)


def faults(number: int, seed: int, kinds: Sequence[str]) -> Iterator[str]:
    """Inject so many faults; tell of each what was wrong, or nothing."""
    rng = random.Random(seed)
    for k in range(number):
        kind, program, other = kinds[k % len(kinds)], rng.choice(PROGRAMS), rng.choice(PROGRAMS)
        most = KINDS[kind][2] or points_in(program)
        # Some come early: what is loaded first has few points.
        n = int(most ** rng.random()) if rng.random() < 0.3 else rng.randint(1, most)
        programs = {each: expected_of(each) for each in (program, other)}
        what = in_child(functools.partial(outcome, kind, n, programs))
        yield what and f"{kind} at {n} in {program.__name__}, then {other.__name__}: {what}"


def main() -> None:
    """Inject faults, and tell what was wrong."""
    number, seed = ([*map(int, sys.argv[1:3]), 600, 0][k] for k in (0, 1))
    found = []
    for what in filter(None, faults(number, seed, sys.argv[3:] or [*KINDS])):
        found.append(what)
        sys.stdout.write(f"{what}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{number} faults, {len(found)} wrong\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
