"""Values that are kept for a gradient, and values that are computed again.

Which are kept (`Policy`), how others are computed from them when a record reads them (`Recalled`),
and how kept ones are put away (`Packed`). Who notes calls hears of those that are made again
(`making_again`). Nothing here knows what a tape is: calls and records go in.
"""

from chainrules_recall.again import listeners, making_again
from chainrules_recall.policies import Packing, Policy, Save, check_save, nbytes
from chainrules_recall.values import Packed, Recalled

__all__ = [
    "Packed",
    "Packing",
    "Policy",
    "Recalled",
    "Save",
    "check_save",
    "listeners",
    "making_again",
    "nbytes",
]
