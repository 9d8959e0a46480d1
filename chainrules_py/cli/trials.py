"""One value and one gradient in each library and engine: what ``chainrules doctor`` runs."""

from __future__ import annotations

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_everywhere
from chainrules_py.testing.report.report import Finding

_PLACES = {"backends": "tape on {}", "engines": "{} on numpy", "exporters": "{}"}


def tried(kind: str, name: str) -> str:
    """Compute the norm of (3, 4) and its gradient, and say what came of it.

    Parameters
    ----------
    kind : str
        What is announced: ``"backends"``, ``"engines"``, ``"exporters"``, or anything else.
    name : str
        What it is announced for.

    Returns
    -------
    str
        ``"works"``; ``"is imported"`` where `check_everywhere` has no such place; ``"does not run
        here: ..."`` where there is nothing to judge; ``"broken: ..."`` where it is wrong.

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
        except ValueError:  # there is no such part of the table
            continue
        (found,) = report.findings
        return "works" if found.verdict == "passed" else f"does not run here: {_first(found)}"
    return "is imported"


def _first(found: Finding) -> str:
    return found.text.partition("\n")[0]
