"""Rules for words that make arrays: of their operand they take no element."""

from chainrules_py.rule import non_differentiable
from chainrules_py.vocabulary import arange_like, eye_like, full_like, ones_like, zeros_like

for _word in (full_like, zeros_like, ones_like, arange_like, eye_like):
    non_differentiable(_word)
