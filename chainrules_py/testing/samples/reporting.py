"""Samples of what a rule says when a derivative is not determined."""

from chainrules_py import vocabulary as v
from chainrules_py.testing.sample import Sample, samples

__all__: list[str] = []

samples(
    v.report,
    Sample(False, message="a choice"),
    Sample([False, False], message="a choice"),
)
