"""Finding rules: specificity, layers, opting out, errors, caches."""

from __future__ import annotations

import gc
import itertools
import textwrap
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any, AnyStr, Literal, Protocol

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import (
    AmbiguousRuleError,
    Array,
    Config,
    ForwardMode,
    LinearMap,
    NoRuleError,
    NotDifferentiableError,
    Numeric,
    ReverseMode,
    RuleError,
    ZeroTangent,
    coverage,
    explain,
    frule,
    opt_out,
    primitive,
    rrule,
    rule,
    rules_for,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import Library, any_engine, find_rule, register_array_type
from chainrules_py.primitives import plugins
from chainrules_py.primitives.plugins import Layer
from chainrules_tape import grad, jacobian, jvp, linearize


def fresh(name: str = "f", operands: int = 1) -> Any:
    """A new primitive, so that tests do not see one another's rules."""
    names = ", ".join("xyzw"[:operands])
    space: dict[str, Any] = {}
    exec(f"def {name}({names}):\n    return {' + '.join('xyzw'[:operands])}", space)
    space[name].__module__ = __name__
    return primitive(space[name])


def factor_rule(
    factor: float, operand_type: Any = Numeric, module: str = __name__, name: str | None = None
) -> Callable[..., Any]:
    """A rule for y = x whose derivative is a factor, so that it shows which rule ran."""

    def stated(x):
        return x, (LinearMap(lambda t: factor * t, lambda t: factor * t),)

    stated.__annotations__ = {"x": operand_type}
    stated.__module__ = module
    stated.__qualname__ = name or f"rule_{factor}"
    return stated


def state_ahead(f: Any) -> None:
    """State the forward mode alone, as a user, for floats: the derivative is 3."""

    def ahead(ts, x: float):
        return x, 3.0 * ts[0]

    frule.register(f)(ahead)


def derivative(f: Any, x: Any = 1.0) -> float:
    return float(rrule(f, x)[1](np.ones_like(x) if isinstance(x, np.ndarray) else 1.0)[0])


class Base:
    pass


class Left(Base):
    pass


class Right(Base):
    pass


# ------------------------------------------------------------------------------ precedence


def test_the_more_specific_rule_wins_in_either_order_of_writing():
    for order in itertools.permutations([(Numeric, 2.0), (float, 3.0)]):
        f = fresh()
        for cls, factor in order:
            rule(f)(factor_rule(factor, cls))
        assert derivative(f, 1.0) == 3.0
        assert derivative(f, np.array(1.0)) == 2.0


MODULES = {
    Layer.CORE: "chainrules_py.rules.planted",
    Layer.ENGINE: "planted_engine",
    Layer.BACKEND: "planted_backend",
    Layer.THIRD_PARTY: "planted_rules",
    Layer.USER: "planted_user",
}


@pytest.fixture
def layers(monkeypatch: pytest.MonkeyPatch):
    """Announce a module for each layer."""
    groups = {
        plugins.ENGINES: (("e", "planted_engine"),),
        plugins.BACKENDS: (("b", "planted_backend"),),
        plugins.RULES: (("r", "planted_rules"),),
        plugins.OPERATIONS: (),
    }
    monkeypatch.setattr(plugins, "announced", lambda group: groups[group])
    plugins._layers.cache_clear()
    yield
    plugins._layers.cache_clear()


@pytest.mark.parametrize("order", list(itertools.permutations(Layer)))
def test_between_equal_signatures_the_layer_decides_and_never_the_order(layers, order):
    f = fresh()
    for layer in order:
        rule(f)(factor_rule(float(layer), module=MODULES[layer]))
    assert derivative(f) == float(Layer.USER)
    assert [s.layer for s in rules_for(f)] == sorted(Layer, reverse=True)


@pytest.mark.parametrize("left_out", range(1, 5))
def test_each_layer_beats_those_below(layers, left_out):
    present = list(Layer)[: len(Layer) - left_out]
    for order in itertools.permutations(present):
        f = fresh()
        for layer in order:
            rule(f)(factor_rule(float(layer), module=MODULES[layer]))
        assert derivative(f) == float(present[-1])


@pytest.mark.parametrize("order", list(itertools.permutations(range(2))))
def test_between_ambiguous_signatures_the_layer_decides(layers, order):
    f = fresh(operands=2)

    def third_party(x: float, y: Numeric):
        return x + y, (LinearMap(None, lambda t: 3.0 * t), LinearMap(None, lambda t: 3.0 * t))

    def user(x: Numeric, y: float):
        return x + y, (LinearMap(None, lambda t: 4.0 * t), LinearMap(None, lambda t: 4.0 * t))

    third_party.__module__, user.__module__ = "planted_rules", "planted_user"
    # The annotations are strings here, and resolved where the functions were written.
    for k in order:
        rule(f, types=((float, Numeric), (Numeric, float))[k])((third_party, user)[k])
    assert rrule(f, 1.0, 1.0)[1](1.0) == (4.0, 4.0)


def test_more_specific_beats_a_higher_layer_and_override_beats_more_specific(layers):
    f = fresh()
    rule(f)(factor_rule(1.0, float, module=MODULES[Layer.CORE]))
    rule(f)(factor_rule(4.0, Numeric, module=MODULES[Layer.USER]))
    assert derivative(f) == 1.0
    rule(f, override=True)(factor_rule(5.0, Numeric, module=MODULES[Layer.USER]))
    assert derivative(f) == 5.0


def test_ambiguity_is_an_error_that_names_both_places():
    f = fresh(operands=2)

    @rule(f)
    def one_rule(x: float, y: Numeric): ...

    @rule(f)
    def other_rule(x: Numeric, y: float): ...

    with pytest.raises(AmbiguousRuleError) as error:
        rrule(f, 1.0, 1.0)
    text = str(error.value)
    for written in (one_rule, other_rule):
        assert f"{__file__}:{written.__code__.co_firstlineno}" in text
    assert "(float, float)" in text


def test_two_rules_of_one_layer_and_signature_are_refused_with_both_places():
    f = fresh()
    first = rule(f)(factor_rule(1.0, name="first"))
    with pytest.raises(RuleError) as error:
        rule(f)(factor_rule(2.0, name="second"))
    assert str(error.value).count(f"{__file__}:{first.__code__.co_firstlineno}") == 2
    assert derivative(f) == 1.0  # nothing was half registered


def test_a_rule_written_again_under_its_name_replaces_the_old_one():
    f = fresh()
    rule(f)(factor_rule(1.0, name="same"))
    assert derivative(f) == 1.0
    rule(f)(factor_rule(2.0, name="same"))
    assert derivative(f) == 2.0
    assert len(rules_for(f)) == 1


def test_two_calls_of_a_constructor_in_one_file_are_two_statements():
    f = fresh()
    scalar_rule(f, lambda _y, _x: 2.0)
    with pytest.raises(RuleError, match="two rules for the same types"):
        scalar_rule(f, lambda _y, _x: 3.0)
    assert derivative(f) == 2.0


def test_a_module_loaded_anew_replaces_its_statements(tmp_path, monkeypatch):
    import importlib

    monkeypatch.syspath_prepend(tmp_path)
    text = (
        "from chainrules_py import scalar_rule\n"
        "from tests_planted_operations import f\n"
        "scalar_rule(f, lambda _y, _x: {})\n"
    )
    (tmp_path / "tests_planted_operations.py").write_text(
        "from chainrules_py import primitive\n@primitive\ndef f(x):\n    return x\n"
    )
    path = tmp_path / "tests_planted_module.py"
    path.write_text(text.format("2.0"))
    module = importlib.import_module("tests_planted_module")
    assert derivative(module.f) == 2.0
    path.write_text("# edited, so that the line is another one now\n" + text.format("3.0 "))
    importlib.invalidate_caches()
    importlib.reload(module)
    assert derivative(module.f) == 3.0


# ------------------------------------------------------------------------------ array classes


class Volts(np.ndarray):
    """Computes as ndarray does, and carries a meaning in its type."""


register_array_type(Volts, Library(np))


def test_a_users_rule_for_an_own_array_class_changes_nothing_else():
    plain = np.array([0.3, 0.4])
    before = find_rule(v.sinh, (np.ndarray,)).reverse
    assert rrule(np.sinh, plain.view(Volts))[1](np.ones(2))[0] == pytest.approx(np.cosh(plain))

    @rule(np.sinh)
    def sinh_rule_volts(x: Volts):
        return np.sinh(x), (LinearMap(lambda t: 10 * t, lambda t: 10 * t),)

    try:
        assert np.all(rrule(np.sinh, plain.view(Volts))[1](np.ones(2))[0] == 10)
        assert rrule(np.sinh, plain)[1](np.ones(2))[0] == pytest.approx(np.cosh(plain))
        assert find_rule(v.sinh, (np.ndarray,)).reverse is before
        assert find_rule(v.cosh, (Volts,)).reverse is find_rule(v.cosh, (np.ndarray,)).reverse
    finally:
        v.sinh.stated = tuple(s for s in v.sinh.stated[0] if Volts not in s.signature), {}


class Loose(np.ndarray):
    """Computes by a namespace that has no hash."""


register_array_type(Loose, Library(types.SimpleNamespace(**vars(np))))


def test_the_namespace_of_an_array_class_needs_no_hash():
    """Pushes kept namespaces in a set: a TypeError of Python's."""
    x, t = np.array([0.3, 0.4]), np.array([1.0, -2.0])
    f = lambda x: v.sin(x) * x
    expected = (f(x + 1e-6 * t) - f(x - 1e-6 * t)) / 2e-6
    got = [
        jvp(f, (x.view(Loose),), (t.view(Loose),))[1],
        linearize(f, x.view(Loose))[1](t.view(Loose)),
        jacobian(f)(x.view(Loose)) @ t,
    ]
    for y_dot in got:
        assert np.asarray(y_dot) == pytest.approx(expected, rel=1e-8)


class Odd(np.ndarray):
    def __mul__(self, other):
        return np.ndarray.__mul__(self, other) + 1


def test_a_subclass_with_arithmetic_of_its_own_is_a_type_of_its_own():
    for cls in (Odd, np.matrix):
        x = np.ones((2, 2)).view(cls)
        assert find_rule(v.multiply, (cls, cls)) is None
        line = r"register_array_type\(Odd" if cls is Odd else r"np\.asarray"
        with pytest.raises(NoRuleError, match=line):
            rrule(np.multiply, x, x)


def test_a_rule_that_names_such_a_subclass_serves_it():
    f = fresh()
    rule(f)(factor_rule(2.0, Odd))
    assert find_rule(f, (Odd,)) is not None
    assert find_rule(f, (np.ndarray,)) is None


def test_numpy_scalars_are_numbers_first_and_arrays_of_no_axes_then():
    f = fresh()
    rule(f)(factor_rule(2.0, Array))
    for number in (np.float64(1.0), np.float32(1.0), np.array(1.0)):
        assert derivative(f, number) == 2.0
    assert find_rule(f, (float,)) is None
    rule(f)(factor_rule(3.0, float))
    assert derivative(f, np.float64(1.0)) == 3.0  # np.float64 is a float
    assert derivative(f, np.float32(1.0)) == 2.0


# ------------------------------------------------------------------------------ refusals


@typing.runtime_checkable
class Shaped(Protocol):
    shape: Any


@pytest.mark.parametrize(
    "annotation",
    [list[int], Literal["a"], Shaped, type[int], AnyStr, np.ndarray[Any, np.dtype[np.float64]]],
)
def test_annotations_that_cannot_be_dispatched_on_are_refused(annotation):
    f = fresh()
    with pytest.raises(RuleError, match="cannot be dispatched on") as error:
        rule(f)(factor_rule(1.0, annotation))
    assert "rule_1.0" in str(error.value)
    assert __file__ in str(error.value)
    assert rules_for(f) == []


def test_annotations_that_cannot_be_resolved_are_refused_with_the_way_out():
    class Local:
        pass

    f = fresh()

    def local_rule(x: Local):  # a string: this file imports annotations from __future__
        return x, (LinearMap(lambda t: 2.0 * t, lambda t: 2.0 * t),)

    with pytest.raises(RuleError, match=r"types=\(A, B\)"):
        rule(f)(local_rule)
    rule(f, types=(Local,))(local_rule)
    assert find_rule(f, (Local,)) is not None


def test_rules_with_other_operands_or_options_are_refused_with_both_places():
    @primitive
    def g(x, y, *, axis=0):
        return x + y

    def too_few(x: Array): ...
    def wrong_option(x: Array, y: Array, *, axes): ...
    def too_many(*xs: Array): ...

    for wrong in (too_few, wrong_option, too_many):
        for constructor in (rule, rrule.register):
            with pytest.raises(RuleError, match="a rule has the same: write def") as error:
                constructor(g)(wrong)
            assert f"{__file__}:{wrong.__code__.co_firstlineno}" in str(error.value)
            assert f"{__file__}:{g.__wrapped__.__code__.co_firstlineno}" in str(error.value)
    assert rules_for(g) == []


@pytest.mark.parametrize(
    "state",
    [
        lambda f: scalar_rule(f),
        lambda f: scalar_rule(f, lambda y, x: x, lambda y, x: x),
        lambda f: scalar_rule(f, lambda y: y),
        lambda f: scalar_rule(f, lambda y, x: y, complex="wrong"),
        lambda f: scalar_rule(f, None),
    ],
)
def test_scalar_rules_of_wrong_arity_are_refused(state):
    f = fresh()
    with pytest.raises(RuleError, match="f"):
        state(f)
    assert rules_for(f) == []


def test_wrong_numbers_of_maps_are_reported_with_the_rules_name():
    f = fresh(operands=2)

    @rule(f)
    def two_maps_too_few(x: float, y: float):
        return x + y, (LinearMap(None, lambda t: t),)

    for call in (lambda: rrule(f, 1.0, 2.0), lambda: frule((1.0, 1.0), f, 1.0, 2.0)):
        with pytest.raises(
            RuleError, match=r"each of the operands \(x, y\), and not \(LinearMap\)"
        ) as error:
            call()
        assert f"{__file__}:{two_maps_too_few.__code__.co_firstlineno}" in str(error.value)


def test_a_plain_python_function_is_refused_with_the_line_to_write():
    def undecorated(x):
        return x

    for constructor in (rule, rrule.register, frule.register):
        with pytest.raises(RuleError, match="@primitive above"):
            constructor(undecorated)(factor_rule(1.0))
    assert find_rule(undecorated, (float,)) is None


def test_a_ufunc_without_an_operation_can_have_a_rule():
    # No library has an operation for them, nor another test.
    from scipy.special._ufuncs import _cospi, _sinpi

    @rule(_sinpi)
    def sinpi_rule(x: np.ndarray):
        slope = np.pi * _cospi(x)
        return _sinpi(x), (LinearMap(lambda t, s: t * s, lambda t, s: t * s, slope),)

    x = np.array([0.1, -0.7])
    expected = (_sinpi(x + 1e-6) - _sinpi(x - 1e-6)) / 2e-6
    assert grad(lambda x: np.sum(_sinpi(x)))(x) == pytest.approx(expected, rel=1e-8)


def test_a_ufunc_whose_rules_do_not_fit_is_an_error_and_is_not_traced_into_itself():
    from scipy.special._ufuncs import _cosine_cdf, _lgam1p

    rule(_lgam1p)(factor_rule(1.0, Odd, name="for another class"))
    frule.register(_cosine_cdf, types=(np.ndarray,))(lambda tangents, x: (_cosine_cdf(x), x))
    with pytest.raises(NoRuleError, match=r"no rrule for _lgam1p"):
        grad(lambda x: np.sum(_lgam1p(x)))(np.ones(2))
    with pytest.raises(NotDifferentiableError, match=r"_cosine_cdf .* is not linear"):
        grad(lambda x: np.sum(_cosine_cdf(x)))(np.ones(2))


# ------------------------------------------------------------------------------ requires, opt-out


class Able(Config):
    capabilities = frozenset((ReverseMode, ForwardMode))


def test_rules_that_require_something_are_found_by_engines_that_can_do_it():
    f = fresh()
    rule(f)(factor_rule(2.0))

    @rule(f, requires=ReverseMode)
    def needing(config, x: Numeric):
        assert config.capabilities >= {ReverseMode}
        return x, (LinearMap(lambda t: 7 * t, lambda t: 7 * t),)

    able = Able()
    assert rrule(f, 1.0)[1](1.0) == (2.0,)
    assert rrule(able, f, 1.0)[1](1.0) == (7.0,)
    assert frule((1.0,), able, f, 1.0) == (1.0, 7.0)


def test_what_only_capable_engines_find_is_named_in_the_error():
    f = fresh()

    @rule(f, requires=ReverseMode)
    def needing(config, x: Numeric): ...

    assert find_rule(f, (float,)) is None
    with pytest.raises(NoRuleError, match=r"requires .*reverse"):
        rrule(f, 1.0)


def test_opting_out_removes_a_more_general_rule_for_these_types_only():
    f = fresh()
    rule(f)(factor_rule(2.0))
    opt_out(f, int)
    assert find_rule(f, (int,)) is None
    assert derivative(f, 1.0) == 2.0
    with pytest.raises(NoRuleError, match="opted out"):
        rrule(f, 1)
    assert "opted out" in repr(explain(f, 1))


# ------------------------------------------------------------------------------ what people read


def test_no_rule_says_what_there_is_and_what_to_write():
    f = fresh("narrow")
    written = rule(f)(factor_rule(1.0, np.ndarray))
    with pytest.raises(NoRuleError) as error:
        rrule(f, 1.0)
    text = str(error.value)
    assert isinstance(error.value, LookupError)
    assert "narrow(float)" in text
    assert f"(ndarray) forward/reverse (user)  {__file__}:{written.__code__.co_firstlineno}" in text
    assert "@rule(narrow)" in text


@pytest.mark.parametrize(
    "operands, told",
    [((1, "s"), "write @rule(named)"), (("s", "s"), "a text is no number; give a number")],
)
def test_an_operand_that_the_rule_takes_is_not_blamed(operands, told):
    f = fresh("named", 2)
    rule(f, types=(float, str))(lambda x, y: x)
    with pytest.raises(NoRuleError) as error:
        rrule(f, *operands)
    assert told in str(error.value)


def test_a_missing_half_is_named():
    f = fresh()

    @rrule.register(f)
    def only_reverse(x: float):
        return x, lambda y_bar: (y_bar,)

    with pytest.raises(NoRuleError, match=r"\(float\) forward \(user\), requires"):
        frule((1.0,), Config(), f, 1.0)  # an engine that could not transpose it


def test_a_rule_and_its_transpose_are_told_as_one():
    """It said that there was a rule for numbers, and that only the other mode was."""
    f = fresh()
    augmented_rule(f, lambda p: (p, ()), lambda y_bar: (y_bar,))
    asked = {
        "there is one for": lambda x: rrule(f, x),
        r"forward \(user\), requires": lambda x: frule((x,), f, x),
    }
    for told, ask in asked.items():
        with pytest.raises(NoRuleError, match=told) as error:
            ask({"a": 1.0})
        assert str(error.value).count("(Numeric)") == 1


@pytest.mark.parametrize("stated", ["both", "derived", "own", "neither"])
def test_a_stated_mode_comes_before_one_that_follows(stated):
    """For any annotations: the transpose of a more specific statement was used instead."""
    narrow, wide = {"x": Array}, {}
    forward = wide if stated in ("own", "neither") else narrow
    reverse = wide if stated in ("derived", "neither") else narrow

    def ahead(ts, x):
        return 2.0 * x, 3.0 * ts[0]

    def back(x):
        return 2.0 * x, lambda y_bar: (5.0 * y_bar,)

    ahead.__annotations__, back.__annotations__ = forward, reverse
    f = primitive(lambda x: 2.0 * x)
    frule.register(f)(ahead)
    rrule.register(f)(back)
    x = np.ones(2)
    assert grad(lambda x: np.sum(f(x)))(x).tolist() == [5.0, 5.0]
    assert jvp(f, (x,), (x,))[1].tolist() == [3.0, 3.0]
    assert rrule(f, x)[1](x)[0].tolist() == [5.0, 5.0]
    assert frule((x,), f, x)[1].tolist() == [3.0, 3.0]


def test_a_mode_that_follows_from_a_users_rule_comes_before_one_of_a_package(layers):
    f = fresh()
    rule(f)(factor_rule(4.0, Numeric, module=MODULES[Layer.CORE]))
    state_ahead(f)
    assert grad(f)(1.0) == 3.0


def test_rrule_without_an_engine_that_is_named_takes_the_rule_that_grad_takes():
    f = fresh()
    rule(f)(factor_rule(4.0, Numeric, module=MODULES[Layer.CORE]))
    state_ahead(f)
    assert derivative(f) == grad(f)(1.0) == 3.0


def test_a_stated_mode_comes_first_where_a_package_states_one_for_narrower_types(layers):
    """The package's statement was found among those of this mode, so the transpose was used."""
    f = fresh()
    rule(f)(factor_rule(4.0, float, module=MODULES[Layer.CORE]))
    state_ahead(f)
    rrule.register(f)(lambda x: (x, lambda y_bar: (5.0 * y_bar,)))
    assert grad(f)(1.0) == 5.0
    assert jvp(f, (1.0,), (1.0,))[1] == 3.0


def test_explain_shows_the_rules_of_an_engine_with_both_modes(layers):
    """It showed those of an engine that can ask for neither: for a gradient, another rule."""
    f = fresh()
    rule(f)(factor_rule(4.0, Numeric, module=MODULES[Layer.CORE]))
    state_ahead(f)
    answer = explain(f, 1.0)
    assert grad(f)(1.0) == 3.0
    assert answer.rule.reverse is find_rule(f, (float,), any_engine).reverse
    assert "rrule  transpose of frule.register for (float) (user)" in repr(answer)
    assert "rrule  rule for (Numeric) (core)" in repr(explain(f, 1.0, config=Config()))


def test_a_rule_that_requires_an_engine_is_found_by_the_line_of_the_error():
    """It said to annotate the rule with types that it had."""

    @primitive
    def twice(f, x):
        return f(f(x))

    @rrule.register(twice, requires=ReverseMode)
    def twice_rrule(config, f: object, x: float):
        y, first = config.rrule_via_ad(f, x)
        z, second = config.rrule_via_ad(f, y)
        return z, lambda z_bar: (ZeroTangent(), first(second(z_bar)[0])[0])

    square = lambda x: x * x
    for given in ((), (Config(),)):
        with pytest.raises(NoRuleError, match=r"write rrule\(config, .*{reverse mode}.*any_engine"):
            rrule(*given, twice, square, 3.0)
    with pytest.raises(NoRuleError, match=r"write frule\(tangents, config, .*{reverse mode}"):
        frule((ZeroTangent(), 1.0), Config(), twice, square, 3.0)
    with pytest.raises(NoRuleError, match=r"write @rule\(twice\) with annotations"):
        rrule(twice, square, 3)
    slope = ((3.0 + 1e-6) ** 4 - (3.0 - 1e-6) ** 4) / 2e-6
    assert rrule(any_engine, twice, square, 3.0)[1](1.0)[1] == pytest.approx(slope, rel=1e-8)


def test_explain_is_an_object_whose_repr_is_the_text():
    f = fresh("chosen")
    general = rule(f)(factor_rule(1.0, Numeric, name="general"))
    special = rule(f)(factor_rule(2.0, float, name="special"))
    answer = explain(f, 1.0)
    assert answer.rule is find_rule(f, (float,), any_engine)
    assert [s.source.name for s in answer.others] == ["general"]
    text = repr(answer)
    assert text.count(f"{__file__}:{special.__code__.co_firstlineno}") >= 2
    assert (
        f"not  (Numeric) forward/reverse (user)  {__file__}:{general.__code__.co_firstlineno}"
        in text
    )
    assert "is the operation sin" in repr(explain(np.sin, 1.0))


def test_coverage_lists_the_modes_of_every_operation():
    listing = coverage()
    assert listing["sin"] == ("forward", "reverse")
    assert list(listing) == sorted(listing)


# ------------------------------------------------------------------------------ caches


def test_misses_are_remembered_until_somebody_registers():
    f = fresh()
    assert find_rule(f, (float,)) is None
    rule(f)(factor_rule(2.0))
    assert find_rule(f, (float,)) is not None


def test_a_registration_for_one_function_reaches_bound_rules_of_the_tape():

    f = fresh()
    rule(f)(factor_rule(2.0, name="same"))
    g = grad(lambda x: f(x))
    assert g(1.0) == 2.0
    rule(f)(factor_rule(3.0, name="same"))
    assert g(1.0) == 3.0


def test_a_lambda_that_was_asked_about_can_be_collected():
    def ask():
        f = lambda x: x
        assert find_rule(f, (float,)) is None
        with pytest.raises(NoRuleError):
            rrule(f, 1.0)
        return weakref.ref(f)

    gone = ask()
    gc.collect()
    assert gone() is None


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other):
        return self is other

    def __call__(self, x):
        return x


def test_an_unhashable_callable_has_no_rule_and_breaks_nothing():
    assert find_rule(Unhashable(), (float,)) is None
    with pytest.raises(NoRuleError):
        rrule(Unhashable(), 1.0)


class Scaled:
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, factor):
        self.factor = factor

    @primitive
    def __call__(self, x):
        return self.factor * x

    @primitive
    def method(self, x):
        return self.factor * x


@rule(Scaled.__call__)
def scaled_rule(self: Scaled, x: float):
    from chainrules_py import NoTangent

    c = self.factor
    return self.factor * x, (NoTangent(), LinearMap(lambda t: c * t, lambda t: c * t))


rule(Scaled.method)(scaled_rule)


def test_an_instance_is_its_classes_call_and_a_method_its_function():
    from chainrules_py import NoTangent

    s = Scaled(3.0)
    assert rrule(s, 2.0)[1](1.0) == (NoTangent(), 3.0)
    assert rrule(s.method, 2.0)[1](1.0) == (NoTangent(), 3.0)
    assert find_rule(s, (float,)).primal is Scaled.__dict__["__call__"]
    assert "scaled_rule" in textwrap.dedent(repr(rules_for(s)[0].source))


def test_a_scalar_rule_of_a_function_with_options_is_refused():
    """Its partials do not get them, and the derivative depends on them."""

    @primitive
    def power(x, *, exponent=2):
        return x**exponent

    with pytest.raises(RuleError, match=r"options \(exponent\).*write @rule\(power\)"):
        scalar_rule(power, lambda _y, x: 2 * x)


def test_a_rule_is_not_chosen_by_a_dtype():
    with pytest.raises(RuleError, match=r"ask x\.dtype or x\.device in the rule"):
        Array[np.float32]
