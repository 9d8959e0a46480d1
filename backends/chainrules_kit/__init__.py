"""What adapters share besides the core: entries of tangents, functions that are run again, rows.

It imports no engine. `forms` states derivatives as other systems do, `solvers` computes the
operations that take functions, and `fallbacks` computes operations in other words.

Tangents are taken apart into flat lists of entries, as most engines have them (`opened`, `flat`,
`assembled`, `dense`, ...), or checked and handed out with an axis of directions
(`many_directions`, `deliver_many`). What is run again is compared (`check_same`); what an engine
cannot see in a function is refused (`refuse_captured`), and what functions captured that were
imported from another (`own_function`). Bodies that compute
with NumPy are tried on numbers and called back (`tried`, `check_promised`). What an engine
transforms is listed as data (`Transformations`), so that it can be tried (`supported`). Rows of one
library are derived from those of another (`derive`).
"""

import importlib
from typing import Any

_HOMES = {
    "repeated_calls": "check_same listeners making_again samples",
    "bodies": (
        "UNFIT check_promised exported_line refuse_bare refuse_captured refuse_numpy run_resolved "
        "tried unstated"
    ),
    "numpy_calls": "CONSTANT by_numpy called_by_numpy is_hosted",
    "derived_aliases": "derive rows_of",
    "directions": "deliver_many many_directions",
    "tangent_entries": "assembled canonical conjugated dense densely flat opened",
    "export": "Kernel Resolved Support check_options is_captured lookups resolved stated",
    "unregistered_objects": "check_hidden",
    "imported_functions": "imported_from of_own own_function refuse_traced_captures",
    "numpy_halves": "AskedError array_like pulled_on_arrays pushed_on_arrays refused_half",
    "structures": "cotangents_in of_some tangents_in wanted_in",
    "support": "supported",
    "transform": "Transformation Transformations nestings",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: the first gradient needs few of them."""
    if name not in _HOME_OF:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found


__all__ = sorted(_HOME_OF)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]
