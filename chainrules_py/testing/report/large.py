"""Names of mistakes in a Jacobian that is too large to be written down: those of a smaller call."""

from __future__ import annotations

import re

from chainrules_py.testing.data.case import Case
from chainrules_py.testing.data.smaller_call import smaller
from chainrules_py.testing.report.patterns import diagnose


def name_by_smaller(case: Case) -> str:
    """Say what is wrong with the derivatives of the same call with less of everything, in words."""
    small = smaller(case)
    if small is None:
        return ""
    try:
        name, table = diagnose(small.whole)
    except Exception:  # the rule is for this length alone
        return ""
    if table is not None:  # places of the small call are none of this one
        return "wrong numbers" if re.search(r"element of|entries", name) else name
    if small.inputs.size == case.inputs.size:
        return "right to few digits"
    return "wrong only for large arrays"
