"""SciPy's private names that this package uses: all of them are in this module.

A version of SciPy may lack any of them. Each is looked up when it is first used, and `private`
returns None if it is missing; the module that uses it then works without it, or raises.
"""

from __future__ import annotations

import functools
import importlib
from types import ModuleType
from typing import Any

# The modules of SciPy that define the names.
PLACES = {
    "_NQuad": "scipy.integrate._quadpack_py",
    "_cached_roots_legendre": "scipy.integrate._quadrature",
    "_filtfilt_gust": "scipy.signal._signaltools",
    "_gaussian_kernel1d": "scipy.ndimage._filters",
    "_min_or_max_filter": "scipy.ndimage._filters",
    "_rank_filter": "scipy.ndimage._filters",
    "_local_maxima_1d": "scipy.signal._peak_finding_utils",
    "_peak_prominences": "scipy.signal._peak_finding_utils",
    "_peak_widths": "scipy.signal._peak_finding_utils",
    "_select_by_peak_distance": "scipy.signal._peak_finding_utils",
    "_rigid_transform_xp": "scipy.spatial.transform",
    "_rotation_xp": "scipy.spatial.transform",
    "_quat_canonical": "scipy.spatial.transform._rotation_xp",
    "as_rotvec": "scipy.spatial.transform._rotation_xp",
    "compose_quat": "scipy.spatial.transform._rotation_xp",
    "from_matrix": "scipy.spatial.transform._rotation_xp",
    "from_rotvec": "scipy.spatial.transform._rotation_xp",
    "reduce": "scipy.spatial.transform._rotation_xp",
    "_boxcox_llf": "scipy.stats._morestats",
    "_power_divergence": "scipy.stats._stats_py",
    "_put_val_to_limits": "scipy.stats._stats_py",
    "_quantile_iv": "scipy.stats._quantile",
    "_ndim_coords_from_arrays": "scipy.interpolate._ndgriddata",
    "_validate_inputs": "scipy.interpolate._fitpack_repro",
    "_var": "scipy.stats._stats_py",
    "_xp_var": "scipy.stats._stats_py",
    "_yeojohnson_llf": "scipy.stats._morestats",
    "_yeojohnson_transform": "scipy.stats._morestats",
    "CovViaPSD": "scipy.stats._covariance",
    "_PSD": "scipy.stats._multivariate",
    "AndersonResult": "scipy.stats._morestats",
    "KstestResult": "scipy.stats._stats_py",
    "LinregressResult": "scipy.stats._stats_py",
    "PearsonRResultBase": "scipy.stats._stats_py",
    "SignificanceResult": "scipy.stats._stats_py",
    "TtestResultBase": "scipy.stats._stats_py",
    "_lambertw": "scipy.special._ufuncs",
    "_riemann_zeta": "scipy.special._ufuncs",
    "_scaled_exp1": "scipy.special._ufuncs",
    "_smirnovp": "scipy.special._ufuncs",
    "_zeta": "scipy.special._ufuncs",
}
# The modules that SciPy's sparse classes name; an array passed to a function names its own.
OF_SPARSE_ARRAYS = [f"scipy.sparse._{f}" for f in ("csr", "csc", "coo", "bsr", "dia", "dok", "lil")]


@functools.cache
def private(name: str) -> Any:
    """Return SciPy's object of one of these names; None if it is missing.

    Examples
    --------
    >>> private("_xp_var").__name__
    '_xp_var'
    """
    return getattr(_module(PLACES[name]), name, None)


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def helper_name(value: Any) -> str | None:
    """Return the name of a function or class from SciPy's private packages; None for others.

    SciPy moves these from module to module, but keeps their names.
    """
    home = getattr(value, "__module__", None)
    return (
        getattr(value, "__name__", None)
        if type(home) is str and home.startswith("scipy._")
        else None
    )


def is_numpy(module: ModuleType) -> bool:
    """Return whether a module is SciPy's wrapper of NumPy for the array-API standard."""
    return module.__name__.endswith("array_api_compat.numpy")


def common_base(first: type, *others: type) -> Any:
    """Return the nearest common base class: SciPy has no public name for some.

    Examples
    --------
    >>> common_base(bool, int, float)
    <class 'object'>
    """
    return next(c for c in first.__mro__ if all([issubclass(other, c) for other in others]))
