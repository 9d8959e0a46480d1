"""Primitives: how calls are brought to one form, and what computes them."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from chainrules_py import NoRuleError, NotDifferentiableError, Primitive, RuleError, primitive
from chainrules_py import vocabulary as v
from chainrules_py.extend import where_defined


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


@primitive
def total_of(x, /, *, axis=None):
    """A sum."""


product_of = total_of.alike("product_of", "A product.")


def test_a_word_alike_shares_the_signature_and_nothing_else():
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
    with pytest.raises(TypeError, match="shape"):
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


def test_words_can_be_pickled_by_reference():
    assert pickle.loads(pickle.dumps(affine)) is affine


@pytest.mark.parametrize("word", [v.sin, v.add, v.sum, v.matmul])
def test_words_print_well(word):
    assert repr(word) == f"<primitive {word.__name__}>"
