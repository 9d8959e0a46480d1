"""Calls of ``scipy.linalg``."""

from __future__ import annotations

import numpy as np

from tests.libraries.scipy.samples.common import definite, draw, sample

A, B = draw(3, 3), draw(3, 2)
W = A + 3 * np.eye(3)
S, R, C = definite(3), definite(3, 1), draw(3)
Q = 0.3 * draw(3, 3, seed=4)
BANDS = np.array([[0.0, 0.2, -0.1, 0.3], [3.0, 4.0, 3.5, 4.2], [0.1, 0.4, 0.2, 0.0]])
UPPER = np.array([[0.0, 0.2, -0.1, 0.3], [3.0, 4.0, 3.5, 4.2]])
FIRST = np.array([4.0, 0.0, 0.0])
D, E = np.array([1.0, 3.0, 2.0, 5.0]), np.array([0.4, 0.3, -0.2])


def _square(f, *xs, **options):
    """Of columns whose signs are free."""
    y = f(*xs, **options)
    return y**2


sample("linalg.block_diag", A, B)
sample("linalg.cdf2rdf", A, S, call=lambda f, a, s: f(np.linalg.eigvalsh(s) + 0j * a[0], s + 0j)[0])
sample("linalg.cho_factor", S, call=lambda f, s: np.triu(f(s @ s.T)[0]))
sample("linalg.cho_solve", S, B, call=lambda f, s, b: f((np.linalg.cholesky(s @ s.T), True), b))
sample("linalg.cho_solve_banded", UPPER, C[[0, 1, 2, 0]], call=lambda f, a, b: f((a, False), b))
sample("linalg.cholesky", S, call=lambda f, s: f(s @ s.T, lower=True))
sample("linalg.cholesky_banded", UPPER)
sample("linalg.circulant", C)
sample("linalg.companion", C)
sample("linalg.convolution_matrix", C, call=lambda f, c: f(c, 4))
for _name in ("coshm", "cosm", "expm", "sinhm", "sinm", "tanhm", "tanm"):
    sample(f"linalg.{_name}", Q)
sample("linalg.cossin", call=lambda f: f(np.eye(4), p=2, q=2)[0])
sample("linalg.det", A)
sample("linalg.diagsvd", C, call=lambda f, c: f(c, 3, 4))
sample("linalg.eig", W, call=lambda f, a: np.sort(np.abs(f(a)[0])))
sample("linalg.eig_banded", UPPER, call=lambda f, a: f(a)[0])
sample("linalg.eig_banded", UPPER, call=lambda f, a: f(a)[1] ** 2)
sample("linalg.eigh", A, call=lambda f, a: f(a + a.T)[0])
sample("linalg.eigh", A, S, call=lambda f, a, s: f(a + a.T, s + s.T)[1] ** 2)
sample("linalg.eigh_tridiagonal", D, E, call=lambda f, d, e: f(d, e)[0])
sample("linalg.eigh_tridiagonal", D, E, call=lambda f, d, e: f(d, e)[1] ** 2)
sample("linalg.eigvals", W, call=lambda f, a: np.sort(np.abs(f(a))))
sample("linalg.eigvals_banded", UPPER)
sample("linalg.eigvalsh", A, call=lambda f, a: f(a + a.T))
sample("linalg.eigvalsh_tridiagonal", D, E)
sample("linalg.expm_cond", Q)
sample("linalg.expm_frechet", Q, A, call=lambda f, q, a: f(q, a)[1])
sample("linalg.fiedler", C)
sample("linalg.fiedler_companion", np.append(1.0, C))
sample("linalg.fractional_matrix_power", S, call=lambda f, s: f(s, 0.4))
sample("linalg.funm", W, call=lambda f, a: f(a, lambda z: z**2))
sample("linalg.hankel", C, C[::-1].copy())
sample("linalg.hessenberg", W)
sample("linalg.hessenberg", draw(4, 4), call=lambda f, a: f(a, calc_q=True)[1])
sample("linalg.inv", W)
sample("linalg.khatri_rao", A, B[[0, 1, 0]].T[:, [0, 1, 2]])
sample("linalg.ldl", A, call=lambda f, a: f(a + a.T + 6 * np.eye(3))[0])
sample("linalg.ldl", A, call=lambda f, a: f(a + a.T + 6 * np.eye(3))[1])
sample("linalg.ldl", A, call=lambda f, a: f(a + a.T + 6 * np.eye(3), lower=False)[0])
sample("linalg.leslie", abs(C), np.array([0.5, 0.7]))
sample("linalg.logm", S)
sample("linalg.lstsq", draw(5, 3), draw(5), call=lambda f, a, b: f(a, b)[0])
sample("linalg.lu", W, call=lambda f, a: f(a)[2])
sample("linalg.lu_factor", W, call=lambda f, a: f(a)[0])
sample("linalg.lu_solve", W, C, call=lambda f, a, b: f((a, np.arange(3)), b))
sample("linalg.matmul_toeplitz", C, draw(2), B[:2], call=lambda f, c, r, x: f((c, r), x))
sample("linalg.matrix_balance", W, call=lambda f, a: f(a)[0])
sample("linalg.norm", A)
sample("linalg.norm", A, call=lambda f, a: f(a, 2))
sample("linalg.null_space", draw(2, 4), call=lambda f, a: (lambda n: n @ n.T)(f(a)))
sample("linalg.ordqz", A, B[:, [0, 1, 1]], call=lambda f, a, b: f(a, b)[0] ** 2)
sample("linalg.orth", draw(4, 2), call=lambda f, a: f(a) ** 2)
sample(
    "linalg.orthogonal_procrustes", draw(4, 2), draw(4, 2, seed=1), call=lambda f, a, b: f(a, b)[0]
)
sample(
    "linalg.orthogonal_procrustes", draw(4, 2), draw(4, 2, seed=1), call=lambda f, a, b: f(a, b)[1]
)
sample("linalg.pinv", draw(4, 2))
sample("linalg.pinvh", A, call=lambda f, a: f(a + a.T))
sample("linalg.polar", A, call=lambda f, a: f(a)[0])
sample("linalg.qr", W, call=lambda f, a: f(a)[1])
sample("linalg.qr_delete", W, call=lambda f, a: f(*np.linalg.qr(a), 0)[1] ** 2)
sample("linalg.qr_insert", W, C, call=lambda f, a, c: f(*np.linalg.qr(a), c, 1)[1] ** 2)
sample("linalg.qr_multiply", W, A, call=lambda f, a, c: f(a, c)[0])
sample("linalg.qr_update", W, C, call=lambda f, a, c: f(*np.linalg.qr(a), c, c)[1] ** 2)
sample("linalg.qz", A, B[:, [0, 1, 1]], call=lambda f, a, b: f(a, b)[0] ** 2)
sample("linalg.rq", W, call=lambda f, a: f(a)[0])
sample("linalg.rsf2csf", W, call=lambda f, a: f(a, np.eye(3))[0])
sample("linalg.schur", A, call=lambda f, a: f(a + a.T)[0])
sample("linalg.schur", W, call=lambda f, a: np.abs(f(a, output="complex")[0]))
sample("linalg.signm", A, call=lambda f, a: f(a + 0.1))
sample("linalg.solve", W, B)
sample("linalg.solve", S, C, call=lambda f, s, c: f(s, c, assume_a="pos"))
sample("linalg.solve", S, C, call=lambda f, s, c: f(s + s.T, c, assume_a="sym"))
sample("linalg.solve_banded", BANDS, np.append(C, 1.0), call=lambda f, a, b: f((1, 1), a, b))
sample("linalg.solve_circulant", C, B)
sample(
    "linalg.solve_continuous_are",
    Q,
    B,
    S,
    R[:2, :2],
    call=lambda f, a, b, q, r: f(a, b, q + q.T, r + r.T),
)
sample(
    "linalg.solve_continuous_are",
    Q,
    B,
    call=lambda f, a, b: f(a, b, np.eye(3), np.eye(2), s=0.1 * b),
)
sample("linalg.solve_continuous_lyapunov", W, A)
sample(
    "linalg.solve_discrete_are",
    Q,
    B,
    S,
    R[:2, :2],
    call=lambda f, a, b, q, r: f(a, b, q + q.T, r + r.T),
)
sample("linalg.solve_discrete_lyapunov", Q, A)
sample("linalg.solve_lyapunov", W, A)
sample("linalg.solve_sylvester", W, S, A)
sample("linalg.solve_toeplitz", C + FIRST, B)
sample("linalg.solve_toeplitz", C + FIRST, C + FIRST, C, call=lambda f, c, r, b: f((c, r), b))
sample("linalg.solve_triangular", W, B, call=lambda f, a, b: f(a, b, lower=True))
sample("linalg.solveh_banded", UPPER, np.append(C, 1.0))
sample("linalg.sqrtm", S)
sample("linalg.subspace_angles", draw(5, 2), draw(5, 2, seed=1))
sample("linalg.svd", draw(4, 3), call=lambda f, a: f(a)[1])
sample("linalg.svdvals", draw(4, 3))
sample("linalg.toeplitz", C, C)
sample("linalg.bandwidth", A)
sample("linalg.ishermitian", A)
sample("linalg.issymmetric", A)
sample("linalg.clarkson_woodruff_transform", draw(5, 2), call=lambda f, a: f(a, 3, rng=0))
