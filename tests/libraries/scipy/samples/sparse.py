"""Calls of ``scipy.sparse`` and its modules."""

from __future__ import annotations

import numpy as np
import scipy.sparse as native

from tests.libraries.scipy.samples.common import draw, sample

ROWS, COLUMNS = np.array([0, 0, 1, 2, 3, 3, 1]), np.array([0, 2, 1, 2, 3, 0, 3])
DATA, X = draw(7) + np.array([4, 0, 4, 4, 4, 0, 0]), draw(4)
POINTER, WHERE = np.array([0, 2, 4, 5, 7]), np.array([0, 2, 1, 3, 2, 0, 3])
S = native.csr_array((DATA, (ROWS, COLUMNS)), shape=(4, 4))
SYM = native.csr_array(np.diag([3.0, 4, 5, 6]) + np.diag([0.3] * 3, 1) + np.diag([0.3] * 3, -1))


def _made(data, form="csr"):
    """A sparse matrix of traced data."""
    import scipy.sparse

    return getattr(scipy.sparse, f"{form}_array")((data, (ROWS, COLUMNS)), shape=(4, 4))


for _format in ("csr", "csc", "coo"):
    sample(
        f"sparse.{_format}_array",
        DATA,
        X,
        call=lambda f, d, x: f((d, (ROWS, COLUMNS)), shape=(4, 4)) @ x,
    )
sample("sparse.csr_matrix", DATA, X, call=lambda f, d, x: f((d, (ROWS, COLUMNS)), shape=(4, 4)) @ x)
sample("sparse.csc_matrix", DATA, X, call=lambda f, d, x: f((d, (ROWS, COLUMNS)), shape=(4, 4)) @ x)
sample("sparse.coo_matrix", DATA, X, call=lambda f, d, x: f((d, (ROWS, COLUMNS)), shape=(4, 4)) @ x)
sample("sparse.csr_array", DATA, call=lambda f, d: f((d, WHERE, POINTER), shape=(4, 4)).toarray())
sample("sparse.csr_array", DATA, X, call=lambda f, d, x: f((d, WHERE, POINTER), shape=(4, 4)).T @ x)
sample("sparse.csr_array", DATA, call=lambda f, d: f((d, WHERE, POINTER), shape=(4, 4)).sum(axis=0))
sample(
    "sparse.csr_array",
    DATA,
    X,
    call=lambda f, d, x: f((d, WHERE, POINTER), shape=(4, 4)).multiply(x).toarray(),
)
sample(
    "sparse.csr_array",
    DATA,
    call=lambda f, d: (f((d, WHERE, POINTER), shape=(4, 4)) + f(S)).toarray(),
)
sample(
    "sparse.csr_array",
    DATA,
    call=lambda f, d: (f((d, WHERE, POINTER), shape=(4, 4)) @ f(S)).toarray(),
)
sample(
    "sparse.csr_array", DATA, call=lambda f, d: (2 * f((d, WHERE, POINTER), shape=(4, 4))).toarray()
)
sample("sparse.csr_array", DATA, call=lambda f, d: f((d, WHERE, POINTER), shape=(4, 4)).diagonal())
sample("sparse.csr_array", X, call=lambda f, x: f(S) @ x)
sample("sparse.csr_array", X, call=lambda f, x: x @ f(S))
sample("sparse.csr_array", X, call=lambda f, x: f(S).multiply(x).toarray())
sample("sparse.diags", X, call=lambda f, x: f([x, x[:3]], [0, 1]) @ np.ones(4))
sample("sparse.diags_array", X, call=lambda f, x: f([x, x[:3]], offsets=[0, 1]).toarray())
sample("sparse.dia_array", draw(2, 4), X, call=lambda f, d, x: f((d, [0, 1]), shape=(4, 4)) @ x)
sample(
    "sparse.bsr_array",
    draw(2, 2, 2),
    X,
    call=lambda f, d, x: f((d, np.array([0, 1]), np.array([0, 1, 2]))) @ x,
)
sample("sparse.spdiags", draw(2, 4), call=lambda f, d: f(d, [0, 1], 4, 4).toarray())
sample("sparse.kron", DATA, call=lambda f, d: f(_made(d), S).toarray())
sample("sparse.kronsum", DATA, call=lambda f, d: f(_made(d), S).toarray())
sample("sparse.hstack", DATA, call=lambda f, d: f([_made(d), S]).toarray())
sample("sparse.vstack", DATA, call=lambda f, d: f([_made(d), S]).toarray())
sample("sparse.block_diag", DATA, call=lambda f, d: f([_made(d), S]).toarray())
sample("sparse.bmat", DATA, call=lambda f, d: f([[_made(d), None], [None, S]]).toarray())
sample("sparse.block_array", DATA, call=lambda f, d: f([[_made(d), None], [None, S]]).toarray())
sample("sparse.tril", DATA, call=lambda f, d: f(_made(d)).toarray())
sample("sparse.triu", DATA, call=lambda f, d: f(_made(d)).toarray())
sample("sparse.linalg.spsolve", DATA, X, call=lambda f, d, x: f(_made(d, "csc"), x))
sample("sparse.linalg.spsolve", X, call=lambda f, x: f(S.tocsc(), x))
sample("sparse.linalg.splu", X, call=lambda f, x: f(S.tocsc()).solve(x))
sample("sparse.linalg.splu", DATA, X, call=lambda f, d, x: f(_made(d, "csc")).solve(x))
sample("sparse.linalg.spilu", X, call=lambda f, x: f(S.tocsc()).solve(x))
sample("sparse.linalg.factorized", X, call=lambda f, x: f(S.tocsc())(x))
for _name in ("cg", "minres"):
    sample(f"sparse.linalg.{_name}", X, call=lambda f, x: f(SYM, x, rtol=1e-13)[0])
for _name in ("bicg", "bicgstab", "cgs", "gmres", "lgmres", "qmr", "tfqmr", "gcrotmk"):
    sample(f"sparse.linalg.{_name}", X, call=lambda f, x: f(S, x, rtol=1e-13)[0])
sample("sparse.linalg.gmres", DATA, X, call=lambda f, d, x: f(_made(d), x, rtol=1e-13)[0])
sample("sparse.linalg.cg", DATA, X, call=lambda f, d, x: f(_made(d) + _made(d).T, x, rtol=1e-13)[0])
sample("sparse.linalg.lsqr", X, call=lambda f, x: f(S, x, atol=1e-14, btol=1e-14)[0])
sample("sparse.linalg.lsmr", X, call=lambda f, x: f(S, x, atol=1e-14, btol=1e-14)[0])
sample(
    "sparse.linalg.lsqr", DATA, X, call=lambda f, d, x: f(_made(d), x, atol=1e-14, btol=1e-14)[0]
)
sample(
    "sparse.linalg.eigsh",
    DATA,
    call=lambda f, d: f(_made(d) + _made(d).T, k=2, v0=np.ones(4), return_eigenvectors=False),
)
sample(
    "sparse.linalg.eigsh",
    DATA,
    call=lambda f, d: f(_made(d) + _made(d).T, k=2, v0=np.ones(4))[1] ** 2,
)
sample(
    "sparse.linalg.eigs",
    DATA,
    call=lambda f, d: np.sort(np.abs(f(_made(d), k=2, v0=np.ones(4), return_eigenvectors=False))),
)
sample(
    "sparse.linalg.svds",
    DATA,
    call=lambda f, d: f(_made(d), k=2, v0=np.ones(4), return_singular_vectors=False),
)
sample("sparse.linalg.expm_multiply", X, call=lambda f, x: f(0.1 * S, x))
sample("sparse.linalg.expm_multiply", DATA, X, call=lambda f, d, x: f(_made(0.1 * d), x))
sample("sparse.linalg.expm_multiply", X, call=lambda f, x: f(0.1 * S, x, start=0, stop=2, num=3))
sample("sparse.linalg.LinearOperator", X, call=lambda f, x: f((4, 4), matvec=lambda y: 2 * y) @ x)
sample(
    "sparse.linalg.LinearOperator",
    X,
    call=lambda f, x: f((4, 4), matvec=lambda y: y * x).matvec(np.ones(4)),
)
sample(
    "sparse.linalg.onenormest",
    DATA,
    call=lambda f, d: (np.random.seed(0), f(_made(d)))[1],  # noqa: NPY002 (SciPy draws there)
)
sample("sparse.csgraph.laplacian", abs(draw(4, 4)))
sample("sparse.csgraph.shortest_path", abs(draw(4, 4)) + 0.1)
