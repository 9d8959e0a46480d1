"""What a library cannot do, and why: words that it does not compute, so that their rules rest.

A test sees to it that each of these is refused where it is called, and that there are no others.
"""

from __future__ import annotations

from chainrules_py.testing.build import Instance

__all__ = ["GAPS", "gap_of"]

_NO_FUNCTION = "the library has no such function"
_MATRICES = "the library has no such function of matrices"


def _of(names: str, reason: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), reason)


GAPS: dict[str, dict[str, str]] = {
    "cupy": {
        **_of("dawsn ellipe erfi fresnel hyp0f1 hyp1f1 hyp2f1 owens_t spence wofz", _NO_FUNCTION),
        **_of("iv ive jv kv kve yv", "the library has Bessel functions of orders 0 and 1 alone"),
        **_of("ellipk ellipkm1", "the rule needs ellipe, which the library has not"),
        **_of("logm sqrtm solve_sylvester", _MATRICES),
        **_of("unitary_factor", "the rule needs solve_sylvester, which the library has not"),
        **_of(
            "lu_factor", "the library gives one matrix at a time, and pivots without their order"
        ),
    },
    "torch": _of("clip_above clip_below", "the library does not order complex numbers"),
    "jax": {
        **_of("logm sqrtm solve_sylvester", _MATRICES),
        **_of("expm expm_frechet lu_factor qr_raw", "not yet: the library has the function"),
        **_of("unitary_factor", "the rule needs solve_sylvester, which the library has not"),
    },
}
"""By library, then by word, the reason. A word that is computed of some dtypes only, as PyTorch's
bounds are of real numbers, is judged at those."""

_OF_COMPLEX = {("torch", "clip_above"), ("torch", "clip_below")}


def gap_of(library: str, instance: Instance) -> str:
    """Why a sample does not run on a library; empty if it does."""
    name = instance.word.__name__
    if (library, name) in _OF_COMPLEX:
        drawn = [getattr(x, "kind", "") for x in instance.sample.operands]
        if not instance.complex and "complex" not in drawn:
            return ""
    return GAPS.get(library, {}).get(name, "")
