"""Calls of NumPy's functions, one module per family: what the coverage page counts."""

from __future__ import annotations

from collections.abc import Iterator

# isort: off
# Random programs draw from the calls in the order of entering: the families stay in this order.
from tests.surface.calls import creation, decompositions, elementwise, array_info, fourier
from tests.surface.calls import higher_order, indexing, joining, manipulation, polynomials
from tests.surface.calls import products, reductions, scipy_linalg, sets, sorting, special
from tests.surface.calls import statistics, scipy_fft, scipy_ufuncs

# isort: on
from chainrules_py.testing.samples.sample import Sample
from tests.surface.calls.call import ENTERED, SurfaceCall
from tests.surface.names import library_of, native_named

__all__ = [
    "array_info",
    "creation",
    "decompositions",
    "elementwise",
    "fourier",
    "higher_order",
    "indexing",
    "joining",
    "manipulation",
    "names_with_calls",
    "polynomials",
    "products",
    "reductions",
    "scipy_fft",
    "scipy_linalg",
    "scipy_ufuncs",
    "sets",
    "sorting",
    "special",
    "statistics",
    "surface_calls",
]

# Of each ufunc a call with the keywords that change no number.
for _name, _entered in [*ENTERED.items()]:
    refuses = _name in ("float_power", "fabs", "rint", "_core.umath._ones_like")
    if library_of(_name) != "numpy" or refuses:
        continue
    if getattr(native_named(_name), "signature", "") is None:
        _first = next(each for each in _entered if list not in map(type, each.operands))
        _more = Sample(
            *_first.operands,
            smooth=_first.smooth,
            casting="unsafe",
            order="C",
            subok=False,
        )
        ENTERED[_name] = (*_entered, _more)


def names_with_calls(library: str = "numpy") -> tuple[str, ...]:
    """Return the functions of NumPy, or of SciPy, that calls were entered for."""
    return tuple([name for name in ENTERED if library_of(name) == library])


def surface_calls(name: str) -> Iterator[SurfaceCall]:
    """Yield the calls of a function, those that say so once more with complex operands."""
    for number, sample in enumerate(ENTERED.get(name, ())):
        yield SurfaceCall(name, sample, number)
        if sample.complex:
            yield SurfaceCall(name, sample, number, complex=True)
