"""What backends share besides the core: entries of tangents, functions that are run again, rows.

Tangents are taken apart into flat lists of entries, as most engines have them (`opened`, `flat`,
`assembled`, `dense`, ...), or checked and handed out with an axis of directions
(`many_directions`, `deliver_many`). What is run again is compared (`check_same`); what an engine
cannot see in a function is refused (`refuse_captured`), and what functions captured that were
imported from another (`own_function`). A plain function with
rules, which engines that run it would not see, is its primitive (`as_seen`). Bodies that compute
with NumPy are tried on numbers and called back (`tried`, `check_promised`). What an engine
transforms is listed as data (`Transformations`), so that it can be tried (`supported`). Rows of one
library are derived from those of another (`derive`).
"""

from chainrules_bridge.again import agree, another, check_same, prints, samples
from chainrules_bridge.bodies import (
    UNFIT,
    check_promised,
    refuse_bare,
    refuse_captured,
    refuse_numpy,
    tried,
    unstated,
)
from chainrules_bridge.by_numpy import CONSTANT, by_numpy, called_by_numpy, is_hosted
from chainrules_bridge.derive import derive, rows_of
from chainrules_bridge.direct import as_seen
from chainrules_bridge.directions import deliver_many, many_directions
from chainrules_bridge.entries import (
    assembled,
    canonical,
    conjugated,
    dense,
    densely,
    flat,
    opened,
)
from chainrules_bridge.hidden import check_hidden
from chainrules_bridge.imported import (
    imported_from,
    of_own,
    own_function,
    refuse_traced_captures,
)
from chainrules_bridge.linear import check_linear
from chainrules_bridge.on_arrays import (
    AskedError,
    array_like,
    pulled_on_arrays,
    pushed_on_arrays,
    refused_half,
)
from chainrules_bridge.support import supported
from chainrules_bridge.transform import Transformation, Transformations, nestings
from chainrules_bridge.windows import gathered_windows

__all__ = [
    "AskedError",
    "CONSTANT",
    "UNFIT",
    "Transformation",
    "Transformations",
    "agree",
    "another",
    "array_like",
    "as_seen",
    "assembled",
    "by_numpy",
    "called_by_numpy",
    "canonical",
    "check_hidden",
    "check_linear",
    "check_promised",
    "check_same",
    "conjugated",
    "dense",
    "densely",
    "deliver_many",
    "derive",
    "flat",
    "gathered_windows",
    "imported_from",
    "is_hosted",
    "many_directions",
    "nestings",
    "of_own",
    "opened",
    "own_function",
    "refuse_bare",
    "refuse_numpy",
    "refuse_captured",
    "refuse_traced_captures",
    "pulled_on_arrays",
    "pushed_on_arrays",
    "refused_half",
    "rows_of",
    "prints",
    "samples",
    "supported",
    "tried",
    "unstated",
]
