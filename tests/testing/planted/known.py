"""What the judge does not do yet: a mend of it removes entries, or their tests fail."""

from __future__ import annotations

KNOWN: dict[str, str] = {
    "angle of two zeros": "missed: never are all operands zero at once",
    "half precision": "called 'wrong numbers'",
    "value in double precision": "called 'wrong value'",
    "larger of two equal numbers counts twice": "called 'wrong only for the same object twice'",
    "product with two zeros": "called 'wrong only for all zeros (wrong numbers)'",
    "axes restored in the order given": "missed: tuples of axes are tried in one order alone",
    "maximum given to all that are equal": "called 'wrong only for all zeros'",
    "logarithm of sums of large numbers": "missed: operands are never a thousand times as large",
    "median of an even count": "called 'branches on a value'",
    "reversed along all axes": "called 'elements in reverse order along axis 0 in the pull'",
    "rows sorted as the first one": "missed: no leading axis is added",
    "first call decides": "called 'wrong only at a zero'",
    "operand changed in place": "called 'wrong value'",
    "cotangent as a plain dict": "called 'wrong structure or shape'",
}
"""Plants that are missed or called by another name, by their names."""

KNOWN_ALARMS: dict[str, str] = {
    "NumPy: maximum by assignment": "called 'branches on a value'",
}
"""Right rules that are called wrong, by their names."""

KNOWN_AFTER_OTHERS: dict[str, str] = {}
"""Right rules that are called wrong only after others were judged: not in every order of tests."""

KNOWN_IN_SOME_DRAWS: dict[str, str] = {}
"""Right rules that are called wrong in other draws than the first."""
