"""PyTorch's products and functions of matrices, its norms, and its Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import torch

from chainrules_py import vocabulary as v
from chainrules_py.extend import products_composites as products
from chainrules_torch.names.elementwise import to
from chainrules_torch.names.reductions import axes_of
from chainrules_torch.names.rows import row, word

_results: Any = torch.return_types

word("matmul mm bmm linalg.matmul", v.matmul)
word("inner", v.inner)
word("outer ger", v.outer)
word("det linalg.det", v.det)
word("inverse linalg.inv", v.inv)
word("matrix_exp linalg.matrix_exp", v.expm)
word("linalg.eigvals", v.eigvals)
word("linalg.svdvals", v.svdvals)


@row("mv")
def mv(self: Any, vec: Any) -> Any:
    """Return a matrix times a vector."""
    return v.matmul(self, vec)


@row("dot")
def dot(self: Any, tensor: Any) -> Any:
    """Return the sum of the products of two vectors."""
    return v.matmul(self, tensor)


@row("vdot")
def vdot(self: Any, other: Any) -> Any:
    """Return the same, with the conjugate of the first."""
    return v.matmul(v.conj(self), other)


@row("torch.linalg.vecdot")
def vecdot(self: Any, other: Any, *, dim: int = -1) -> Any:
    """Return the same along an axis."""
    return v.vecdot(self, other, axis=dim)


@row("kron")
def kron(self: Any, other: Any) -> Any:
    """Each element times a matrix."""
    return products.kron(self, other)


@row("cross torch.linalg.cross")
def cross(self: Any, other: Any, dim: Any = None) -> Any:
    """Return the product of vectors of three numbers."""
    if dim is None:
        dim = -1
    return products.cross_of_three(self, other, axis=dim)


@row("tensordot torch.tensordot")
def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Return sums of products along axes."""
    dims = dims if isinstance(dims, int) else tuple([tuple(axes) for axes in dims])
    return v.tensordot(a, b, axes=dims)


@row("torch.einsum")
def einsum(equation: str, *operands: Any) -> Any:
    """Return sums of products by letters."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return products.einsum((equation.replace(" ", ""), *operands))


def _added(name: str) -> None:
    """Enter a product that is added to something."""

    @row(name)
    def added(self: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        product = v.outer(mat1, mat2) if name == "addr" else v.matmul(mat1, mat2)
        product = product if alpha == 1 else v.multiply(product, alpha)
        if beta == 0:
            return product  # whatever is in x
        return v.add(self if beta == 1 else v.multiply(self, beta), product)


for _name in ("addmm", "addmv", "addr", "baddbmm"):
    _added(_name)


@row("nn.functional.linear")
def linear(self: Any, weight: Any, bias: Any = None) -> Any:
    """X Aᵀ + b."""
    y = v.matmul(self, v.matrix_transpose(weight) if weight.ndim > 1 else weight)
    return y if bias is None else v.add(y, bias)


@row("trace")
def trace(self: Any) -> Any:
    """Return the sum of the diagonal."""
    return v.trace(self)


@row("matrix_power torch.linalg.matrix_power")
def matrix_power(self: Any, n: int) -> Any:
    """Return a matrix times itself."""
    return products.matrix_power(self, n)


@row("logdet")
def logdet(self: Any) -> Any:
    """Return the logarithm of a determinant, which is none of a negative one."""
    sign, logarithm = v.slogdet(self)
    return v.where(v.less(v.real(sign), 0), math.nan, logarithm)


@row("slogdet torch.linalg.slogdet")
def slogdet(self: Any) -> Any:
    """Return the sign and logarithm of a determinant."""
    return _results.linalg_slogdet(tuple(v.slogdet(self)))


@row("cholesky torch.linalg.cholesky")
def cholesky(self: Any, upper: bool = False) -> Any:
    """Return a triangular factor."""
    return v.cholesky(self, upper=upper)


@row("qr torch.linalg.qr")
def qr(self: Any, mode: Any = "reduced") -> Any:
    """Return an orthogonal and a triangular factor."""
    if isinstance(mode, bool):
        mode = "reduced" if mode else "complete"
    return _results.linalg_qr(tuple(v.qr(self, mode=mode)))


@row("torch.linalg.svd")
def svd(self: Any, full_matrices: bool = True) -> Any:
    """Singular values and vectors."""
    return _results.linalg_svd(tuple(v.svd(self, full_matrices=full_matrices)))


@row("svd")
def older_svd(self: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """Singular values and vectors, the right ones in columns."""
    u, s, vh = v.svd(self, full_matrices=not some)
    return _results.svd((u, s, v.conj(v.matrix_transpose(vh))))


@row("torch.linalg.eigh")
def eigh(self: Any, UPLO: str = "L") -> Any:
    """Eigenvalues and vectors of a Hermitian matrix."""
    return _results.linalg_eigh(tuple(v.eigh(self, upper=UPLO.upper() == "U")))


@row("torch.linalg.eigvalsh")
def eigvalsh(self: Any, UPLO: str = "L") -> Any:
    """Eigenvalues of a Hermitian matrix."""
    return v.eigvalsh(self, upper=UPLO.upper() == "U")


@row("torch.linalg.solve")
def solve(self: Any, B: Any, *, left: bool = True) -> Any:
    """Return the solution of linear equations."""
    if not left:
        turned = v.solve(v.matrix_transpose(self), v.matrix_transpose(B))
        return v.matrix_transpose(turned)
    vectors = B.ndim == 1 or tuple(B.shape) == tuple(self.shape[:-1])
    if not vectors or B.ndim == 1:
        return v.solve(self, B)
    return v.squeeze(v.solve(self, v.expand_dims(B, axis=-1)), axis=-1)


@row("pinverse torch.linalg.pinv")
def pinv(self: Any, rcond: Any = None, *, rtol: Any = None, hermitian: bool = False) -> Any:
    """Return the pseudoinverse."""
    return v.pinv(self, rtol=rcond if rtol is None else rtol, hermitian=hermitian)


# -------------------------------------------------------------------------------------- norms


@row("torch.linalg.vector_norm")
def vector_norm(self: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the norm of vectors."""
    return v.vector_norm(self, ord=ord, axis=axes_of(dim), keepdims=keepdim)


@row("torch.linalg.norm")
def norm(self: Any, ord: Any = None, dim: Any = None, keepdim: bool = False) -> Any:
    """Return the norm of vectors, or of matrices."""
    return products.norm(self, ord, axes_of(dim), keepdim)


@row("norm")
def older_norm(
    self: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """Return the norm of vectors, of all elements if there is no axis."""
    self = self if dtype is None else to(self, dtype)
    if p in ("fro", None):
        p = 2
    if p == "nuc":
        return products.norm(self, p, (-2, -1) if dim is None else axes_of(dim), keepdim)
    return v.vector_norm(self, ord=p, axis=axes_of(dim), keepdims=keepdim)


@row("dist")
def dist(self: Any, other: Any, p: Any = 2) -> Any:
    """Return the norm of a difference."""
    return v.vector_norm(v.subtract(self, other), ord=p)


# ------------------------------------------------------------------------- Fourier transforms


def _transform(name: str, word: Any) -> None:
    @row(f"torch.fft.{name}")
    def transform(self: Any, n: Any = None, dim: int = -1, norm: Any = None) -> Any:
        return word(self, n=n, axis=dim, norm=norm or "backward")


for _name, _fourier in (("fft", v.fft), ("ifft", v.ifft), ("rfft", v.rfft), ("irfft", v.irfft)):
    _transform(_name, _fourier)
