"""The derivative of `scipy.special.agm`, for every engine that takes rules."""

chainrules_contract = 1  # with chainrules_py: stated above the rules, which need it

from agm_rules.rules import agm  # noqa: E402

__all__ = ["agm"]
