"""Rules of differentiation, apart from any engine and any array library.

A derivative is stated once, by dispatch, and used everywhere: see `rule`, `scalar_rule`,
`frule` and `rrule`.
"""

from chainrules_py import composites, rules, vocabulary
from chainrules_py.config import Capability, Config, ForwardMode, Mutation, ReverseMode
from chainrules_py.engines.export import export
from chainrules_py.engines.frule_rrule import frule, rrule
from chainrules_py.errors import (
    AmbiguousRuleError,
    ChainRulesError,
    ContractError,
    ConvergenceError,
    DegeneracyWarning,
    MutationError,
    NanError,
    NoRuleError,
    NotDifferentiableError,
    ProjectionError,
    RuleError,
    TracerError,
    UnsupportedKeywordError,
)
from chainrules_py.primitives.primitive import Primitive, primitive
from chainrules_py.primitives.rows.alias import alias
from chainrules_py.registry.bind.bind import bind
from chainrules_py.registry.explain import coverage, explain, rules_for
from chainrules_py.registry.pens import (
    bilinear_rule,
    linear_rule,
    non_differentiable,
    opt_out,
    rule,
    scalar_rule,
)
from chainrules_py.registry.table import find_rule
from chainrules_py.tangents.arithmetic import accumulate, add_tangents, canonicalize, move, scale
from chainrules_py.tangents.linear_map import LinearMap, identity
from chainrules_py.tangents.space import Space, project, space, zero_tangent
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.zeros import (
    AbstractTangent,
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    ZeroTangent,
    is_zero,
)
from chainrules_py.values.arrays import Array, Numeric, Scalar, Tracer, lazy_array_type
from chainrules_py.values.library import Library
from chainrules_py.values.structure import register_structure
from chainrules_py.values.tracers import ignore_derivatives
from chainrules_py.values.type_info import (
    is_mutable_destination,
    namespace,
    register_array_type,
    register_scalar_type,
)

__all__ = [
    "AbstractTangent",
    "AbstractZero",
    "AmbiguousRuleError",
    "Array",
    "Capability",
    "ChainRulesError",
    "Config",
    "ContractError",
    "ConvergenceError",
    "DegeneracyWarning",
    "ForwardMode",
    "Library",
    "LinearMap",
    "Mutation",
    "MutationError",
    "NanError",
    "NoRuleError",
    "NoTangent",
    "NotDifferentiableError",
    "NotImplementedTangent",
    "Numeric",
    "Primitive",
    "ProjectionError",
    "ReverseMode",
    "RuleError",
    "Scalar",
    "Space",
    "Tangent",
    "Thunk",
    "Tracer",
    "TracerError",
    "UnsupportedKeywordError",
    "ZeroTangent",
    "accumulate",
    "add_tangents",
    "alias",
    "bilinear_rule",
    "bind",
    "composites",
    "canonicalize",
    "coverage",
    "explain",
    "export",
    "find_rule",
    "frule",
    "identity",
    "ignore_derivatives",
    "is_mutable_destination",
    "is_zero",
    "lazy_array_type",
    "linear_rule",
    "move",
    "namespace",
    "non_differentiable",
    "opt_out",
    "primitive",
    "project",
    "register_array_type",
    "register_scalar_type",
    "register_structure",
    "rrule",
    "rule",
    "rules",
    "rules_for",
    "scalar_rule",
    "scale",
    "space",
    "unthunk",
    "vocabulary",
    "zero_tangent",
]

chainrules_contract = 1
__version__ = "0.1.0"
