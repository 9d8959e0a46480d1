"""Operations that libraries do not compute, and why: the rules of these rest.

A test sees to it that each of these is refused where it is called, and that there are no others.
"""

from __future__ import annotations

from chainrules_py.testing.data.build import Instance

_NO_FUNCTION = "the library has no such function"
_RULE_NEEDS = "its rule needs a function that the library has not"
REASONS = (_NO_FUNCTION, _RULE_NEEDS)
"""All the reasons that there are."""


def _of(names: str, reason: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


UNSUPPORTED: dict[str, dict[str, str]] = {
    "cupy": {
        **_of("dawsn ellipe erfi fresnel hyp0f1 hyp1f1 hyp2f1 owens_t spence wofz", _NO_FUNCTION),
        **_of("iv ive jv kv kve yv logm sqrtm solve_sylvester", _NO_FUNCTION),
        **_of("ellipk ellipkm1 unitary_factor", _RULE_NEEDS),  # ellipe, solve_sylvester
    },
}
"""By library, then by operation, the reason."""


def unsupported(library: str, instance: Instance) -> str:
    """Why a sample does not run on a library; empty if it does."""
    return UNSUPPORTED.get(library, {}).get(instance.operation.__name__, "")
