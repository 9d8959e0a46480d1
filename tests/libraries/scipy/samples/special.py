"""Calls of ``scipy.special``: every ufunc in every operand, and the functions."""

from __future__ import annotations

import numpy as np
import scipy.special as native

from tests.libraries.scipy.samples.common import draw, sample

X, P = draw(5), abs(draw(5)) + 0.3
U = np.array([0.2, 0.4, 0.7])
sample("special.logsumexp", X, P, call=lambda f, x, b: f(x, b=b))
sample("special.softmax", X)
sample("special.log_softmax", X)
sample("special.softplus", X)
sample("special.multigammaln", P + 2, call=lambda f, x: f(x, 3))
sample("special.polygamma", P, call=lambda f, x: f(2, x))
sample("special.digamma", P)
sample("special.comb", P + 3, P)
sample("special.perm", P + 3, P)
sample("special.factorial", P)
sample("special.factorial2", P, call=lambda f, x: f(x, extend="complex"))
sample("special.diric", P, call=lambda f, x: f(x, 5))
sample("special.sinc", X)
sample("special.zeta", P + 1, P)
sample("special.zeta", P + 1.5)
sample("special.lambertw", P)
sample("special.fresnelc_zeros", call=lambda f: f(2))
for _name in ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"):
    sample(f"special.{_name}", P, call=lambda f, x: f(2, x))
    sample(f"special.{_name}", P, call=lambda f, x: f(2, x, derivative=True))
for _name in ("jvp", "yvp", "ivp", "kvp", "h1vp", "h2vp"):
    sample(f"special.{_name}", P, call=lambda f, x: f(1, x, 2))
sample("special.jvp", np.array(0.7), call=lambda f, n: f(n, 1.3))
sample("special.legendre_p", U, call=lambda f, x: f(3, x))
sample("special.legendre_p_all", U, call=lambda f, x: f(3, x))
sample("special.assoc_legendre_p", U, call=lambda f, x: f(3, 1, x))
sample("special.assoc_legendre_p_all", U, call=lambda f, x: f(3, 1, x))
sample("special.sph_legendre_p", U, call=lambda f, x: f(3, 1, x))
sample("special.sph_legendre_p_all", U, call=lambda f, x: f(3, 1, x))
sample("special.sph_harm_y", U, U, call=lambda f, t, p: f(3, 1, t, p))
sample("special.sph_harm_y_all", U, U, call=lambda f, t, p: f(3, 1, t, p))
sample("special.ellip_harm", np.array(6.0), call=lambda f, s: f(5.0, 8.0, 1, 1, s))
sample("special.besselpoly", P, call=lambda f, a: f(a, 1.0, 0.5))
for _name in ("legendre", "chebyt", "chebyu", "hermite", "laguerre"):
    sample(f"special.{_name}", U, call=lambda f, x: f(3)(x))
sample("special.roots_jacobi", np.array(0.5), np.array(1.2), call=lambda f, a, b: f(3, a, b)[0])
sample("special.roots_genlaguerre", np.array(0.5), call=lambda f, a: f(3, a)[1])
sample("special.assoc_laguerre", U, call=lambda f, x: f(x, 3, 1))

PLACES = {
    "bdtr": (3.0, 7, 0.4),
    "bdtrc": (3.0, 7, 0.4),
    "bdtri": (3.0, 7, 0.4),
    "bdtrik": (0.4, 7.0, 0.4),
    "bdtrin": (3.0, 0.4, 0.4),
    "betainc": (1.3, 2.2, 0.4),
    "betaincc": (1.3, 2.2, 0.4),
    "betaincinv": (1.3, 2.2, 0.4),
    "betainccinv": (1.3, 2.2, 0.4),
    "btdtria": (0.4, 2.2, 0.4),
    "btdtrib": (1.3, 0.4, 0.4),
    "chdtr": (3.3, 2.1),
    "chdtrc": (3.3, 2.1),
    "chdtri": (3.3, 0.4),
    "chdtriv": (0.4, 2.1),
    "chndtr": (2.1, 3.3, 0.7),
    "chndtrix": (0.4, 3.3, 0.7),
    "chndtridf": (2.1, 0.4, 0.7),
    "chndtrinc": (2.1, 3.3, 0.2),
    "elliprc": (0.4, 1.2),
    "elliprd": (0.4, 1.2, 0.7),
    "elliprf": (0.4, 1.2, 0.7),
    "elliprg": (0.4, 1.2, 0.7),
    "elliprj": (0.4, 1.2, 0.7, 1.5),
    "ellipj": (0.6, 0.4),
    "ellipkinc": (0.6, 0.4),
    "ellipeinc": (0.6, 0.4),
    "ellipk": (0.4,),
    "ellipe": (0.4,),
    "ellipkm1": (0.4,),
    "eval_jacobi": (2, 0.4, 0.7, 0.3),
    "eval_sh_jacobi": (2, 1.4, 0.7, 0.3),
    "eval_gegenbauer": (2, 0.4, 0.3),
    "eval_genlaguerre": (2, 0.4, 0.3),
    "expn": (2, 0.7),
    "kn": (2, 0.7),
    "yn": (2, 0.7),
    "fdtr": (3.3, 4.2, 0.8),
    "fdtrc": (3.3, 4.2, 0.8),
    "fdtri": (3.3, 4.2, 0.4),
    "fdtridfd": (3.3, 0.4, 0.8),
    "gdtr": (1.2, 0.8, 1.1),
    "gdtrc": (1.2, 0.8, 1.1),
    "gdtria": (0.4, 0.8, 1.1),
    "gdtrib": (1.2, 0.4, 1.1),
    "gdtrix": (1.2, 0.8, 0.4),
    "hyp2f1": (0.4, 0.7, 1.2, 0.3),
    "hyp1f1": (0.4, 0.7, 0.3),
    "hyperu": (0.4, 0.7, 0.3),
    "hyp0f1": (0.7, 0.3),
    "lpmv": (1, 2, 0.3),
    "nbdtr": (3, 7, 0.4),
    "nbdtrc": (3, 7, 0.4),
    "nbdtri": (3, 7, 0.4),
    "nbdtrik": (0.4, 7.0, 0.4),
    "nbdtrin": (3.0, 0.4, 0.4),
    "ncfdtr": (3.3, 4.2, 0.7, 0.8),
    "ncfdtri": (3.3, 4.2, 0.7, 0.4),
    "ncfdtridfd": (3.3, 0.4, 0.7, 0.8),
    "ncfdtridfn": (0.4, 4.2, 0.7, 0.8),
    "ncfdtrinc": (3.3, 4.2, 0.4, 0.8),
    "nctdtr": (3.3, 0.7, 0.8),
    "nctdtrit": (3.3, 0.7, 0.4),
    "nctdtridf": (0.4, 0.7, 0.8),
    "nctdtrinc": (3.3, 0.4, 0.8),
    "nrdtrimn": (0.4, 1.2, 0.8),
    "nrdtrisd": (0.3, 0.4, 0.8),
    "pdtr": (3, 2.1),
    "pdtrc": (3, 2.1),
    "pdtri": (3, 0.4),
    "pdtrik": (0.4, 2.1),
    "stdtr": (3.3, 0.8),
    "stdtrit": (3.3, 0.4),
    "stdtridf": (0.4, -0.8),
    "tklmbda": (0.3, 0.4),
    "kolmogorov": (0.8,),
    "kolmogi": (0.4,),
    "smirnov": (4, 0.4),
    "smirnovi": (4, 0.4),
    "wright_bessel": (0.4, 0.7, 0.3),
    "log_wright_bessel": (0.4, 0.7, 0.3),
    "voigt_profile": (0.3, 0.8, 0.6),
    "erfinv": (0.4,),
    "erfcinv": (0.4,),
    "ndtri": (0.4,),
    "ndtri_exp": (-0.7,),
    "logit": (0.4,),
    "zetac": (1.7,),
    "owens_t": (0.4, 0.8),
    "poch": (1.3, 0.8),
    "gammaincinv": (1.3, 0.4),
    "gammainccinv": (1.3, 0.4),
    "radian": (3.0, 4.0, 5.0),
    "besselpoly": (0.5, 1.0, 0.4),
    "binom": (4.3, 1.7),
    "round": (1.3,),
    "log_ndtr": (0.3,),
    "mathieu_a": (2, 0.4),
    "mathieu_b": (2, 0.4),
    "agm": (1.2, 0.8),
    "entr": (0.4,),
    "spence": (0.4,),
    "huber": (1.2, 0.8),
    "pseudo_huber": (1.2, 0.8),
    "kelvin": (1.2,),
    "pbwa": (0.4, 0.7),
    "kl_div": (0.4, 0.7),
    "rel_entr": (0.4, 0.7),
    "xlogy": (0.4, 0.7),
}
PLACES |= {
    "eval_hermite": (2, 0.4),
    "eval_hermitenorm": (2, 0.4),
    "ncfdtrinc": (3.3, 4.2, 0.3, 0.8),
    "nctdtridf": (0.505, 0.7, 0.8),
    "pbwa": (0.4, 0.7),
}
for _name in (
    "mathieu_cem",
    "mathieu_sem",
    "mathieu_modcem1",
    "mathieu_modcem2",
    "mathieu_modsem1",
    "mathieu_modsem2",
):
    PLACES[_name] = (2, 0.4, 20.0 if "mod" not in _name else 0.7)
for _name in ("pro_ang1", "obl_ang1", "pro_rad1", "pro_rad2", "obl_rad1", "obl_rad2"):
    PLACES[_name] = (1, 2, 0.4, 1.7 if _name.startswith("pro_rad") else 0.3)
    PLACES[_name + "_cv"] = (1, 2, 0.4, 1.7, 1.7 if _name.startswith("pro_rad") else 0.3)
PLACES |= {"pro_cv": (1, 2, 0.4), "obl_cv": (1, 2, 0.4)}


def _alone(f, k, rest, x):
    """The real parts of all results, in one operand."""
    y = f(*[x if i == k else r for i, r in enumerate(rest)])
    return y if isinstance(y, tuple) else (y,)


PAIRS = [
    (name, k)
    for name, f in sorted(vars(native).items())
    if isinstance(f, np.ufunc) and not name.startswith("_")
    for k in range(f.nin)
]
for _name, _k in PAIRS:
    _at = PLACES.get(_name, (0.7, 0.4, 0.3, 0.6)[: getattr(native, _name).nin])
    if isinstance(_at[_k], float):
        sample(
            f"special.{_name}",
            np.array(_at[_k]),
            call=lambda f, x, k=_k, at=_at: _alone(f, k, at, x),
        )
