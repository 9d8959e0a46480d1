from chainrules_bridge.again import agree, another, check_same, prints, samples
from chainrules_bridge.bodies import (
    UNFIT,
    CalledBackWarning,
    check_promised,
    raised_in,
    refuse_bare,
    refuse_captured,
    refuse_numpy,
    refuse_operator,
    refused_rule,
    tried,
    unstated,
    warn_called_back,
)
from chainrules_bridge.by_numpy import CONSTANT, by_numpy, called_by_numpy, is_hosted
from chainrules_bridge.derived_rows import derive, rows_of
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
from chainrules_bridge.hidden import check_hidden, may_hide
from chainrules_bridge.imported import (
    imported_from,
    of_own,
    own_function,
    refuse_inside,
    refuse_traced_captures,
)
from chainrules_bridge.linear import check_linear
from chainrules_bridge.support import supported
from chainrules_bridge.transform import Transformation, Transformations, nestings
from chainrules_bridge.windows import gathered_windows

__all__ = [
    "CONSTANT",
    "UNFIT",
    "CalledBackWarning",
    "Transformation",
    "Transformations",
    "agree",
    "another",
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
    "may_hide",
    "nestings",
    "of_own",
    "opened",
    "own_function",
    "raised_in",
    "refuse_bare",
    "refuse_numpy",
    "refuse_operator",
    "refuse_captured",
    "refuse_inside",
    "refuse_traced_captures",
    "refused_rule",
    "rows_of",
    "prints",
    "samples",
    "supported",
    "tried",
    "unstated",
    "warn_called_back",
]
