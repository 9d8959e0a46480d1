"""The derivative of `scipy.special.agm`, for every engine that takes rules."""

from agm_rules.rules import agm

__all__ = ["agm"]

chainrules_contract = 1  # the version of the contract with chainrules_py
