"""One function under every engine and on every library, in one table."""

import json

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import LinearMap, NoRuleError, bilinear_rule, primitive, rrule, rule, scalar_rule
from chainrules_py import ops as v
from chainrules_py.engines.export import exporter, exporters
from chainrules_py.extend import ContractError
from chainrules_py.testing import RuleCheckError, check_everywhere
from chainrules_py.testing.everywhere.real_function import Trial
from chainrules_tape import transformations

X = np.array([0.3, -0.7, 1.2])
QUICK = ("tape on numpy", "tape on array_api_strict", "autograd", "mygrad")
GIVES = {"value", "gradient", "slope", "curvature", "third"}


@pytest.fixture(autouse=True)
def engines():
    pytest.importorskip("autograd")
    pytest.importorskip("mygrad")
    pytest.importorskip("array_api_strict")


def operation(slope, body=v.sin):
    """Make a function with a scalar rule: sin, of the slope that is given."""

    @primitive
    def wave(x):
        return body(x)

    scalar_rule(wave, slope)
    return wave


def failed(f, *operands, only=QUICK, **options):
    """The cells that fail, as the report of them."""
    with pytest.raises(RuleCheckError) as caught:
        check_everywhere(f, *operands, only=only, **options)
    return caught.value.report


def silent(report):
    return {f.check: f.text for f in report.findings if f.verdict == "skipped"}


# -------------------------------------------------------------------------------- right ones


def spiral(x):
    return v.sin(x) * 0.5, x * x


spiral = custom_vjp(spiral)
spiral.defvjp(
    lambda x: (spiral(x), x),
    lambda x, bars: (0.5 * v.cos(x) * bars[0] + 2.0 * x * bars[1],),
)

RIGHT = {
    "operation": (v.sin, (X,), {}),
    "own": (operation(lambda _y, x: v.cos(x)), (X,), {}),
    "custom_vjp with two results": (spiral, (X,), {}),
    "options": (v.sum, (np.ones((2, 3)),), {"axis": 0, "keepdims": True}),
    "two results": (v.slogdet, (np.array([[2.0, 1.0], [0.0, 1.0]]),), {}),
    "complex": (v.multiply, (X * 1j, X + 2.0), {}),
    "number": (v.sin, (0.5,), {}),
    "large and small": (v.multiply, (X * 1e8, X * 1e-9), {}),
    "nothing flows": (v.argmax, (X,), {}),
    "real on one library": (v.eigvals, (np.diag(X) + 0.1,), {}),
    "gauge": (
        v.svd,
        (np.array([[2.0, 1.0], [0.0, 1.0], [1.0, 1.0]]),),
        {"full_matrices": False, "gauge": lambda y: (y.U * y.S) @ y.Vh},
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    f, operands, options = RIGHT[name]
    report = check_everywhere(f, *operands, only=QUICK[:3], **options)
    assert report.passed
    assert not silent(report)
    names = [f"{place}: {column}" for place in QUICK[:2] for column in transformations.table]
    assert [f.check for f in report.findings if f.check.startswith("tape")] == names


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_right_everywhere(name):
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    f, operands, options = RIGHT[name]
    report = check_everywhere(f, *operands, **options)
    places = {f.check.partition(": ")[0] for f in report.findings}
    assert {*QUICK, "tape on jax", "tape on torch", *exporters()} <= places
    for place in ("jax", "torch", "tape on jax", "tape on torch"):
        assert not [cell for cell in silent(report) if cell.partition(": ")[0] == place]
    assert jax.config.jax_enable_x64 == before


def test_structures():
    product = primitive(lambda a, b: a * b)
    bilinear_rule(product, lambda t, a, b: t * b, lambda t, a, b: t * a)
    f = lambda size: v.sum(product(size["w"], size["h"]))
    assert check_everywhere(f, {"w": X, "h": 2.0 * X}, only=QUICK).passed


def test_table():
    report = check_everywhere(v.sin, X, only=QUICK)
    head, *lines, _ = str(report).splitlines()
    assert head == "sin(float64[3]): 34 cells passed, 0 skipped"
    assert [line.split("  ")[0] for line in lines] == list(QUICK)
    assert "jvp of grad ✓" in lines[0]
    assert str(report).count("✓") == 34
    assert report._repr_html_() is None  # a notebook shows the text
    assert json.loads(report.to_json())["findings"][1]["check"] == "tape on numpy: grad"


def test_one_cell():
    report = check_everywhere(v.sin, X, only=("autograd: jvp of grad",))
    assert [f.check for f in report.findings] == ["autograd: jvp of grad"]


@pytest.mark.parametrize("only", ["pytorch", ("autograd", "autograd: grads"), ("jax: grads",)])
def test_a_part_that_is_none(only):
    with pytest.raises(ValueError, match="no such part of the table; there are"):
        check_everywhere(v.sin, X, only=only)


def test_parts_of_all_libraries():
    report = check_everywhere(v.sin, X, only="tape: grad")
    assert {f.check.partition(": ")[2] for f in report.findings} <= {"grad", ""}
    assert report.verdict("tape on array_api_strict: grad") == "passed"


def test_whole_numbers_are_refused():
    with pytest.raises(ValueError, match=r"nothing in sin\(int64\[3\]\) can be perturbed"):
        check_everywhere(v.sin, np.arange(3))


# -------------------------------------------------------------------------------- wrong ones


def test_a_rule_that_is_wrong_on_one_library():
    def slope(_y, x):
        return v.cos(x) * (2.0 if type(x).__module__.startswith("array_api_strict") else 1.0)

    report = failed(operation(slope), X)
    assert {f.check.partition(": ")[0] for f in report.failures} == {"tape on array_api_strict"}
    assert report.verdict("tape on array_api_strict: value") == "passed"


def test_a_rule_that_is_wrong_at_second_order_under_one_engine():
    torch = pytest.importorskip("torch")

    def slope(_y, x):
        return v.cos(x.detach() if isinstance(x, torch.Tensor) else x)

    cells = ("torch: backward", "torch: double backward", "torch: hessian")
    report = failed(operation(slope), X, only=(*QUICK, *cells))
    assert [f.check for f in report.failures] == [*cells[1:]]


def test_the_line_repeats_the_cell():
    wave = operation(lambda _y, x: 1.5 * v.cos(x))
    report = failed(wave, X)
    assert len(report.failures) > 20
    shown = str(report)
    assert "the rule of wave(float64[3]) is wrong: wrong gradient" in shown
    assert shown.count("again: ") == 3
    line = report.failures[5].text.partition("again: ")[2]
    names = {"check_everywhere": check_everywhere, "wave": wave, "np": np}
    with pytest.raises(RuleCheckError) as caught:
        eval(line, names)
    (found,) = caught.value.report.findings
    assert found == report.failures[5]


def test_a_value_that_is_another_one():
    body = lambda x: v.sin(x) if isinstance(x, np.ndarray) else 2.0 * v.sin(x)
    report = failed(operation(lambda _y, x: v.cos(x), body), X, only=("tape on array_api_strict",))
    assert report.failures[0].check == "tape on array_api_strict: value"


def test_what_is_stated_and_raises_is_wrong():
    """An error of ours is no refusal where both modes are stated, and NumPy computes."""

    def slope(_y, x):
        raise NoRuleError("there is none")

    report = failed(operation(slope), X, only=QUICK[:2])
    assert report.verdict("tape on numpy: grad") == "failed"
    assert report.verdict("tape on array_api_strict: grad") == "skipped"


# -------------------------------------------------------------------------------- skipped


def test_one_mode_is_the_transpose_of_the_other():
    @primitive
    def square(x):
        return x * x

    rrule.register(square)(lambda x: (square(x), lambda t: (2.0 * x * t,)))
    assert not silent(check_everywhere(square, X, only=QUICK))


def test_a_function_that_nobody_may_look_into():
    @primitive
    def square(x):
        return x * x

    square.opaque = True
    report = check_everywhere(square, X, only=QUICK)
    assert "NoRuleError" in silent(report)["tape on numpy: jvp"]


def test_a_body_that_does_not_take_the_arrays():
    f = operation(lambda y, x: v.exp(x - y), lambda x: np.logaddexp(0.0, x))
    report = check_everywhere(f, X, only=QUICK)
    found = silent(report)
    assert {cell.partition(": ")[0] for cell in found} == {"tape on array_api_strict"}
    assert found["tape on array_api_strict: value"].startswith("TypeError")


@pytest.mark.slow
def test_a_body_of_numpy_is_called_back():
    f = operation(lambda y, x: v.exp(x - y), lambda x: np.logaddexp(0.0, x))
    report = check_everywhere(f, X, only=("jax", "torch"))
    for cell in ("jax: jit", "jax: scan", "torch: backward of compile", "jax: grad of grad"):
        assert report.verdict(cell) == "passed"
    assert report.verdict("torch: hessian") == "passed"


def test_a_kink():
    report = check_everywhere(v.abs, np.array([0.0, 1.0]), only=("tape on numpy",))
    assert "do not settle" in silent(report)["tape on numpy: grad of grad"]
    assert "\nskipped, tape on numpy: " in str(report)


def test_an_engine_that_is_not_there(monkeypatch):
    def missing(name):
        raise ContractError(f"{name} is not installed")

    monkeypatch.setattr("chainrules_py.testing.everywhere.exporter", missing)
    report = check_everywhere(v.sin, X, only=("tape on cupy", "mygrad"))
    assert silent(report)["mygrad"] == "mygrad is not installed"
    assert silent(report)["tape on cupy"]
    assert "mygrad        mygrad is not installed" in str(report)


def test_complex_numbers_of_an_engine_that_has_none():
    report = check_everywhere(v.sin, X * 1j, only=("mygrad",))
    assert "complex" in silent(report)["mygrad"]


# -------------------------------------------------------------------------------- its parts


@pytest.mark.parametrize("name", exporters())
def test_tables_of_engines(name):
    try:
        engine = exporter(name).transformations
    except ContractError as error:
        pytest.skip(str(error))
    assert next(iter(engine.table)) == "value"
    for transformation in engine.table.values():
        assert transformation.gives in GIVES
        assert engine.table[transformation.within].gives == "value"


def test_differences():
    trial = Trial(lambda x: v.sum(x), (X,), {})
    f = trial.function(trial.f, np.asarray)
    for gives, run, _ in transformations.table.values():
        want, error = trial.truth[gives]
        found = run(f, trial.z, trial.u)
        assert np.allclose(found, want, rtol=1e-7, atol=1e-7)
        assert np.max(error) < 1e-7


def test_many_numbers_are_judged_along_a_few_directions():
    trial = Trial(v.sin, (np.linspace(0.1, 1.0, 200),), {})
    assert trial.basis.shape == (200, 4)
    f = trial.function(trial.f, np.asarray)
    for gives, run, _ in transformations.table.values():
        trial.judge(gives, run(f, trial.z, trial.u))


def test_options_that_are_called_like_its_own_are_those_of_the_function():
    """They were taken for the judge's, and the function never saw them."""

    @primitive
    def grown(x, /, *, gauge, seed=0.0):
        return x * (gauge + seed)

    @rule(grown)
    def grown_rule(x, *, gauge, seed):
        by = lambda t: t * (gauge + seed)
        return grown(x, gauge=gauge, seed=seed), (LinearMap(by, by),)

    report = check_everywhere(grown, X, gauge=2.0, seed=3.0, only="tape on numpy")
    assert report.passed
    assert "gauge=2.0, seed=3.0" in str(report)
