"""What engines share besides the core: entries of tangents, and functions that are made again.

Tangents are taken apart into flat lists of entries, as most engines have them (`opened`, `flat`,
`assembled`, `dense`, ...), and what an engine made of a function is pickled as the call that made
it (`made`). What an engine transforms is listed as data (`Transformations`).
"""

from chainrules_bridge.again import Made, check_same, made, samples
from chainrules_bridge.entries import (
    assembled,
    canonical,
    conjugated,
    dense,
    densely,
    flat,
    opened,
)
from chainrules_bridge.transform import Transformation, Transformations, nestings

__all__ = [
    "Made",
    "Transformation",
    "Transformations",
    "assembled",
    "canonical",
    "check_same",
    "conjugated",
    "dense",
    "densely",
    "flat",
    "made",
    "nestings",
    "opened",
    "samples",
]
