from chainrules_py import composites as composites
from chainrules_py import ops as ops
from chainrules_py import rules as rules
from chainrules_py.engines.export import export as export
from chainrules_py.engines.frule_rrule import (
    frule as frule,
)
from chainrules_py.engines.frule_rrule import (
    rrule as rrule,
)
from chainrules_py.errors import (
    AmbiguousRuleError as AmbiguousRuleError,
)
from chainrules_py.errors import (
    ChainRulesError as ChainRulesError,
)
from chainrules_py.errors import (
    ConvergenceError as ConvergenceError,
)
from chainrules_py.errors import (
    DegeneracyWarning as DegeneracyWarning,
)
from chainrules_py.errors import (
    LostDerivativeWarning as LostDerivativeWarning,
)
from chainrules_py.errors import (
    MutationError as MutationError,
)
from chainrules_py.errors import (
    NanError as NanError,
)
from chainrules_py.errors import (
    NoRuleError as NoRuleError,
)
from chainrules_py.errors import (
    NotDifferentiableError as NotDifferentiableError,
)
from chainrules_py.errors import (
    ProjectionError as ProjectionError,
)
from chainrules_py.errors import (
    RuleError as RuleError,
)
from chainrules_py.errors import (
    TracerError as TracerError,
)
from chainrules_py.errors import (
    UnsupportedKeywordError as UnsupportedKeywordError,
)
from chainrules_py.ops.degeneracy_reports import strict as strict
from chainrules_py.primitives.primitive import (
    Primitive as Primitive,
)
from chainrules_py.primitives.primitive import (
    primitive as primitive,
)
from chainrules_py.registry.constructors import (
    bilinear_rule as bilinear_rule,
)
from chainrules_py.registry.constructors import (
    linear_rule as linear_rule,
)
from chainrules_py.registry.constructors import (
    non_differentiable as non_differentiable,
)
from chainrules_py.registry.constructors import (
    opt_out as opt_out,
)
from chainrules_py.registry.constructors import (
    rule as rule,
)
from chainrules_py.registry.constructors import (
    scalar_rule as scalar_rule,
)
from chainrules_py.registry.explain import (
    coverage as coverage,
)
from chainrules_py.registry.explain import (
    explain as explain,
)
from chainrules_py.registry.explain import (
    rules_for as rules_for,
)
from chainrules_py.registry.removal_and_overriding import (
    overriding as overriding,
)
from chainrules_py.registry.removal_and_overriding import (
    unregister as unregister,
)
from chainrules_py.rule_config import (
    Capability as Capability,
)
from chainrules_py.rule_config import (
    Config as Config,
)
from chainrules_py.rule_config import (
    ForwardMode as ForwardMode,
)
from chainrules_py.rule_config import (
    Mutation as Mutation,
)
from chainrules_py.rule_config import (
    NoForwardMode as NoForwardMode,
)
from chainrules_py.rule_config import (
    NoReverseMode as NoReverseMode,
)
from chainrules_py.rule_config import (
    ReverseMode as ReverseMode,
)
from chainrules_py.tangents.arithmetic import add_tangents as add_tangents
from chainrules_py.tangents.gathered_rows import Rows as Rows
from chainrules_py.tangents.linear_map import (
    LinearMap as LinearMap,
)
from chainrules_py.tangents.linear_map import (
    identity as identity,
)
from chainrules_py.tangents.space import (
    project as project,
)
from chainrules_py.tangents.space import (
    space as space,
)
from chainrules_py.tangents.space import (
    zero_tangent as zero_tangent,
)
from chainrules_py.tangents.structural import Tangent as Tangent
from chainrules_py.tangents.thunks import unthunk as unthunk
from chainrules_py.tangents.user_tangent_checks import ignore_derivatives as ignore_derivatives
from chainrules_py.tangents.zeros import (
    NoTangent as NoTangent,
)
from chainrules_py.tangents.zeros import (
    NotImplementedTangent as NotImplementedTangent,
)
from chainrules_py.tangents.zeros import (
    UndefinedTangent as UndefinedTangent,
)
from chainrules_py.tangents.zeros import (
    ZeroTangent as ZeroTangent,
)
from chainrules_py.tangents.zeros import (
    is_zero as is_zero,
)
from chainrules_py.values.dispatch_types import (
    Array as Array,
)
from chainrules_py.values.dispatch_types import (
    Numeric as Numeric,
)
from chainrules_py.values.dispatch_types import (
    Scalar as Scalar,
)
from chainrules_py.values.structure import register_structure as register_structure

__all__ = [
    "AmbiguousRuleError",
    "Array",
    "Capability",
    "ChainRulesError",
    "Config",
    "ConvergenceError",
    "DegeneracyWarning",
    "ForwardMode",
    "LinearMap",
    "LostDerivativeWarning",
    "Mutation",
    "MutationError",
    "NanError",
    "NoForwardMode",
    "NoReverseMode",
    "NoRuleError",
    "NoTangent",
    "NotDifferentiableError",
    "NotImplementedTangent",
    "Numeric",
    "Primitive",
    "ProjectionError",
    "ReverseMode",
    "Rows",
    "RuleError",
    "Scalar",
    "Tangent",
    "TracerError",
    "UndefinedTangent",
    "UnsupportedKeywordError",
    "ZeroTangent",
    "add_tangents",
    "bilinear_rule",
    "coverage",
    "explain",
    "export",
    "frule",
    "identity",
    "ignore_derivatives",
    "is_zero",
    "linear_rule",
    "non_differentiable",
    "opt_out",
    "overriding",
    "primitive",
    "project",
    "register_structure",
    "rrule",
    "rule",
    "rules_for",
    "scalar_rule",
    "space",
    "strict",
    "unregister",
    "unthunk",
    "zero_tangent",
]

chainrules_contract: int
__version__: str
