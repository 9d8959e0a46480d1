"""Common parts of adapters: entries of tangents, repeated calls, and derived aliases.

This package imports no engine. `custom_derivatives` states derivatives as other systems do,
`solvers` computes the operations that take functions, and `fallbacks` computes operations by
others.

Tangents are flattened into lists of entries, as most engines represent them (`opened`, `flat`,
`assembled`, `dense`, ...), or checked and returned with an axis of directions (`many_directions`,
`deliver_many`). Repeated calls are compared with the first (`check_same`); captured values that an
engine cannot see are refused (`refuse_captured`), and so are those of functions that were imported
from another engine (`own_function`). Bodies that compute with NumPy are tried on numbers and called
back (`tried`, `check_promised`). The transformations of an engine are listed as data
(`Transformations`), so that they can be tried (`supported`). Aliases of one library are derived
from those of another (`derive`).
"""

import importlib
from typing import Any

_HOMES = {
    "rerun_checks": "check_same listeners making_again samples",
    "host_callbacks": (
        "UNFIT check_promised exported_line refuse_bare refuse_captured refuse_numpy run_resolved "
        "tried unstated"
    ),
    "numpy_calls": "CONSTANT by_numpy called_by_numpy is_hosted widened",
    "derived_aliases": "derive rows_of",
    "batched_tangent_checks": "deliver_many many_directions",
    "tangent_conversions": "assembled canonical conjugated dense flat opened",
    "call_resolution": "Kernel Resolved Support check_options is_captured lookups resolved stated",
    "hidden_traced_values": "check_hidden",
    "imported_functions": "imported_from of_own own_function refuse_traced_captures",
    "numpy_pulls_and_pushes": (
        "AskedError array_like pulled_on_arrays pushed_on_arrays refused_half"
    ),
    "operand_leaves": "cotangents_in is_constant_of_another of_some tangents_in wanted_in",
    "rule_config": "EngineConfig",
    "supported_transformations": "supported",
    "transformation_list": "Transformation Transformations nestings",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name on first use, because the first gradient needs few of them."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


__all__ = sorted(_HOME_OF)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]
