"""Checks of rules: `check_rule`, and the samples that it runs over.

This package may import NumPy and pytest; nothing in the core imports it.
"""

import importlib
from collections.abc import Callable
from typing import Any

from chainrules_py.testing.cases.backends import Backend, backend, backends, to_numpy
from chainrules_py.testing.cases.calls_from_samples import Instance, instances
from chainrules_py.testing.cases.coordinates import random_tangent
from chainrules_py.testing.check import CHECKS, check_frule, check_rrule, check_rule
from chainrules_py.testing.checks.tangent_laws import check_tangent_type
from chainrules_py.testing.debug_mode import DebugError, debug
from chainrules_py.testing.diagnosis import Table
from chainrules_py.testing.report.report import Finding, Report, RuleCheckError
from chainrules_py.testing.report.summary import Outcome, Summary
from chainrules_py.testing.sample_runs import check_module, run_samples
from chainrules_py.testing.samples.sample import Draw, Sample, enter_samples

__all__ = [
    "CHECKS",
    "Backend",
    "DebugError",
    "Draw",
    "Finding",
    "Instance",
    "Outcome",
    "Report",
    "RuleCheckError",
    "Sample",
    "Summary",
    "Table",
    "backend",
    "backends",
    "check_everywhere",
    "check_frule",
    "check_grads",
    "check_module",
    "check_rrule",
    "check_rule",
    "check_tangent_type",
    "debug",
    "enter_samples",
    "instances",
    "random_tangent",
    "run_samples",
    "sample_tests",
    "to_numpy",
]

check_everywhere: Callable[..., Report]
check_grads: Callable[..., Report]
sample_tests: Callable[..., Callable[..., None]]
_OUTSIDE = {
    "check_everywhere": "chainrules_py.testing.everywhere",
    "check_grads": "chainrules_py.testing.gradcheck",
    "sample_tests": "chainrules_py.testing.pytest_samples",
}


def __getattr__(name: str) -> Any:
    """Import a function that needs engines, or pytest, when it is first used."""
    if name in _OUTSIDE:
        return getattr(importlib.import_module(_OUTSIDE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
