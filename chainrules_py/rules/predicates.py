"""Rules of operations without a derivative: comparisons, logic, rounding, bits."""

from chainrules_py.ops import predicates
from chainrules_py.registry.constructors import non_differentiable

for _name in predicates.__all__:
    non_differentiable(getattr(predicates, _name))
