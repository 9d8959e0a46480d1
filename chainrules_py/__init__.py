"""Rules of differentiation, apart from any engine and any array library.

A derivative is stated once, by dispatch, and used everywhere: see `rule`, `scalar_rule`,
`frule` and `rrule`.
"""

import os as _os
import sys as _sys

# What computes the words, and what derives them, is announced there.
from chainrules_py import composites as composites
from chainrules_py import rules as rules
from chainrules_py import vocabulary as vocabulary
from chainrules_py.config import (
    Capability,
    Config,
    ForwardMode,
    Mutation,
    NoForwardMode,
    NoReverseMode,
    ReverseMode,
)
from chainrules_py.engines.export import export
from chainrules_py.engines.frule_rrule import frule, rrule
from chainrules_py.errors import (
    AmbiguousRuleError,
    ChainRulesError,
    ConvergenceError,
    DegeneracyWarning,
    LostDerivativeWarning,
    MutationError,
    NanError,
    NoRuleError,
    NotDifferentiableError,
    PackageWarning,
    ProjectionError,
    RuleError,
    TracerError,
    UnsupportedKeywordError,
)
from chainrules_py.primitives.primitive import Primitive, primitive
from chainrules_py.registry.explain import coverage, explain, rules_for
from chainrules_py.registry.pens import (
    bilinear_rule,
    linear_rule,
    non_differentiable,
    opt_out,
    rule,
    scalar_rule,
)
from chainrules_py.registry.removal import overriding, settle, unregister
from chainrules_py.tangents.arithmetic import add_tangents
from chainrules_py.tangents.boundary import ignore_derivatives
from chainrules_py.tangents.linear_map import LinearMap, identity
from chainrules_py.tangents.rows import Rows
from chainrules_py.tangents.space import project, space, zero_tangent
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import (
    NoTangent,
    NotImplementedTangent,
    UndefinedTangent,
    ZeroTangent,
    is_zero,
)
from chainrules_py.values.arrays import Array, Numeric, Scalar
from chainrules_py.values.structure import register_structure
from chainrules_py.vocabulary.reporting import strict

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
    "PackageWarning",
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
    "settle",
    "space",
    "strict",
    "unregister",
    "unthunk",
    "zero_tangent",
]

chainrules_contract = 1
__version__ = "0.1.0"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> object:
    if name in {"grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"}:
        msg = f"{name} is an engine's, and not the registry's: from chainrules_tape import {name}"
        # A `from` import shows no message of an AttributeError; for all else there is no such name.
        imports = _sys._getframe(1).f_code.co_name == "_handle_fromlist"
        raise ImportError(msg) if imports else AttributeError(msg)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


if _os.environ.get("CHAINRULES_DEBUG") == "1":
    import importlib as _importlib

    _importlib.import_module("chainrules_py.testing.rerun").start(everywhere=True)
