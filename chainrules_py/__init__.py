"""Differentiation rules, independent of engines and array libraries.

A derivative is stated once, by dispatch, and used everywhere: see `rule`, `scalar_rule`,
`frule` and `rrule`. Names are imported on first access.
"""

import importlib as _importlib
import os as _os
from typing import Any as _Any

# These packages announce the modules that compute operations, and those with their rules.
from chainrules_py import composites as composites
from chainrules_py import rules as rules
from chainrules_py.values.caller_frames import caller as _caller

_HOMES = {
    "rule_config": "Capability Config ForwardMode Mutation NoForwardMode NoReverseMode ReverseMode",
    "engines.export": "export",
    "engines.frule_rrule": "frule rrule",
    "errors": (
        "AmbiguousRuleError ChainRulesError ConvergenceError DegeneracyWarning "
        "LostDerivativeWarning MutationError NanError NoRuleError "
        "NotDifferentiableError ProjectionError RuleError TracerError "
        "UnsupportedKeywordError"
    ),
    "primitives.primitive": "Primitive primitive",
    "registry.explain": "coverage explain rules_for",
    "registry.constructors": (
        "bilinear_rule linear_rule non_differentiable opt_out rule scalar_rule"
    ),
    "registry.removal_and_overriding": "overriding unregister",
    "tangents.arithmetic": "add_tangents",
    "tangents.user_tangent_checks": "ignore_derivatives",
    "tangents.linear_map": "LinearMap identity",
    "tangents.gathered_rows": "Rows",
    "tangents.space": "project space zero_tangent",
    "tangents.structural": "Tangent",
    "tangents.thunks": "unthunk",
    "tangents.zeros": "NoTangent NotImplementedTangent UndefinedTangent ZeroTangent is_zero",
    "values.dispatch_types": "Array Numeric Scalar",
    "values.structure": "register_structure",
    "ops.degeneracy_reports": "strict",
}
"""The names exported here, by module; `__init__.pyi` lists them with their types."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]

chainrules_contract = 1
__version__ = "0.1.0rc1"


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> _Any:
    """Import the object of a name, and cache it."""
    if name in _HOME_OF:
        found = getattr(_importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        return globals().setdefault(name, found)
    if name == "ops":
        return _importlib.import_module(f"{__name__}.ops")
    if name in {"grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"}:
        msg = f"{name} is an engine's, and not the registry's: from chainrules_tape import {name}"
        # A `from` import shows no message of an AttributeError; otherwise the name is missing.
        imports = _caller().f_code.co_name == "_handle_fromlist"
        raise ImportError(msg) if imports else AttributeError(msg)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if _os.environ.get("CHAINRULES_DEBUG") == "1":
    _importlib.import_module("chainrules_py.testing.debug_mode").start(everywhere=True)
