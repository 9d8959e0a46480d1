"""The contract of frule and rrule, as people call them."""

from __future__ import annotations

import dataclasses
import importlib
import math
from typing import Any

import numpy as np
import pytest

from chainrules_py import (
    ChainRulesError,
    LinearMap,
    MutationError,
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    NotImplementedTangent,
    ProjectionError,
    RuleError,
    Tangent,
    UnsupportedKeywordError,
    ZeroTangent,
    frule,
    is_zero,
    non_differentiable,
    primitive,
    rrule,
    rule,
    scalar_rule,
    zero_tangent,
)
from chainrules_py import ops as v
from chainrules_py.extend import Thunk
from chainrules_tape import grad, jacobian, jvp, linearize, vjp


@primitive
def scaled(x, y):
    return x * y


ran = {"x": 0, "y": 0}


@rule(scaled)
def scaled_rule(x: np.ndarray, y: np.ndarray):
    def pull_x(z_bar, y):
        ran["x"] += 1
        return z_bar * y

    def pull_y(z_bar, x):
        ran["y"] += 1
        return z_bar * x

    return x * y, (
        LinearMap(lambda x_dot, y: x_dot * y, pull_x, y),
        LinearMap(lambda y_dot, x: x * y_dot, pull_y, x),
    )


X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def test_the_pullback_gives_a_tuple_with_one_entry_per_operand():
    y, pullback = rrule(np.sin, X)
    assert np.all(y == np.sin(X))
    answer = pullback(np.ones(2))
    assert type(answer) is tuple
    assert len(answer) == 1
    _, pullback = rrule(scaled, X, Y)
    assert [b.tolist() for b in pullback(np.ones(2))] == [[3.0, 5.0], [1.0, 2.0]]
    assert [b.tolist() for b in pullback(np.ones(2))] == [[3.0, 5.0], [1.0, 2.0]]  # again


def test_what_is_not_wanted_is_not_computed():
    _, pullback = rrule(scaled, X, Y)
    ran.update(x=0, y=0)
    x_bar, y_bar = pullback(np.ones(2), wanted=(False, True))
    assert x_bar is ZeroTangent()
    assert y_bar.tolist() == [1.0, 2.0]
    assert ran == {"x": 0, "y": 1}
    with pytest.raises(ProjectionError, match="2 operands"):
        pullback(np.ones(2), wanted=(True,))


def test_one_tangent_per_operand():
    _, y_dot = frule((np.ones(2), ZeroTangent()), scaled, X, Y)
    assert y_dot.tolist() == [3.0, 5.0]
    assert frule((ZeroTangent(), NoTangent()), scaled, X, Y)[1] == ZeroTangent()
    assert frule((Thunk(lambda: np.ones(2)), ZeroTangent()), scaled, X, Y)[1].tolist() == [3.0, 5.0]
    for wrong in ((), (np.ones(2),), (np.ones(2),) * 3):
        with pytest.raises(ProjectionError, match="one tangent for each of 2"):
            frule(wrong, scaled, X, Y)


@pytest.mark.parametrize("wrong", [None, np.ones(3), np.ones((1, 2)), 1.0, (1.0, 2.0), "text"])
def test_a_cotangent_or_tangent_of_another_kind_is_refused(wrong):
    with pytest.raises(ProjectionError):
        rrule(np.sin, X)[1](wrong)
    with pytest.raises(ProjectionError):
        frule((wrong,), np.sin, X)


def test_a_whole_numbered_result_takes_a_number_for_its_cotangent():
    assert rrule(np.sum, np.arange(3))[1](1.0)[0].tolist() == [1.0, 1.0, 1.0]
    assert rrule(np.sum, np.arange(3))[1](2)[0].tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("zero", [ZeroTangent(), NoTangent()])
def test_a_zero_cotangent_gives_zeros_without_work(zero):
    ran.update(x=0, y=0)
    assert rrule(scaled, X, Y)[1](zero) == (ZeroTangent(), ZeroTangent())
    assert ran == {"x": 0, "y": 0}


def test_a_cotangent_is_brought_to_the_dtype_of_the_result():
    x = np.ones(2, np.float32)
    (x_bar,) = rrule(np.sin, x)[1](np.ones(2))
    assert x_bar.dtype == np.float32
    y_dot = frule((np.ones(2),), np.sin, x)[1]
    assert y_dot.dtype == np.float32


def test_nothing_that_comes_back_is_shared_or_read_only():
    y_bar = np.ones(2)
    for f, x in ((np.add, X), (np.negative, X), (np.exp, X), (np.sum, X), (np.reshape, X)):
        keywords: dict[str, Any] = {"shape": (2, 1)} if f is np.reshape else {}
        args = (x, 1.0) if f is np.add else (x,)
        y, pullback = rrule(f, *args, **keywords)
        seed = 1.0 if f is np.sum else y_bar.reshape(np.shape(y))
        x_bar = pullback(seed)[0]
        assert x_bar.flags.writeable
        assert 0 not in x_bar.strides
        for theirs in (x, y_bar, y):
            assert not np.shares_memory(x_bar, theirs)


def test_keywords_of_numpy_functions_are_bound_to_the_operation():
    a = np.arange(6.0).reshape(2, 3)
    y, pullback = rrule(np.sum, a, axis=-1)
    assert y.tolist() == [3.0, 12.0]
    assert pullback(np.array([1.0, 2.0]))[0].tolist() == [[1, 1, 1], [2, 2, 2]]
    y, pullback = rrule(np.sum, a, 0, keepdims=True)
    assert y.shape == (1, 3)
    with pytest.raises(UnsupportedKeywordError, match="out"):
        rrule(np.sum, a, out=np.empty(()))
    with pytest.raises(TypeError):
        rrule(np.sum, a, nonsense=1)


def test_a_lowered_call_is_differentiated_by_the_engine_at_hand():
    a = np.arange(6.0).reshape(2, 3)
    mask = a > 2
    y, pullback = rrule(np.sum, a, where=mask)
    assert y == 12.0
    assert pullback(1.0)[0].tolist() == mask.astype(float).tolist()
    y, y_dot = frule((np.ones((2, 3)),), np.sum, a, where=mask)
    assert y_dot == 3.0


def test_python_numbers_through_numpy_functions_are_numpys():
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        y, _ = rrule(np.log, 0.0)
    assert y == -np.inf
    y, pullback = rrule(np.exp, 0.3)
    assert type(y) is np.float64
    assert y == np.exp(0.3)
    assert pullback(1.0)[0] == pytest.approx(math.exp(0.3))


def test_numpys_functions_with_many_spellings():
    assert rrule(np.absolute, np.array([-2.0]))[1](np.ones(1))[0].tolist() == [-1.0]
    assert rrule(np.abs, np.array([-2.0]))[1](np.ones(1))[0].tolist() == [-1.0]


class Point:
    def __init__(self, x):
        self.x = x


@dataclasses.dataclass
class Params:
    a: Any
    b: Any
    flag: bool = True


@primitive
def applied(p, x):
    return p.a * x + p.b


@rule(applied)
def applied_rule(p: Params, x: float):
    return p.a * x + p.b, (
        LinearMap(
            lambda t, x: t.a * x + t.b, lambda y_bar, x: Tangent[Params](a=y_bar * x, b=y_bar), x
        ),
        LinearMap(lambda t, a: a * t, lambda y_bar, a: a * y_bar, p.a),
    )


def test_structures_come_in_as_containers_and_go_out_as_tangents():
    p = Params(2.0, 1.0)
    y, pullback = rrule(applied, p, 3.0)
    p_bar, x_bar = pullback(1.0)
    assert (y, p_bar.a, p_bar.b, x_bar) == (7.0, 3.0, 1.0, 2.0)
    assert frule((Tangent[Params](a=1.0), ZeroTangent()), applied, p, 3.0)[1] == 3.0
    assert frule((Params(1.0, 1.0, True), 0.0), applied, p, 3.0)[1] == 4.0  # of the same shape
    with pytest.raises(ProjectionError):
        frule((Tangent[dict](a=1.0), ZeroTangent()), applied, p, 3.0)


def test_a_rule_may_leave_the_dtype_and_realness_to_projection():
    @primitive
    def f(x):
        return x * 1.0

    @rule(f)
    def f_rule(x: np.ndarray):
        return x * 1.0, (
            LinearMap(lambda t: t * np.ones(2), lambda y_bar: y_bar * np.complex128(1 + 2j)),
        )

    x = np.ones(2, np.float32)
    assert rrule(f, x)[1](np.ones(2, np.float32))[0].dtype == np.float32
    assert frule((np.ones(2, np.float32),), f, x)[1].dtype == np.float32


def test_a_push_may_leave_realness_to_projection_where_tangents_are_complex():
    @primitive
    def f(z):
        return np.real(z)

    @rule(f)
    def f_rule(z: np.ndarray):
        return np.real(z), (LinearMap(lambda t: t, lambda y_bar: y_bar),)

    z = np.array([1 + 2j])
    assert frule((1j * z,), f, z)[1] == [-2.0]


def test_a_cotangent_of_a_wrong_shape_from_a_rule_is_an_error_that_names_the_rule():
    @primitive
    def f(x):
        return x * 1.0

    @rule(f)
    def wrong_rule(x: np.ndarray):
        return x * 1.0, (LinearMap(None, lambda y_bar: np.ones((3, 5))),)

    with pytest.raises(ProjectionError, match=r"\(3, 5\)") as error:
        rrule(f, np.ones(2))[1](np.ones(2))
    assert f"{__file__}:{wrong_rule.__code__.co_firstlineno}" in "\n".join(error.value.__notes__)


def test_a_rule_with_one_half_says_so_when_the_other_is_asked():
    @primitive
    def f(x):
        return x * 1.0

    @rule(f)
    def half_rule(x: float):
        return x, (LinearMap(None, lambda y_bar: y_bar),)

    assert rrule(f, 1.0)[1](1.0) == (1.0,)
    with pytest.raises(NotDifferentiableError, match="without push"):
        frule((1.0,), f, 1.0)


@pytest.mark.parametrize("answer", [None, 3.0, (1.0,), (1.0, 2.0)])
def test_written_rules_that_answer_wrongly_are_named(answer):
    @primitive
    def f(x):
        return x

    @rrule.register(f)
    def wrong_rrule(x: float):
        return answer

    with pytest.raises(RuleError, match=r"wrong_rrule|pullback") as error:
        rrule(f, 1.0)
    assert __file__ in str(error.value)


def test_a_pullback_of_wrong_length_or_with_none_is_named():
    for bars, kind in (((1.0, 2.0), RuleError), ([1.0], RuleError), ((None,), ProjectionError)):

        @primitive
        def f(x):
            return x

        @rrule.register(f)
        def wrong_pullback(x: float):
            return x, lambda y_bar: bars  # noqa: B023  (called before the loop goes on)

        with pytest.raises(kind, match=r"rule f|None"):
            rrule(f, 1.0)[1](1.0)


def test_not_implemented_tangents_raise_when_a_person_gets_them():
    @primitive
    def f(x, y):
        return x * y

    @rrule.register(f)
    def f_rrule(x: float, y: float):
        return x * y, lambda z_bar: (z_bar * y, NotImplementedTangent("nobody wrote the part in y"))

    _, pullback = rrule(f, 2.0, 3.0)
    with pytest.raises(NotDifferentiableError, match="nobody wrote"):
        pullback(1.0)
    assert pullback(1.0, wanted=(True, False)) == (3.0, ZeroTangent())


def test_non_differentiable_functions_give_zeros_and_no_tangent():
    @primitive
    def bucket(x, edges):
        return np.digitize(x, edges)

    non_differentiable(bucket)
    edges = np.array([0.0, 1.0])
    y, pullback = rrule(bucket, np.array([0.5]), edges)
    assert y.tolist() == [1]
    assert pullback(NoTangent()) == (ZeroTangent(), ZeroTangent())
    assert frule((np.ones(1), ZeroTangent()), bucket, np.array([0.5]), edges) == (1, NoTangent())
    assert frule((1.0,), v.floor, 1.5) == (1.0, ZeroTangent())


def test_booleans_and_text_cannot_be_perturbed():
    @primitive
    def chosen(x, flag, text):
        return x if flag else -x

    @rule(chosen)
    def chosen_rule(x: float, flag: bool, text: str):
        sign = 1.0 if flag else -1.0
        return sign * x, (
            LinearMap(lambda t: sign * t, lambda t: sign * t),
            NoTangent(),
            NoTangent(),
        )

    assert rrule(chosen, 2.0, False, "t")[1](1.0) == (-1.0, NoTangent(), NoTangent())


def test_complex_operands_need_a_word_about_them():
    @primitive
    def f(x):
        return x * x

    scalar_rule(f, lambda _y, x: 2 * x)
    for z in (1 + 2j, np.array([1 + 2j]), np.complex64(1j)):
        with pytest.raises(NoRuleError, match="complex='holomorphic'"):
            rrule(f, z)
        with pytest.raises(NoRuleError, match="complex='holomorphic'"):
            frule((1j if isinstance(z, complex) else np.ones_like(z),), f, z)


def test_an_unknown_function_says_what_to_write():
    def unknown(x):
        return x

    with pytest.raises(NoRuleError, match="@primitive above"):
        rrule(unknown, 1.0)
    with pytest.raises(NoRuleError, match="@primitive above"):
        frule((1.0,), unknown, 1.0)


NO_TANGENTS = {
    "a number": lambda x, x_dot: 2.0,
    "a sum": lambda x, x_dot: np.sum(2.0 * x * x_dot),
    "of one element": lambda x, x_dot: 2.0 * x[0] * x_dot[0],
    "a row": lambda x, x_dot: (2.0 * x * x_dot)[None, :],
    "a column": lambda x, x_dot: (2.0 * x * x_dot)[:, None],
    "a part": lambda x, x_dot: (2.0 * x * x_dot)[:2],
    "imaginary": lambda x, x_dot: 2.0 * x * x_dot + 1j,
    "a list": lambda x, x_dot: [2.0 * x[0] * x_dot[0], 0.0, 0.0],
    "a tuple": lambda x, x_dot: (2.0 * x * x_dot,),
    "a text": lambda x, x_dot: "2 x x_dot",
    "none": lambda x, x_dot: None,
    "objects": lambda x, x_dot: np.ones(3, object),
}


@pytest.mark.parametrize("tangent", NO_TANGENTS.values(), ids=list(NO_TANGENTS))
def test_what_an_frule_gives_is_a_tangent_of_its_result(tangent):
    """A number was broadcast, and its transpose was the gradient of another function."""

    @primitive
    def squared(x):
        return x * x

    @frule.register(squared)
    def squared_frule(tangents, x):
        return x * x, tangent(x, tangents[0])

    x = np.array([1.3, 0.7, 2.1])
    doors = (
        lambda: frule((np.ones(3),), squared, x),
        lambda: jvp(squared, (x,), (np.ones(3),)),
        lambda: linearize(squared, x)[1](np.ones(3)),
        lambda: grad(lambda x: np.sum(squared(x)))(x),
        lambda: jacobian(squared)(x),
    )
    for door in doors:
        with pytest.raises(ChainRulesError):
            door()


def test_a_partial_that_is_none_states_a_zero():
    """As it is written: the function is constant in that operand."""
    gate = primitive(lambda x, y: x * (y > 0))
    scalar_rule(gate, lambda z, x, y: y > 0, None)
    assert grad(gate, (0, 1))(2.0, 3.0) == (1.0, 0.0)
    assert rrule(gate, 2.0, 3.0)[1](1.0) == (1.0, ZeroTangent())


OF_OBJECTS = {
    "objects": np.array([1.0, 2.0], object),
    "records": np.zeros(2, [("a", float)]),
    "nested": np.zeros(2, [("a", [("b", complex)])]),
    "no numbers": np.array([{}, 2.0], object),
}
SOME_OPERATIONS = (
    v.sin,
    v.exp,
    v.add,
    v.multiply,
    v.sum,
    v.prod,
    v.matmul,
    v.sort,
    v.concat,
    v.where,
)


@pytest.mark.parametrize("x", OF_OBJECTS.values(), ids=OF_OBJECTS)
@pytest.mark.parametrize("called_before", [False, True])
def test_numbers_in_objects_and_fields_are_refused_in_our_words(x, called_before):
    places = {v.add: 2, v.multiply: 2, v.matmul: 2, v.concat: 2, v.where: 3}
    for operation in SOME_OPERATIONS:
        xs = (x,) * places.get(operation, 1)
        if called_before:  # with arrays, which are of the same class, so that the call is known
            usual = tuple(np.ones(2) for _ in xs)
            if operation is v.where:
                usual = (usual[0] > 0, *usual[1:])
            rrule(operation, *usual)
            frule(tuple(map(zero_tangent, usual)), operation, *usual)
        calls = (
            lambda w=operation, xs=xs: rrule(w, *xs)[1](np.ones(2)),
            lambda w=operation, xs=xs: frule(tuple(np.ones(2) for _ in xs), w, *xs),
            lambda w=operation, xs=xs: frule(tuple(ZeroTangent() for _ in xs), w, *xs),
        )
        for call in calls:
            try:
                found = call()
            except ChainRulesError:
                continue
            assert all(is_zero(t) for t in found[1:]), (operation, found)


def test_an_error_of_a_call_that_is_known_tells_as_much_as_that_of_the_first():
    rrule(v.sin, np.ones(2))
    with pytest.raises(NotDifferentiableError, match=r"np\.asarray\(x, float\)"):
        rrule(v.sin, np.array([1.0, 2.0], object))
    with pytest.raises(TypeError, match="not supported for the input types"):
        rrule(v.sin, np.array(["a", "b"]))


ZERO_D = {
    "numpy": ("numpy", "array"),
    "torch": ("torch", "tensor"),
    "jax": ("jax.numpy", "asarray"),
    "dask": ("dask.array", "asarray"),
    "array_api_strict": ("array_api_strict", "asarray"),
    "mlx": ("mlx.core", "array"),
}


@pytest.mark.parametrize("x", [1.5, 2, 0.5j])
@pytest.mark.parametrize("library", ZERO_D)
def test_a_number_takes_0_d_seeds_of_any_library(library, x):
    pytest.importorskip(library)
    module, make = ZERO_D[library]
    seed = getattr(importlib.import_module(module), make)(2.0)
    found = {
        "rrule": rrule(v.multiply, x, x)[1](seed)[0],
        "frule": frule((seed, seed), v.multiply, x, x)[1] / 2,
        "vjp": vjp(lambda x: x * x, x)[1](seed)[0] / 2,
        "jvp": jvp(lambda x: x * x, (x,), (seed,))[1] / 2,
    }
    for name, t in found.items():
        assert type(t).__module__.partition(".")[0] in (library, "jaxlib"), name
        assert tuple(t.shape) == ()
        back = name in ("rrule", "vjp")
        assert complex(t) == pytest.approx(2.0 * (np.conj(x) if back else x)), name
    refused = getattr(importlib.import_module(module), make)([2.0])
    with pytest.raises(ProjectionError, match=r"give one of shape \(\)"):
        vjp(lambda x: x * x, x)[1](refused)


def test_calls_of_several_operations_skip_what_is_not_wanted():
    _, pullback = rrule(np.moveaxis, np.ones((2, 3)), 0, 1)
    bars = pullback(np.ones((3, 2)), wanted=(True, False, False))
    assert bars[0].shape == (2, 3)
    assert is_zero(bars[1])
    bars = rrule(np.hypot, 3.0, 4.0)[1](1.0, wanted=(False, True))
    assert is_zero(bars[0])
    assert is_zero(
        rrule(np.interp, 0.5, np.arange(2.0), np.ones(2) * 1j)[1](1j, wanted=(0, 0, 1))[1]
    )
    with pytest.raises(ProjectionError, match="2 entries for 3 operands"):
        pullback(np.ones((3, 2)), wanted=(True, False))


@pytest.mark.parametrize("f", [np.sin, np.cumprod, np.linalg.solve])
def test_a_write_to_what_a_pullback_needs_is_an_error(f):
    """However deep the rule saved the array, and where it saved a view of it."""
    xs = (np.eye(2) + 0.5, X) if f is np.linalg.solve else (X.copy(),)
    y, pullback = rrule(f, *xs)
    pullback(y)
    xs[0][0] = 7.0
    with pytest.raises(MutationError, match="was written to after that"):
        pullback(y)


@pytest.mark.parametrize("f, n", [(np.exp, 1), (np.multiply, 2), (np.cumprod, 1)])
@pytest.mark.parametrize("target", ["operand", "value"])
def test_a_write_that_an_outer_differentiation_traces_is_not_seen_by_a_pullback(f, n, target):
    def products(x, writes):
        y = x * 1.0
        z, pullback = rrule(f, *[y] * n)
        if writes:
            (y if target == "operand" else z)[0] = 7.0
        return np.sum(pullback(np.ones(3))[0] * x)

    x = np.array([0.5, 1.5, -2.0])
    for derivative in (grad, lambda h: lambda x: jvp(h, (x,), (x,))[1]):
        written, kept = [derivative(lambda x, w=w: products(x, w))(x) for w in (True, False)]
        np.testing.assert_allclose(written, kept)
