"""The judge of rules: `check_rule`, and the samples that it runs over.

It stands outside the wall: it may import NumPy and pytest, and nothing in the core imports it.
"""

from chainrules_py.testing.backends import Backend, backend, backends, to_numpy
from chainrules_py.testing.check import check_rule
from chainrules_py.testing.coordinates import random_tangent
from chainrules_py.testing.report import Finding, Report, RuleCheckError
from chainrules_py.testing.sample import Draw, Sample, enter_samples, samples_of

__all__ = [
    "Backend",
    "Draw",
    "Finding",
    "Report",
    "RuleCheckError",
    "Sample",
    "backend",
    "backends",
    "check_rule",
    "enter_samples",
    "random_tangent",
    "samples_of",
    "to_numpy",
]
