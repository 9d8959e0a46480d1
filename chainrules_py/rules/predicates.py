"""Words without a derivative: comparisons, logic, rounding, bits."""

from chainrules_py.registry.pens import non_differentiable
from chainrules_py.vocabulary import predicates

for _name in predicates.__all__:
    non_differentiable(getattr(predicates, _name))
