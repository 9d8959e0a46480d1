"""Rules of polynomials: linear in the coefficients; roots are smooth where no two are equal."""

from chainrules_py.ops import (
    abs,
    arange_like,
    astype,
    concat,
    conj,
    divide,
    expand_dims,
    flip,
    full_like,
    index,
    less_equal,
    matmul,
    matrix_transpose,
    polyval,
    report,
    reshape,
    resolution,
    roots,
    sum,
    vander,
    zeros_like,
)
from chainrules_py.registry.constructors import rule
from chainrules_py.rules.support.spectra import beyond, least
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.primal_promotion import promoted

MEETING = (
    "roots: roots are equal, or too close to tell, and split like a root: what depends on them has "
    "no derivative there, or one without digits; differentiate functions of the coefficients"
)


def derivative(p):
    """Compute the coefficients k pₖ of the derivative, the highest power first."""
    n = p.shape[0] - 1
    return index(p, slice(n)) * astype(arange_like(p, start=n, stop=0, step=-1), dtype=p.dtype)


def powers_of(x, y, n):
    """Build a row of n powers of x for each element of y, the value of the polynomial at x."""
    return vander(reshape(x + zeros_like(y), shape=(-1,)), columns=n)


@rule(polyval, batched=True)
def polyval_rule(p, x):
    """y = Σ pₖ xᵏ, so ẏ = Σ ṗₖ xᵏ + p'(x) ẋ and p̄ₖ = Σ conj(xᵏ) ȳ, over all x."""
    y = polyval(p, x)
    return y, (
        LinearMap(_coefficients_push, _coefficients_pull, x, p.shape[0]),
        LinearMap(
            lambda x_dot, p, x: polyval(derivative(p), x) * x_dot,
            lambda y_bar, p, x: conj(polyval(derivative(p), x)) * y_bar,
            promoted(p, y),
            x,
        ),
    )


def _coefficients_push(p_dot, x, n):
    """Use Horner's scheme; for several polynomials, multiply their coefficients by powers."""
    if p_dot.ndim == 1:
        return polyval(p_dot, x)
    at = x + full_like(p_dot, shape=(), fill=0)
    powers = vander(reshape(at, shape=(-1,)), columns=n)
    return reshape(matmul(p_dot, matrix_transpose(powers)), shape=(p_dot.shape[0], *at.shape))


def _coefficients_pull(y_bar, x, n):
    lead = getattr(y_bar, "shape", ())[: getattr(y_bar, "ndim", 0) - getattr(x, "ndim", 0)]
    powers = powers_of(x, index(y_bar, 0) if lead else y_bar, n)
    return matmul(reshape(y_bar, shape=(*lead, -1)), conj(powers))


@rule(roots, batched=True)
def roots_rule(p):
    """p(z) = 0, so p'(z) ż = -ṗ(z); roots that are equal up to rounding are reported."""
    z = roots(p)
    return z, (LinearMap(_roots_push, _roots_pull, p, z),)


def _roots_push(p_dot, p, z):
    t = _coefficients_push(p_dot, z, p.shape[0])
    y, meeting = _slopes_at(p, z)
    report(beyond(meeting, t, least(t)), message=MEETING)
    return -divide(t, y)


def _roots_pull(z_bar, p, z):
    y, meeting = _slopes_at(p, z)
    report(meeting, message=MEETING)
    return -matmul(divide(z_bar, conj(y)), conj(powers_of(z, z, p.shape[0])))


def _slopes_at(p, z):
    """Compute p'(z), and where its error, p'' times that of z, ε Σ |pₖ zᵏ| / |p'|, is as large."""
    slopes = derivative(p)
    y = polyval(slopes, z)
    error = resolution(z) * polyval(abs(p), abs(z)) * abs(polyval(derivative(slopes), z))
    return y, less_equal(abs(y) * abs(y), 64.0 * error)


@rule(vander, batched=True)
def vander_rule(x, *, columns, increasing):
    """∂xᵖ/∂x = p xᵖ⁻¹, where xᵖ⁻¹ is another column of the matrix: exact at x = 0."""
    y = vander(x, columns=columns, increasing=increasing)
    map_of_x = LinearMap(
        lambda x_dot, *at: _slopes(*at) * expand_dims(x_dot, axis=-1),
        lambda y_bar, *at: sum(conj(_slopes(*at)) * y_bar, axis=-1),
        *(x, columns, increasing),
    )
    return y, (map_of_x,)


def _slopes(x, columns, increasing):
    zeros = full_like(x, shape=(x.shape[0], min(columns, 1)), fill=0)
    if columns < 2:
        return zeros
    powers = astype(arange_like(x, start=1, stop=columns), dtype=x.dtype)
    powers = powers if increasing else flip(powers)
    slopes = powers * vander(x, columns=columns - 1, increasing=increasing)
    return concat(zeros, slopes, axis=1) if increasing else concat(slopes, zeros, axis=1)
