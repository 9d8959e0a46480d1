"""Primitives: how calls are brought to one form, and what computes them."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from chainrules_py import (
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    Primitive,
    RuleError,
    primitive,
    rrule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import where_defined
from chainrules_tape import grad, jvp


@primitive
def affine(x, w, b=1.0, *, power=1, label=None):
    """An affine function, to a power."""
    return (x * w + b) ** power


def test_operands_by_name_and_defaults_are_filled_in():
    expected = ((2.0, 3.0, 1.0), {"power": 1, "label": None})
    for call in (((2.0, 3.0), {}), ((2.0,), {"w": 3.0}), ((), {"w": 3.0, "x": 2.0})):
        assert affine.normalise(*call) == expected
    assert affine(2.0, w=3.0, power=2) == 49.0
    assert (affine.operands, affine.variadic, set(affine.options)) == (
        ("x", "w", "b"),
        None,
        {"power", "label"},
    )
    assert affine.__doc__ == "An affine function, to a power."


def test_defaults_of_operands_by_position_only_are_filled_in():
    """It raised that an operand y was missing, which is no name of the function's."""
    for f in (
        primitive(lambda x, s=2.0, /: x * s),
        primitive(lambda x=3.0, s=2.0, /: x * s),
        primitive(lambda x, s=2.0, /, *, k=1.0: x * s * k),
    ):
        assert (f(3.0), f(3.0, 4.0)) == (6.0, 12.0)


@primitive
def total_of(x, /, *, axis=None):
    """A sum."""


product_of = total_of.alike("product_of", "A product.")


def test_an_operation_alike_shares_the_signature_and_nothing_else():
    assert product_of.signature == total_of.signature
    assert (product_of.operands, product_of.options) == (("x",), {"axis": None})
    assert (product_of.__name__, product_of.__doc__) == ("product_of", "A product.")
    assert product_of.__module__ == __name__
    assert pickle.loads(pickle.dumps(product_of)) is product_of
    where = f"{__file__}:{product_of.__wrapped__.__code__.co_firstlineno}"
    assert where_defined(product_of) == where != where_defined(total_of)
    product_of.implement(lambda x, *, axis: x * 3, types=(int,))
    assert product_of(2, axis=None) == 6
    with pytest.raises(NoRuleError):
        total_of(2)


@pytest.mark.parametrize(
    "call", [((), {}), ((1.0,), {}), ((1.0, 2.0), {"nonsense": 1}), ((1.0,) * 4, {})]
)
def test_calls_that_do_not_fit_raise_type_errors(call):
    operands, options = call
    with pytest.raises(TypeError):
        affine.normalise(operands, options)


def test_a_missing_option_without_a_default_is_named():
    needed = r"missing a required .*shape.*write reshape\(x, shape=\.\.\.\)"
    with pytest.raises(TypeError, match=needed):
        v.reshape.normalise((np.ones(2),), {})


def test_arrays_are_no_options():
    with pytest.raises(NotDifferentiableError, match=r"label of affine .* float64\[2\]"):
        affine.normalise((1.0, 2.0), {"label": np.ones(2)})


def test_keyword_arguments_without_names_are_refused():
    with pytest.raises(RuleError, match=r"\*\*options"):

        @primitive
        def f(x, **options): ...


def test_methods_and_dataclass_calls_bind_their_instance():
    @dataclasses.dataclass
    class Scale:
        c: float

        @primitive
        def __call__(self, x):
            return self.c * x

        @primitive
        def twice(self, x):
            return 2 * self.c * x

    s = Scale(3.0)
    assert (s(2.0), s.twice(2.0)) == (6.0, 12.0)
    assert isinstance(Scale.__dict__["twice"], Primitive)
    assert Scale.twice is Scale.__dict__["twice"]


def test_code_that_cannot_be_edited_becomes_a_primitive_of_its_own():
    g = primitive(np.linalg.det)
    assert g(np.eye(2)) == 1.0
    assert primitive(g) is g


def test_a_bare_docstring_asks_the_namespace():
    assert not v.sin.has_body
    assert v.sin(np.array(0.5)) == np.sin(0.5)
    assert type(v.sin(np.float32(0.5))) is np.float32

    @primitive
    def nobody_computes_this(x, /):
        """Nothing."""

    with pytest.raises(NoRuleError, match=r"nobody_computes_this.*implement"):
        nobody_computes_this(np.ones(2))
    with pytest.raises(NoRuleError, match=r"nobody_computes_this\(str\)"):
        nobody_computes_this("text")


def test_an_implementation_for_a_class_wins_over_the_body_and_later_ones_count_at_once():
    @primitive
    def half(x, /):
        return x / 2

    assert half(7) == 3.5

    @half.implement
    def half_int(x: int):
        return x // 2

    assert half(7) == 3
    assert half(7.0) == 3.5


def test_operations_can_be_pickled_by_reference():
    assert pickle.loads(pickle.dumps(affine)) is affine


@pytest.mark.parametrize("operation", [v.sin, v.add, v.sum, v.matmul])
def test_operations_print_well(operation):
    assert repr(operation) == f"<primitive {operation.__name__}>"


UFUNCS = {
    f.__name__: f
    for f in (
        np.sin,
        np.exp,
        np.hypot,
        np.logaddexp,
        np.divmod,
        np.modf,
        np.add,
        np.isnan,
        np.matmul,
    )
}
UFUNCS["of Python"] = np.frompyfunc(lambda x, y: x * y + y, 2, 1)


@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_are_functions_of_their_operands(name):
    f = UFUNCS[name]
    g = primitive(f)
    assert len(g.operands) == f.nin
    for make in (lambda k: 0.5 + k, lambda k: np.eye(2) + k):
        xs = [make(k) for k in range(f.nin)]
        if name == "matmul" and not np.ndim(xs[0]):
            continue
        for have, want in zip(np.atleast_1d(g(*xs)), np.atleast_1d(f(*xs)), strict=True):
            assert np.array_equal(have, want)
    with pytest.raises(TypeError, match="out"):
        g(*xs, out=None)


def test_rules_of_ufuncs():
    g, f = primitive(np.hypot), primitive(np.frompyfunc(lambda x: x * x, 1, 1))
    assert np.isclose(grad(lambda x: g(x, 4.0))(3.0), 0.6)  # by NumPy's own
    with pytest.raises(NotDifferentiableError, match="no derivative that is known"):
        grad(f)(3.0)
    scalar_rule(f, lambda _, x: 2.0 * x)
    assert grad(f)(3.0) == 6.0
    scalar_rule(g, lambda z, x, y: 10.0, lambda z, x, y: 20.0)
    assert grad(lambda x: g(x, 4.0))(3.0) == 10.0
    assert jvp(lambda y: np.sum(g(np.ones(2), y)), (3.0,), (1.0,))[1] == 40.0
    assert np.isclose(grad(lambda x: np.hypot(x, 4.0))(3.0), 0.6)


class Kinds:
    """Functions of a class, by both orders of their decorators."""

    @primitive
    @staticmethod
    def inner(x):
        return x * x

    @staticmethod
    @primitive
    def outer(x):
        return x * x

    @primitive
    @classmethod
    def inner_of_class(cls, x):
        return x * x * (cls is not None)

    @classmethod
    @primitive
    def outer_of_class(cls, x):
        return x * x * (cls is not None)


@pytest.mark.parametrize("name", ["inner", "outer", "inner_of_class", "outer_of_class"])
def test_decorators_of_a_class_stand_in_any_order(name):
    for owner in (Kinds, Kinds()):
        f = getattr(owner, name)
        assert f(3.0) == 9.0
        assert grad(f)(3.0) == 6.0
        assert jvp(f, (3.0,), (1.0,))[1] == 6.0


@pytest.mark.parametrize("name", ["inner_of_class", "outer_of_class"])
def test_a_rule_for_a_method_of_a_class(name):
    """It was refused, with the advice to write the decorator that stood there."""

    class Owner(Kinds):
        inner_of_class = primitive(classmethod(lambda cls, x: x * x))
        outer_of_class = classmethod(primitive(lambda cls, x: x * x))

    @rrule.register(getattr(Owner, name))
    def rule_of_owner(cls: type, x):
        return x * x, lambda y_bar: (NoTangent(), 7.0 * y_bar)

    assert grad(getattr(Owner, name))(3.0) == grad(getattr(Owner(), name))(3.0) == 7.0
    with pytest.raises(RuleError, match="no engine can see"):
        rrule.register(int.from_bytes)(rule_of_owner)


def test_code_that_exec_runs_without_a_name():
    """What it defines has no module: `f.__module__` is None."""
    space = {}
    exec("def square(x):\n    return x * x\ndef partial(y, x):\n    return 2.0 * x", space)
    operation = primitive(space["square"])
    assert space["square"].__module__ is None
    scalar_rule(operation, space["partial"])
    assert grad(operation)(3.0) == 6.0
    assert repr(operation) == "<primitive square>"
