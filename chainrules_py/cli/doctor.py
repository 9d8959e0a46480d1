"""Trials of ``chainrules doctor``: one value and one gradient in each library and engine."""

from __future__ import annotations

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_everywhere
from chainrules_py.testing.report.report import Finding

_PLACES = {"backends": "tape on {}", "engines": "{} on numpy", "exporters": "{}"}


def tried(kind: str, name: str) -> str:
    """Compute the norm of (3, 4) and its gradient, and return the outcome.

    Parameters
    ----------
    kind : str
        The kind of entry point: ``"backends"``, ``"engines"``, ``"exporters"``, or another.
    name : str
        The name of the entry point.

    Returns
    -------
    str
        ``"works"``; ``"is imported"`` if `check_everywhere` has no cell for it; ``"does not run
        here: ..."`` if it is not checked; ``"broken: ..."`` if it is wrong.

    Examples
    --------
    >>> tried("engines", "tape")
    'works'
    """
    place = _PLACES.get(kind, "").format(name)
    for cell in ("grad", "backward"):
        try:
            report = check_everywhere(v.vector_norm, np.array([3.0, 4.0]), only=f"{place}: {cell}")
        except RuleCheckError as error:
            return f"broken: {_first(error.report.failures[0])}"
        except ValueError:  # `check_everywhere` has no such cell
            continue
        (found,) = report.findings
        return "works" if found.verdict == "passed" else f"does not run here: {_first(found)}"
    return "is imported"


def _first(found: Finding) -> str:
    return found.text.partition("\n")[0]
