"""Names of mistakes in a Jacobian that is too large to compute: those of a smaller call."""

from __future__ import annotations

import re

from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.smaller_call import smaller
from chainrules_py.testing.report.case_diagnosis import diagnose


def name_by_smaller(case: Case) -> str:
    """Name what is wrong with the derivatives, from a smaller version of the call."""
    small = smaller(case)
    if small is None:
        return ""
    try:
        name, table = diagnose(small.whole)
    except Exception:  # the rule requires this length
        return ""
    if table is not None:  # indices of the small call are not those of this one
        return "wrong numbers" if re.search(r"element of|entries", name) else name
    if small.inputs.size == case.inputs.size:
        return "right to few digits"
    return "wrong only for large arrays"
