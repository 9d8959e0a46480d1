"""Trials of ``chainrules doctor``: one value and one gradient in each library and engine."""

from __future__ import annotations

import importlib
import importlib.metadata

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_everywhere
from chainrules_py.testing.report.report import Finding

_PLACES = {"backends": "tape on {}", "engines": "{} on numpy", "exporters": "{}"}


def state(kind: str, point: importlib.metadata.EntryPoint) -> str:
    """Import a package that is announced, and return what `tried` does, or why it is not there."""
    try:
        importlib.import_module(point.value.partition(":")[0])
        return tried(kind, point.name)
    except ImportError as error:
        needs = (error.name or "").partition(".")[0]
        ours = point.value.startswith("chainrules_") and not needs.startswith("chainrules")
        return f"{needs} is not installed" if ours and needs else f"broken: {error}"
    except Exception as error:  # a package may raise anything when it is imported
        return f"broken: {type(error).__name__}: {error}"


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
