"""Samples as one call: what runs, what it comes to, and what fails."""

from __future__ import annotations

import json
import math
import sys
import types

import numpy as np
import pytest

from chainrules_py import LinearMap, NoRuleError, NoTangent, primitive, rrule, rule, scalar_rule
from chainrules_py import ops as v
from chainrules_py.errors import describe
from chainrules_py.testing import (
    Draw,
    Outcome,
    Sample,
    Summary,
    backend,
    check_module,
    enter_samples,
    run_samples,
)
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.check import CHECKS, DERIVED
from chainrules_py.testing.pytest_samples import NIGHTLY, sample_tests
from chainrules_py.testing.sample_runs import CHEAP, operations_of
from chainrules_py.testing.samples.sample import ENTERED

STRICT = ("array_api_strict", "array_api_strict:device1")


def own_operation(partial, *given):
    """An operation that nobody else has, with its samples."""

    @primitive
    def own_square(x, /):
        return v.multiply(x, x)

    if partial is not None:
        scalar_rule(own_square, partial, complex="holomorphic")
    if given:
        enter_samples(own_square, *given)
    return own_square


@pytest.fixture(autouse=True)
def forget():
    """No other test is to meet these operations among all operations."""
    before = dict(ENTERED)
    yield
    ENTERED.clear()
    ENTERED.update(before)


def right(_y, x):
    return 2 * x


def wrong(_y, x):
    return 3 * x


def test_every_check_runs_at_every_sample_on_every_library():
    operation = own_operation(right, Sample(Draw((3,)), complex=True), Sample(Draw(shape=None)))
    summary = run_samples(operation)
    assert summary.passed, summary
    assert summary.backends == sorted(["numpy", *STRICT])
    assert set(CHECKS) - {*DERIVED, "third order", "further shapes"} == set(summary.checks)
    assert len(summary.rules) == 1
    # Two with arrays on three libraries, and a number on the first.
    assert len(summary.outcomes) == 2 * 3 + 1
    assert {o.modes for o in summary.outcomes} == {("forward", "reverse")}
    assert "rules x checks x backends: 1 x " in str(summary)


def test_cheap_core_runs_at_two_samples():
    operation = own_operation(right, *[Sample(Draw((n,)), complex=True) for n in (1, 2, 3)])
    summary = run_samples(operation, backends=["numpy"], depth="cheap")
    assert tuple(summary.checks) == CHEAP
    assert len(summary.outcomes) == 2
    assert sum(o.sample.endswith("complex 2") for o in summary.outcomes) == 1


def test_each_seed_draws_anew():
    operation = own_operation(right, Sample(Draw((3,))))
    summary = run_samples(operation, backends=["numpy"], seeds=range(3))
    assert [o.seed for o in summary.outcomes] == [0, 1, 2]
    (instance,) = instances(operation)
    drawn = [instance.build(backend("numpy"), seed)[0][0] for seed in (0, 1, 1)]
    assert not np.array_equal(drawn[0], drawn[1])
    assert np.array_equal(drawn[1], drawn[2])


def test_wrong_rule_fails_and_is_told_with_its_report():
    operation = own_operation(wrong, Sample(Draw((3,))))
    summary = run_samples(operation, backends=["numpy"])
    (failed,) = summary.failures
    assert "push" in [f.check for f in failed.findings if f.verdict == "failed"]
    assert failed.text in str(summary)
    assert "test_sample_runs.py:" in failed.text


def test_sample_that_cannot_be_called_fails():
    operation = own_operation(right, Sample("text"))
    (failed,) = run_samples(operation, backends=["numpy"]).failures
    assert failed.findings[0].check == "call"
    assert "text" in failed.sample


@pytest.mark.parametrize(
    "given, match",
    [
        ([Draw((3,))], r"is not a sample of own_square; write Sample"),
        ([Sample(Draw((3,)), Draw((3,)))], r"own_square\(x, /\) does not take .* too many"),
        ([Sample()], "missing a required"),
        ([Sample(Draw((3,)), axis=1)], "unexpected keyword argument 'axis'"),
    ],
)
def test_samples_are_checked_when_they_are_entered(given, match):
    operation = own_operation(right)
    with pytest.raises(TypeError, match=match):
        enter_samples(operation, *given)
    assert operation not in ENTERED


@pytest.mark.parametrize("given", [{"raises": "ValueError"}, {"without": "torch"}])
def test_what_a_sample_says_is_checked_when_it_is_made(given):
    with pytest.raises(TypeError, match=r"write \('torch',\), \(ValueError, 'text'\)"):
        Sample(1.0, **given)


def test_one_library_by_its_name_and_a_depth_that_is_none():
    operation = own_operation(right, Sample(Draw((3,))))
    assert run_samples(operation, backends="numpy").backends == ["numpy"]
    with pytest.raises(ValueError, match="write 'full' or 'cheap'"):
        run_samples(operation, depth="deep")


def test_samples_are_of_primitives():
    with pytest.raises(TypeError, match="write @primitive above it"):
        enter_samples(len, Sample(1.0))


@pytest.mark.parametrize("given", [{"shape": [2]}, {"kind": "float"}, {"low": 3.0}])
def test_draws_are_checked_when_they_are_made(given):
    with pytest.raises(ValueError, match="shape is None or a tuple of lengths"):
        Draw(**given)


# ------------------------------------------------------------------------------- error inputs


def picky(*given):
    """An operation that refuses negative numbers, and whose rule refuses those above 1."""

    @primitive
    def own_picky(x, /):
        if np.any(x < 0):
            msg = "negative"
            raise ValueError(msg)
        return np.multiply(x, x)

    @rule(own_picky)
    def own_picky_rule(x):
        if np.any(x > 1):
            msg = "too large"
            raise OverflowError(msg)
        return own_picky(x), (LinearMap(times, times, 2 * x),)

    enter_samples(own_picky, Sample(Draw((3,), low=0.25, high=0.5)), *given)
    return own_picky


def times(t, factor):
    return t * factor


def test_calls_that_have_to_raise():
    operation = picky(
        Sample([-1.0, 1.0], raises=ValueError),
        Sample(-1.0, raises=(ValueError, "^neg")),
        Sample(2.0, raises=(ArithmeticError, "large")),
        Sample(raises=(TypeError, "missing|takes|required")),
    )
    summary = run_samples(operation, backends=["numpy"])
    assert summary.passed, summary
    assert [f.check for o in summary.outcomes[1:] for f in o.findings] == ["raises"] * 4
    assert len(list(instances(operation))) == 1
    assert len(run_samples(operation, backends=["numpy"], depth="cheap").outcomes) == 1


@pytest.mark.parametrize(
    "sample, told",
    [
        (Sample(0.5, raises=ValueError), "raised nothing; it has to raise ValueError"),
        (Sample(-0.5, raises=(ValueError, "huge")), "raised ValueError: negative; it has to raise"),
        (Sample(-0.5, raises=TypeError), "raised ValueError: negative; it has to raise TypeError"),
    ],
)
def test_calls_that_raise_something_else_fail(sample, told):
    (failed,) = run_samples(picky(sample), backends=["numpy"]).failures
    assert told in failed.text


def test_samples_that_raise_are_no_samples_of_a_rule():
    (failed,) = run_samples(
        own_operation(right, Sample(raises=TypeError)), backends=["numpy"]
    ).failures
    assert "has a rule and no sample" in failed.text


# ------------------------------------------------------------------------------------ modules


class Interval:
    def __init__(self, low, high):
        self.low = low
        self.high = high


def module_with_rules(monkeypatch):
    """A module that states two rules: of its own operation, and for its own class."""
    module = types.ModuleType("own_rules")
    monkeypatch.setitem(sys.modules, "own_rules", module)
    code = """
from chainrules_py import LinearMap, NoTangent, primitive, rule, scalar_rule

@primitive
def own_cube(x, /):
    return x * x * x

scalar_rule(own_cube, lambda y, x: FACTOR * x * x)

@primitive
def own_inside(where: Interval, x, /):
    return where.low * x

@rule(own_inside)
def own_inside_rule(where: Interval, x):
    return own_inside(where, x), (NoTangent(), LinearMap(times, times, where.low))
"""
    vars(module).update(FACTOR=3, Interval=Interval, times=times)
    exec(code, vars(module))
    enter_samples(module.own_cube, Sample(Draw((3,))))
    return module


def test_rules_of_a_module(monkeypatch):
    module = module_with_rules(monkeypatch)
    summary = check_module("own_rules", backends=["numpy"])
    (failed,) = summary.failures
    assert failed.operation == "own_rules.own_inside"
    assert "its rule is for (Interval, Numeric), which cannot be drawn" in failed.text
    assert "Sample(<a Interval>, Draw((3,)))" in failed.text
    enter_samples(module.own_inside, Sample(Interval(2.0, 3.0), Draw((3,))))
    summary = check_module(module, backends=["numpy"])
    assert summary.passed, summary
    assert summary.rules == ["own_rules.own_cube", "own_rules.own_inside"]


def test_rule_for_another_class_is_judged_at_the_samples_that_reach_it(monkeypatch):
    module = module_with_rules(monkeypatch)

    def own_cube_rule(x: Interval):
        return module.own_cube(x), (NoTangent(),)

    own_cube_rule.__module__ = "own_rules.inner"
    rule(module.own_cube)(own_cube_rule)
    monkeypatch.setitem(sys.modules, "own_rules.inner", types.ModuleType("own_rules.inner"))
    (failed,) = check_module("own_rules.inner", backends=["numpy"]).failures
    assert "own_cube has a rule at " in failed.text
    assert "Sample(<a Interval>)" in failed.text


def test_wrong_rule_of_a_module_fails(monkeypatch):
    module = module_with_rules(monkeypatch)
    vars(module)["FACTOR"] = 2
    assert "factor 2/3" in str(check_module(module, backends=["numpy"]))


def test_rule_without_samples_fails():
    (failed,) = run_samples(own_operation(right)).failures
    assert "has a rule and no sample" in failed.text


def test_function_without_rule_and_samples_is_let_be():
    assert run_samples(own_operation(None)).passed


def test_sample_at_a_kink_says_so():
    """What cannot be checked is no pass."""
    (failed,) = run_samples(
        own_kink(Sample(Draw((2,), low=0, high=0))), backends=["numpy"]
    ).failures
    assert "smooth=False" in failed.text
    kink = Sample(Draw((2,), low=0, high=0), smooth=False)
    assert run_samples(own_kink(kink), backends=["numpy"]).passed


def own_kink(given):
    @primitive
    def own_abs(x, /):
        return v.abs(x)

    scalar_rule(own_abs, lambda _y, x: v.sign(x))
    enter_samples(own_abs, given)
    return own_abs


def test_library_that_a_sample_leaves_out():
    operation = own_operation(right, Sample(Draw((3,)), without=("array_api_strict",)))
    assert run_samples(operation).backends == ["numpy"]


OPERATIONS = {
    "one": (v.sin, (v.sin,)),
    "several": ([v.sin, v.cos], (v.sin, v.cos)),
    "a function of NumPy": (np.sin, (np.sin,)),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name):
    given, expected = OPERATIONS[name]
    assert operations_of(given) == expected


def test_operations_of_a_module_are_those_that_it_defines():
    module = types.ModuleType(__name__)
    operation = own_operation(right)
    module.first, module.again, module.imported, module.other = operation, operation, v.sin, np
    assert operations_of(module) == (operation,)
    assert set(operations_of(v)) > {v.sin, v.matmul}


def test_all_operations_are_those_of_ops_and_those_with_samples():
    operation = own_operation(right, Sample(Draw((3,))))
    found = operations_of()
    assert {operation, v.sin, v.matmul} <= set(found)
    assert len(found) == len(set(found))


def test_function_of_a_library_runs_at_the_samples_of_its_operation():
    assert len(run_samples(np.sin, backends=["numpy"]).outcomes) == len(
        run_samples(v.sin, backends=["numpy"]).outcomes
    )


NOTHING = {
    "a text": "math",
    "a text with a colon": "own_rules:own_cube",
    "no text": "",
    "a module without operations": math,
    "a module in a list": [math],
    "a list without operations": [],
    "a number": 3,
    "an operation and a number": [v.sin, 3],
    "a class": dict,
    "a function": len,
    "a call of several operations": np.clip,
}


@pytest.mark.parametrize("judge", [run_samples, sample_tests], ids=lambda judge: judge.__name__)
@pytest.mark.parametrize("name", NOTHING)
def test_what_would_judge_nothing_is_refused(name, judge):
    with pytest.raises(NoRuleError, match=r"there is nothing to check: .* write run_samples"):
        judge(NOTHING[name], backends=["numpy"])


@pytest.mark.parametrize("given", ["math", math, v.sin, [v.sin], None, 3, dict], ids=describe)
def test_module_without_rules_is_refused(given):
    with pytest.raises(NoRuleError, match=r"nothing to check: .* check_module"):
        check_module(given, backends=["numpy"])


@pytest.mark.parametrize("empty", ["backends", "seeds"])
def test_no_library_and_no_seed_would_judge_nothing(empty):
    for judge, given in ((run_samples, v.sin), (check_module, "chainrules_py.rules.polynomials")):
        with pytest.raises(ValueError, match=f"{empty}=.*nothing would be checked"):
            judge(given, **{empty: []})


def test_unknown_library_is_refused():
    with pytest.raises(LookupError, match="no array library"):
        run_samples(v.sin, backends=["fortran"])


def test_json_has_modes_checks_samples_and_seeds(tmp_path):
    operation = own_operation(wrong, Sample(Draw((3,))))
    summary = run_samples(
        [v.sin, operation], backends=["numpy", STRICT[1]], depth="cheap", seeds=(0, 4)
    )
    summary.write_json(tmp_path / "coverage.json")
    kept = json.loads((tmp_path / "coverage.json").read_text(encoding="utf-8"))
    assert kept["rules"] == 2
    sin = kept["operations"][f"{v.sin.__module__}.sin"]
    assert sin["modes"] == ["forward", "reverse"]
    assert sin["seeds"] == [0, 4]
    there = sin["backends"][STRICT[1]]
    assert there["depth"] == "cheap"
    assert there["checks"]["adjoint"] == {"passed": 2 * there["samples"]}
    assert not sin["failures"]


def test_outcome_survives_the_way_between_processes():
    summary = run_samples(own_operation(wrong, Sample(Draw((3,)))), backends=["numpy"])
    again = [
        Outcome.from_dict(json.loads(json.dumps(o.as_dict(), default=str)))
        for o in summary.outcomes
    ]
    assert again == summary.outcomes
    assert str(Summary(again)) == str(summary)


def parameters(test):
    """The marks and the name of each test."""
    (mark,) = test.pytestmark
    return [({m.name for m in p.marks}, p.id) for p in mark.args[1]]


def test_three_depths():
    operation = own_operation(right, *[Sample(Draw((n,))) for n in (1, 2, 3)])
    found = parameters(sample_tests(operation))
    plain = [name for marks, name in found if not marks]
    assert len(plain) == 3 + 2 * 2
    assert sum(name.endswith("cheap") for name in plain) == 2 * 2
    assert sum(marks == {"slow"} for marks, _ in found) == 2 * 3
    assert sum(marks == {"nightly"} for marks, _ in found) == 3
    assert len({name for _, name in found}) == len(found)
    assert len(NIGHTLY) == 20


def test_operation_without_samples_is_a_test_that_fails():
    ((marks, name),) = parameters(sample_tests(own_operation(right)))
    assert not marks
    assert "own_square has no sample" in name


def test_statement_is_found_for_the_types_of_the_sample():
    """The modes are those of the rule that is used, not of any that there is."""

    @primitive
    def half_stated(x, /):
        return v.multiply(x, x)

    @rrule.register(half_stated)
    def half_stated_rrule(x):
        return v.multiply(x, x), lambda y_bar: (2 * x * y_bar,)

    enter_samples(half_stated, Sample(Draw((3,))))
    (found,) = run_samples(half_stated, backends=["numpy"]).outcomes
    assert found.modes == ("reverse",)
