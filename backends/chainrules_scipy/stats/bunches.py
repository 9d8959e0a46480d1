"""Results of tests in ``scipy.stats``: tuples with attributes, which are fields as their items are.

A test of a sample gives a statistic and a probability, and keeps beside them what these were made
of: degrees of freedom, standard errors, the sample. All of it may be traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrules_py import register_structure
from chainrules_scipy._private import private


def _fields(x: Any) -> list[tuple[Any, Any]]:
    return [*enumerate(x), *vars(x).items()]


def _rebuilt(x: Any, values: Sequence[Any]) -> Any:
    new = tuple.__new__(type(x), values[: len(x)])
    vars(new).update(zip(vars(x), values[len(x) :], strict=True))
    return new


def register() -> None:
    """Have them be structures; one that SciPy does not have is no result either."""
    for name in (
        *("AndersonResult", "KstestResult", "LinregressResult", "PearsonRResultBase"),
        *("SignificanceResult", "TtestResultBase"),
    ):
        if private(name) is not None:
            register_structure(private(name), _fields, _rebuilt, hollow=True)
