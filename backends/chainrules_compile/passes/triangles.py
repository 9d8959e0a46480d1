"""Triangles: systems of a factor of Cholesky's are solved as what they are.

A matrix that is not finite may have a factor that holds an infinity. Elimination makes that
undefined, a triangle may not, so the factor is asked whether it is finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.calls import expect, is_finite
from chainrules_compile.passes.loose import is_of_one_dtype
from chainrules_compile.passes.values import call_of, changed, value_of
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import cholesky, solve, solve_triangular

_FACTORS = frozenset((cholesky, np.linalg.cholesky))
_SYSTEMS = frozenset((solve, np.linalg.solve))


def with_triangles(program: Program) -> Program:
    """Return the program in which factors of Cholesky's are solved with as triangles."""
    if program.functions.isdisjoint(_FACTORS) or program.functions.isdisjoint(_SYSTEMS):
        return program
    factors: dict[Value, Call] = {}
    asked: set[Value] = set()
    calls: list[Call] = []
    for call in program.calls:
        if call.function in _FACTORS:
            factors[call.results[0]] = call
        elif call.function in _SYSTEMS and _is_alike(call) and call.operands[0] in factors:
            a, b = call.operands
            if a not in asked:
                asked.add(a)
                calls += _question(a)
            upper = bool(factors[a].options.get("upper", False))
            call = Call(solve_triangular, (a, b), {"upper": upper}, call.results)
        calls.append(call)
    return changed(program, calls=tuple(calls)) if asked else program


def _is_alike(call: Call) -> bool:
    """Tell whether a system has operands and a result of one dtype, and no options."""
    return is_of_one_dtype(call, 2, (), "fc") and type(call.operands[0]) is Value


def _question(x: Value) -> list[Call]:
    """Return the calls that ask whether an array is finite, as a strong product does."""
    fields: Any = (f"{x.name}.is_finite", bool, None, None, None, None)
    truth = value_of(*fields)
    asking = call_of(is_finite, (x,), {"like": np.ndarray}, (truth,), (x,))
    return [asking, call_of(expect, (truth, True), {"kind": bool}, (), (truth,))]
