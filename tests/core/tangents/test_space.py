"""Tangent spaces, and projection onto them."""

from __future__ import annotations

import dataclasses
import typing
import warnings
from typing import Any

import numpy as np
import pytest

from chainrules_py import (
    NoTangent,
    ProjectionError,
    Tangent,
    ZeroTangent,
    primitive,
    project,
    rrule,
    space,
    unthunk,
    zero_tangent,
)
from chainrules_py.extend import Space, Thunk
from chainrules_py.ops import scan
from chainrules_py.tangents import space as spaces
from chainrules_py.tangents.space import default_dtype, kind_of, spread
from chainrules_py.tangents.sum_to_shape import planned
from chainrules_py.values import caches
from chainrules_py.values.structure import fields_of
from chainrules_tape import grad, jacobian, jvp

CASES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 3), (1, 3)),
    ((2, 3), (2, 1)),
    ((2, 3), (1, 1)),
    ((2, 3), ()),
    ((2, 3), (1,)),
    ((4, 2, 3), (2, 1)),
    ((4, 2, 3), (1, 3)),
    ((0, 3), (3,)),
    ((0, 3), (0, 1)),
    ((1, 1), (1,)),
    ((), ()),
]


@pytest.mark.parametrize("have, shape", CASES)
def test_projection_sums_what_broadcasting_spread(have, shape):
    """Against the definition: <t, broadcast(v)> == <project(t), v> for every basis vector v."""
    rng = np.random.default_rng(0)
    t = rng.normal(size=have)
    onto = np.zeros(shape)
    got = np.asarray(project(t, onto))
    assert got.shape == shape
    for place in np.ndindex(*shape):
        v = np.zeros(shape)
        v[place] = 1.0
        assert got[place] == pytest.approx(np.sum(t * np.broadcast_to(v, have)))


@pytest.mark.parametrize("have, shape", CASES)
@pytest.mark.parametrize("batch", [(2,), (5, 2), (1,)])
def test_leading_axes_that_count_cotangents_are_left_alone(have, shape, batch):
    t = np.random.default_rng(1).normal(size=(*batch, *have))
    got = project(t, np.zeros(shape), batch=len(batch))
    assert got.shape == (*batch, *shape)
    for place in np.ndindex(*batch):
        assert np.allclose(got[place], project(t[place], np.zeros(shape)))
    plan = planned(have, shape)[0]
    assert np.allclose(t if plan is None else plan(t), got)


@pytest.mark.parametrize(
    "have, shape", [((3,), (2,)), ((3,), (2, 3)), ((1,), (3,)), ((2, 3), (3, 1))]
)
def test_shapes_that_broadcasting_cannot_explain_are_refused(have, shape):
    with pytest.raises(ProjectionError, match="shape"):
        project(np.ones(have), np.ones(shape))


DTYPES = [np.float16, np.float32, np.float64, np.complex64, np.complex128]


@pytest.mark.parametrize("primal", DTYPES)
@pytest.mark.parametrize("given", [*DTYPES, np.int32, np.bool_])
def test_dtype_and_realness_are_the_primals(primal, given):
    t = np.ones(2, given) * (
        given(1 + 2j) if np.issubdtype(given, np.complexfloating) else given(1)
    )
    got = project(t, np.ones(2, primal))
    assert got.dtype == primal
    expected = t if np.issubdtype(primal, np.complexfloating) else t.real
    assert np.all(got == expected)


def test_an_integer_primal_has_a_floating_cotangent_and_a_boolean_none():
    assert project(np.array([1, 2]), np.array([3, 4])).dtype == np.float64
    assert project(np.ones(2, np.float32), np.array([3, 4])).dtype == np.float32
    assert project(np.ones(2), np.array([True, False])) is NoTangent()
    assert project(1.0, "text") is NoTangent()
    assert project(1.0, True) is NoTangent()


def test_numbers():
    assert project(np.ones(3), 2.0) == 3.0
    assert project(1 + 2j, 2.0) == 1.0
    assert project(1 + 2j, 2j) == 1 + 2j
    assert project(2.0, np.zeros(())) == 2.0


def test_tangent_classes_pass_or_are_mapped():
    onto = np.zeros(3)
    assert project(ZeroTangent(), onto) is ZeroTangent()
    lazy = project(Thunk(lambda: np.ones((2, 3))), onto)
    assert isinstance(lazy, Thunk)
    assert unthunk(lazy).tolist() == [2, 2, 2]


@dataclasses.dataclass
class Params:
    w: Any
    n: Any = "name"


def test_structures_field_by_field():
    p = Params(np.zeros(3, np.float32))
    t = project(Tangent[Params](w=np.ones((2, 3))), p)
    assert t.w.tolist() == [2, 2, 2]
    assert t.w.dtype == np.float32
    for wrong in (np.ones(3), Tangent[tuple](1.0)):
        with pytest.raises(ProjectionError):
            project(wrong, p)


@dataclasses.dataclass
class More(Params):
    b: Any = 0.0


def test_a_tangent_of_a_base_says_whose_it_has_to_be():
    with pytest.raises(ProjectionError, match=r"of More; write Tangent\[type\(x\)\]"):
        project(Tangent[Params](w=1.0), More(1.0))


def test_zero_tangents_are_dense():
    z = zero_tangent({"a": np.ones((2, 3), np.float32), "b": (1.0, 2j), "c": "text", "d": 3})
    assert z["a"].shape == (2, 3)
    assert z["a"].dtype == np.float32
    assert not z["a"].any()
    assert (z["b"][0], z["b"][1], z["b"][-1]) == (0.0, 0j, 0j)
    assert z["c"] is NoTangent()


def test_spaces_hold_no_elements():
    s = space(np.ones((2, 3), np.float32))
    assert (s.shape, s.ndim, s.size, s.dtype, s.kind) == ((2, 3), 2, 6, np.float32, "real")
    assert repr(s) == "Space(float32[2,3])"
    assert repr(Space(1.0)) == "Space(float[])"
    assert s.zeros().dtype == np.float32


def test_pushing_forward_broadcasts_and_converts():
    assert spread(np.ones((1, 3)), np.zeros((2, 3))).shape == (2, 3)
    assert spread(np.ones(3), np.zeros(3, np.float32)).dtype == np.float32
    assert spread(ZeroTangent(), np.zeros(3)) is ZeroTangent()
    assert spread(1.0, np.array([1, 2])) is not None


@pytest.mark.parametrize(
    "x, kind",
    [
        (True, "bool"),
        (1, "int"),
        (1.0, "real"),
        (1j, "complex"),
        (np.float32(1), "real"),
        (np.int8(1), "int"),
        (np.ones(1, "c8"), "complex"),
        (np.array(["a"]), "other"),
        ("a", "none"),
        (None, "none"),
    ],
)
def test_kinds(x, kind):
    assert kind_of(x) == kind


def test_arrays_without_a_device_have_a_space():
    from chainrules_py.extend import Library, register_array_type

    class Bare:
        """An array that knows its shape and dtype, and of no device."""

        shape, ndim, dtype = (2,), 1, np.dtype(float)

    register_array_type(Bare, Library(np))
    assert space(Bare()).shape == (2,)
    assert space(Bare()) is space(Bare())


@pytest.mark.parametrize(
    "junk", [None, "a", [3.0], object()], ids=["None", "str", "list", "object"]
)
@pytest.mark.parametrize("onto", [2.0, np.float32(2.0), np.ones(()), np.ones(1), np.ones((2, 3))])
def test_what_is_no_tangent_is_refused(junk, onto):
    """A rule gave it: a number's cotangent was None, an array's an AttributeError."""
    with pytest.raises(ProjectionError, match="never"):
        project(junk, onto)


def test_a_number_is_no_cotangent_of_a_longer_array():
    with pytest.raises(ProjectionError, match=r"shape \(\) cannot belong to .* \(2,\)"):
        project(3.0, np.ones(2))
    assert type(project(True, 2.0)) is float


@dataclasses.dataclass
class Pair:
    """Two numbers."""

    a: float
    b: float


class Triple(typing.NamedTuple):
    """Three of them."""

    a: float
    b: float
    c: float


@pytest.mark.parametrize("x", [Pair(1.0, 2.0), Triple(1.0, 2.0, 3.0)], ids=["dataclass", "tuple"])
def test_an_instance_of_the_primal_stands_for_its_tangent_and_a_number_does_not(x):
    assert dict(project(x, x).fields()) == dict(fields_of(x))
    name = type(x).__name__
    with pytest.raises(ProjectionError, match=rf"is not a tangent of {name}; write Tangent"):
        project(3.0, x)


def test_an_array_has_its_own_space_whenever_another_thread_empties_the_caches(monkeypatch):
    """The space of the first array was that of all, until the caches were emptied again."""
    space(np.ones(3))
    caches.forget()
    find = spaces.dtype_kind

    def emptied(*args):
        kind = find(*args)
        caches.forget()
        return kind

    monkeypatch.setattr(spaces, "dtype_kind", emptied)
    assert space(np.ones((2, 3))).shape == (2, 3)
    assert space(np.ones(3)).shape == (3,)


# ---------------------------------------------------------- precision of what has none of its own


def test_default_dtypes_of_numpy():
    assert default_dtype(np) == np.float64
    assert default_dtype(np, "complex") == np.complex128
    assert zero_tangent(np.arange(3)).dtype == np.float64


@pytest.mark.parametrize("wide", [False, True])
def test_jax_is_asked_for_what_it_has_now(wide):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(wide):
        xp = jax.numpy
        assert default_dtype(xp) == (np.float64 if wide else np.float32)
        assert default_dtype(xp, "complex") == (np.complex128 if wide else np.complex64)
        assert zero_tangent(xp.arange(3)).dtype == default_dtype(xp)


def steps(jax):
    """Functions of a number that meet whole numbers, or Python's, on the way to JAX."""
    counts, one = jax.numpy.arange(4), jax.numpy.ones((), np.float32)
    from chainrules_jax import export

    exported = export(scan)
    turn = lambda a: lambda c, x: ((c[0] + 1, a * c[1] + x), c[1])
    for operation in (scan, exported):
        for first in (0, jax.numpy.asarray(0)):
            yield lambda a, w=operation, c=first: w(turn(a), (c, one), counts)[0][1]
        yield lambda a, w=operation: w(lambda c, x: (a * c + x, x), one, counts)[0]
        yield lambda a, w=operation: w(lambda c, x: (a * c, c), one, None, length=3)[0]


def test_no_word_about_a_precision_that_nobody_asked_for():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        a = jax.numpy.asarray(0.5, np.float32)
        t = jax.numpy.ones_like(a)
        for f in steps(jax):
            slopes = [grad(f)(a), jvp(f, (a,), (t,))[1], jax.grad(f)(a), jax.jvp(f, (a,), (t,))[1]]
            np.testing.assert_allclose(slopes, slopes[0], rtol=1e-6)
        counts = jax.numpy.arange(1, 4)
        slope = grad(lambda n: scan(lambda c, x: (c * x, c), t, n)[0])(counts)
        np.testing.assert_array_equal(slope, [6.0, 3.0, 2.0])
        np.testing.assert_array_equal(grad(lambda n: (n * a)[0])(counts), [0.5, 0.0, 0.0])
        square = lambda x: x * a * jax.numpy.arange(3)
        np.testing.assert_allclose(jacobian(square)(2.0), [0.0, 0.5, 1.0])


@pytest.mark.parametrize("kind", [tuple, list])
def test_the_entries_of_a_dict_have_no_order(kind):
    f = primitive(lambda p: p["a"] * p["b"] ** 2)
    rrule.register(f, types=(dict,))(lambda p: (f(p), lambda c: (kind((9 * c, 12 * c)),)))
    with pytest.raises(ProjectionError, match="dict has no fields 0, 1; its fields are: b, a"):
        rrule(f, {"b": 3.0, "a": 2.0})[1](1.0)
