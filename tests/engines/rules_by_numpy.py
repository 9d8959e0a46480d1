"""Rules whose halves compute with NumPy, SciPy or C: each in another way that people write them."""

import ctypes
import ctypes.util
import math

import numpy as np
import scipy.linalg
import scipy.sparse.linalg
import scipy.special

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import LinearMap, frule, primitive, rrule, rule, scalar_rule

RULES = {}
"""By name, what makes a rule: the function, and the same by NumPy."""
A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])


def entered(make):
    RULES[make.__name__] = make
    return make


def taxes():
    """Make a function with a whole number in one branch, whose slope is 0.3 above 1."""

    @primitive
    def tax(x):
        return 0 if x < 1.0 else 0.3 * (x - 1.0)

    @rrule.register(tax)
    def tax_rrule(x):
        return tax(x), lambda bar: ((0.0 if x < 1.0 else 0.3) * bar,)

    return tax


@entered
def scalar_np():
    f = primitive(lambda x: np.sin(x))
    scalar_rule(f, lambda y, x: np.cos(x))
    return f, np.sin


@entered
def scalar_special():
    f = primitive(lambda x: scipy.special.gammaln(x))
    scalar_rule(f, lambda y, x: scipy.special.digamma(x))
    return f, scipy.special.gammaln


@entered
def scalar_asarray():
    f = primitive(lambda x: np.sin(np.asarray(x)))
    scalar_rule(f, lambda y, x: np.cos(np.asarray(x)))
    return f, np.sin


@entered
def rrule_np():
    f = primitive(lambda x: np.sin(x))

    @rrule.register(f)
    def r(x):
        return f(x), lambda b: (np.asarray(b) * np.cos(np.asarray(x)),)

    return f, np.sin


@entered
def rrule_left():
    f = primitive(lambda x: np.sin(x))

    @rrule.register(f)
    def r(x):
        return f(x), lambda b: (np.cos(x) * b,)

    return f, np.sin


@entered
def rrule_right():
    f = primitive(lambda x: np.sin(x))

    @rrule.register(f)
    def r(x):
        return f(x), lambda b: (b * np.cos(x),)

    return f, np.sin


@entered
def rrule_list():
    f = primitive(lambda x: np.array([math.sin(t) for t in x]))

    @rrule.register(f)
    def r(x):
        return f(x), lambda b: (np.array([math.cos(t) * s for t, s in zip(x, b, strict=True)]),)

    return f, np.sin


@entered
def rule_np():
    f = primitive(lambda x: np.sin(x))

    @rule(f)
    def r(x):
        c = np.cos(x)
        return f(x), (LinearMap(lambda t, c: c * t, lambda b, c: c * b, c),)

    return f, np.sin


@entered
def rule_flag():
    f = primitive(lambda x: np.sin(x))

    @rule(f)
    def r(x):
        return f(x), (
            LinearMap(
                lambda t, x: np.multiply(np.cos(x), t), lambda b, x: np.multiply(np.cos(x), b), x
            ),
        )

    return f, np.sin


@entered
def frule_np():
    f = primitive(lambda x: np.sin(x))
    frule.register(f)(lambda ts, x: (f(x), np.cos(x) * ts[0]))
    return f, np.sin


@entered
def both_np():
    f = primitive(lambda x: np.sin(x))
    frule.register(f)(lambda ts, x: (f(x), np.cos(np.asarray(x)) * np.asarray(ts[0])))
    rrule.register(f)(lambda x: (f(x), lambda b: (np.cos(np.asarray(x)) * np.asarray(b),)))
    return f, np.sin


@entered
def vjp_np():
    f = custom_vjp(lambda x: np.sin(x))
    f.defvjp(lambda x: (np.sin(x), np.cos(x)), lambda c, b: (np.multiply(c, b),))
    return f, np.sin


@entered
def vjp_np64():
    f = custom_vjp(lambda x: np.sin(np.asarray(x, float)))
    f.defvjp(
        lambda x: (np.sin(np.asarray(x, float)), np.asarray(x, float)),
        lambda x, b: (np.cos(x) * np.asarray(b, float),),
    )
    return f, np.sin


@entered
def jvp_np():
    f = custom_jvp(lambda x: np.sin(x))
    f.defjvp(lambda xs, ts: (np.sin(xs[0]), np.cos(xs[0]) * ts[0]))
    return f, np.sin


@entered
def augmented_np():
    f = primitive(lambda x: np.sin(x))
    augmented_rule(f, lambda x: (np.sin(x), (np.cos(x),)), lambda c, b: (b * c,))
    return f, np.sin


@entered
def vectorised():
    g = np.vectorize(math.sin)
    h = np.vectorize(math.cos)
    f = primitive(lambda x: g(x))
    scalar_rule(f, lambda y, x: h(x))
    return f, np.sin


@entered
def ctypes_c():
    lib = ctypes.CDLL(ctypes.util.find_library("m"))
    lib.sin.restype = lib.cos.restype = ctypes.c_double
    lib.sin.argtypes = lib.cos.argtypes = [ctypes.c_double]
    f = primitive(lambda x: np.array([lib.sin(t) for t in np.asarray(x, float)]))
    rrule.register(f)(
        lambda x: (
            f(x),
            lambda b: (np.array([lib.cos(t) for t in np.asarray(x, float)]) * np.asarray(b),),
        )
    )
    return f, np.sin


@entered
def saved_lu():
    lu = scipy.linalg.lu_factor(A)
    f = primitive(lambda x: scipy.linalg.lu_solve(lu, x))
    rrule.register(f)(lambda x: (f(x), lambda b: (scipy.linalg.lu_solve(lu, b, trans=1),)))
    return f, lambda x: np.linalg.solve(A, x)


@entered
def sparse_lu():
    lu = scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(A))
    f = primitive(lambda x: lu.solve(np.asarray(x, float)))
    rrule.register(f)(lambda x: (f(x), lambda b: (lu.solve(np.asarray(b, float), trans="T"),)))
    return f, lambda x: np.linalg.solve(A, x)


@entered
def matrix_left():
    f = primitive(lambda x: A @ x)
    rrule.register(f)(lambda x: (f(x), lambda b: (A.T @ b,)))
    return f, lambda x: A @ x


@entered
def to_scalar():
    f = primitive(lambda x: float(np.sum(np.sin(x))))
    rrule.register(f)(lambda x: (f(x), lambda b: (b * np.cos(x),)))
    return f, lambda x: np.sum(np.sin(x))


@entered
def differences():
    def g(x):
        return np.sin(np.asarray(x, float))

    f = primitive(g)

    def pull(x):
        x = np.asarray(x, float)
        J = np.stack([(g(x + e) - g(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))], 1)
        return g(x), lambda b: (np.asarray(b) @ J,)

    rrule.register(f)(pull)
    return f, np.sin


@entered
def two_operands():
    f = primitive(lambda x, y: np.sin(x) * y)
    rrule.register(f)(lambda x, y: (np.sin(x) * y, lambda b: (np.cos(x) * y * b, np.sin(x) * b)))
    return (lambda x: f(x, x)), lambda x: np.sin(x) * x


@entered
def inplace_out():
    f = primitive(lambda x: np.sin(x))

    def r(x):
        out = np.empty(np.shape(x))
        np.cos(x, out=out)
        return f(x), lambda b: (np.multiply(out, b, out=np.empty(np.shape(x))),)

    rrule.register(f)(r)
    return f, np.sin


@entered
def copies():
    f = primitive(lambda x: np.sin(x))
    rrule.register(f)(lambda x: (f(x), lambda b: (x.copy() * 0 + np.cos(x) * b.copy(),)))
    return f, np.sin


@entered
def formatted():
    f = primitive(lambda x: np.array([float(f"{math.sin(float(t)):.17g}") for t in x]))
    rrule.register(f)(
        lambda x: (
            f(x),
            lambda b: (np.array([float(f"{math.cos(float(t)):.17g}") for t in x]) * b,),
        )
    )
    return f, np.sin


@entered
def buffers():
    f = primitive(lambda x: np.sin(x))

    def r(x):
        buf = np.frombuffer(np.ascontiguousarray(x).tobytes(), np.asarray(x).dtype)
        return f(x), lambda b: (np.cos(buf) * b,)

    rrule.register(f)(r)
    return f, np.sin


@entered
def einsum():
    f = primitive(lambda x: np.einsum("ij,j->i", A, x))
    rrule.register(f)(lambda x: (f(x), lambda b: (np.einsum("ij,i->j", A, b),)))
    return f, lambda x: A @ x


@entered
def detached():
    f = primitive(lambda x: np.sin(x.detach().numpy() if hasattr(x, "detach") else x))
    rrule.register(f)(
        lambda x: (
            f(x),
            lambda b: (
                (b.detach().numpy() if hasattr(b, "detach") else b)
                * np.cos(x.detach().numpy() if hasattr(x, "detach") else x),
            ),
        )
    )
    return f, np.sin
