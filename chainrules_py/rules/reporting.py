"""Rule of reports: their text is no number to vary."""

from chainrules_py.registry.pens import non_differentiable
from chainrules_py.vocabulary import report

non_differentiable(report)
