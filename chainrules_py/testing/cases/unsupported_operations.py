"""Operations that libraries do not compute, and why; their rules are not checked there.

A test verifies that each of them raises where it is called, and that there are no others.
"""

from __future__ import annotations

from chainrules_py.testing.cases.calls_from_samples import Instance

_NO_FUNCTION = "the library has no such function"
_RULE_NEEDS = "its rule needs a function that the library has not"
REASONS = (_NO_FUNCTION, _RULE_NEEDS)
"""All reasons."""


def _of(names: str, reason: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


UNSUPPORTED: dict[str, dict[str, str]] = {
    "cupy": {
        **_of("dawsn ellipe erfi fresnel hyp0f1 hyp1f1 hyp2f1 owens_t spence wofz", _NO_FUNCTION),
        **_of("iv ive jv kv kve yv logm sqrtm solve_sylvester", _NO_FUNCTION),
        **_of("ellipk ellipkm1 unitary_factor", _RULE_NEEDS),  # ellipe, solve_sylvester
    },
}
"""The reasons, by library and operation."""


def unsupported(library: str, instance: Instance) -> str:
    """Return why a sample does not run on a library; empty if it does."""
    return UNSUPPORTED.get(library, {}).get(instance.operation.__name__, "")
