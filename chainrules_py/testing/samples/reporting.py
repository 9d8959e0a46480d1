"""Samples of what a rule says when a derivative is not determined."""

from chainrules_py import vocabulary as v
from chainrules_py.testing.samples.sample import Sample, enter_samples

enter_samples(
    v.report, Sample(False, message="a choice"), Sample([False, False], message="a choice")
)
