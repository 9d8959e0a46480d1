"""Values that are kept for a gradient, and values that are computed again.

Which are kept (`Policy`), how others are computed from them when a record reads them (`Recalled`),
how kept ones are put away (`Packed`), where along a chain values are kept (`first_part`), and a
table of what is kept (`Saved`). Who notes calls hears of those that are made again
(`making_again`). Nothing here knows what a tape is: calls and records go in.
"""

from chainrules_recall.again import listeners, making_again
from chainrules_recall.policies import Packing, Policy, Save, check_save, nbytes
from chainrules_recall.schedule import first_part, repeated_steps
from chainrules_recall.table import Saved, SavedValue
from chainrules_recall.values import Packed, Recalled

__all__ = [
    "Packed",
    "Packing",
    "Policy",
    "Recalled",
    "Save",
    "Saved",
    "SavedValue",
    "check_save",
    "first_part",
    "listeners",
    "making_again",
    "nbytes",
    "repeated_steps",
]
