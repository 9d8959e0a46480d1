from chainrules_kit.batched_tangent_checks import deliver_many, many_directions
from chainrules_kit.call_resolution import (
    Kernel,
    Resolved,
    Support,
    check_options,
    is_captured,
    lookups,
    resolved,
    stated,
)
from chainrules_kit.derived_aliases import derive, rows_of
from chainrules_kit.hidden_traced_values import check_hidden
from chainrules_kit.host_callbacks import (
    UNFIT,
    check_promised,
    exported_line,
    refuse_bare,
    refuse_captured,
    refuse_numpy,
    run_resolved,
    tried,
    unstated,
)
from chainrules_kit.imported_functions import (
    imported_from,
    of_own,
    own_function,
    refuse_traced_captures,
)
from chainrules_kit.numpy_calls import CONSTANT, by_numpy, called_by_numpy, is_hosted, widened
from chainrules_kit.numpy_pulls_and_pushes import (
    AskedError,
    array_like,
    pulled_on_arrays,
    pushed_on_arrays,
    refused_half,
)
from chainrules_kit.operand_leaves import (
    cotangents_in,
    is_constant_of_another,
    of_some,
    tangents_in,
    wanted_in,
)
from chainrules_kit.rerun_checks import (
    check_same,
    listeners,
    making_again,
    samples,
)
from chainrules_kit.rule_config import EngineConfig
from chainrules_kit.supported_transformations import supported
from chainrules_kit.tangent_conversions import (
    assembled,
    canonical,
    conjugated,
    dense,
    flat,
    opened,
)
from chainrules_kit.transformation_list import Transformation, Transformations, nestings

__all__ = [
    "cotangents_in",
    "run_resolved",
    "tangents_in",
    "wanted_in",
    "Kernel",
    "Resolved",
    "Support",
    "check_options",
    "is_captured",
    "listeners",
    "lookups",
    "making_again",
    "resolved",
    "stated",
    "AskedError",
    "EngineConfig",
    "CONSTANT",
    "Transformation",
    "Transformations",
    "UNFIT",
    "array_like",
    "assembled",
    "by_numpy",
    "called_by_numpy",
    "canonical",
    "check_hidden",
    "check_promised",
    "check_same",
    "conjugated",
    "deliver_many",
    "dense",
    "derive",
    "exported_line",
    "flat",
    "imported_from",
    "is_constant_of_another",
    "is_hosted",
    "many_directions",
    "nestings",
    "of_own",
    "of_some",
    "opened",
    "own_function",
    "pulled_on_arrays",
    "pushed_on_arrays",
    "refuse_bare",
    "refuse_captured",
    "refuse_numpy",
    "refuse_traced_captures",
    "refused_half",
    "rows_of",
    "samples",
    "supported",
    "tried",
    "unstated",
    "widened",
]
