"""What a program gives is compared with what its function gives: to the bit, or to rounding."""

from __future__ import annotations

import dataclasses
import functools
import logging
import re
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingError, RecordingWarning, compile
from chainrules_compile.result_checks import close, coarsest, moved_results
from chainrules_tape import grad, value_and_grad

RNG = np.random.default_rng(0)
X = RNG.standard_normal((64, 8))
A = np.arange(4.0).reshape(2, 2) / 10.0


def batch_norm(p):
    """Give a loss on which the biases have no influence."""
    y = X @ p["w"] + p["b"]
    y = np.maximum((y - y.mean(0)) / y.std(0), 0)
    return np.sum(np.tanh(y @ p["v"]) ** 2)


def layer_norm(p):
    y = (X @ p["w"] + p["v"][:, 0]) + p["b"][0]
    return np.sum(np.sin((y - y.mean(1, keepdims=True)) / y.std(1, keepdims=True)))


def softmax(p):
    """Give a loss on which one number that is added to all logits has no influence."""
    z = X @ p["w"] + p["b"][0]
    z = z - np.max(z, 1, keepdims=True)
    return -np.mean((z - np.log(np.sum(np.exp(z), 1, keepdims=True)))[:, 0])


def scaled(p):
    """Give a loss on which the length of the weights has none."""
    y = X @ (p["w"] / np.sqrt(np.sum(p["w"] ** 2)) * (1.0 + p["b"]))
    return np.sum(np.cos(y * p["v"][0, 0] / np.sqrt(np.sum(y**2))))


LOSSES = (batch_norm, layer_norm, softmax, scaled)


def parameters(rng, kind=np.float64):
    shapes = {"w": (8, 5), "b": 5, "v": (5, 3)}
    return {name: rng.standard_normal(shape).astype(kind) for name, shape in shapes.items()}


def test_what_cancels_to_zero_in_one_order_of_additions_need_not_in_another():
    value = np.array([4702.0, 0.1])
    zeros = lambda: [(value, np.zeros(3))]
    assert close((value, np.full(3, 3e-21)), (value, np.zeros(3)), zeros)
    assert not close((value, np.full(3, 3e-12)), (value, np.zeros(3)), zeros)


def check_cancelling(loss, target, kind, draws):
    g, rng = value_and_grad(loss), np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(draws):
            compiled = compile(g, target=target)
            compiled(p := parameters(rng, kind))
            step = np.finfo(kind).eps ** 0.5
            for name, found in compiled(p)[1].items():
                np.testing.assert_allclose(found, g(p)[1][name], rtol=step, atol=100 * step)
            assert compiled.programs


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_that_cancel(loss, kind):
    check_cancelling(loss, "numpy", kind, 2)


def test_a_bias_that_starts_at_zero():
    p = {"w": np.zeros((8, 5)), "b": np.zeros(5), "v": np.zeros((5, 3))}
    compiled = compile(grad(softmax))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        compiled(p)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_results_that_cancel_as_a_whole(target):
    """The norm of two features is plus and minus one: the value is zero, and so is the gradient."""

    def loss(x):
        s = x @ A @ x.T
        p = np.exp(s - np.max(s, 1, keepdims=True))
        y = p / np.sum(p, 1, keepdims=True) @ x
        y = (y - np.mean(y, 1, keepdims=True)) / (np.std(y, 1, keepdims=True) + 1e-5)
        return np.sum(y**3)

    compiled, x = compile(value_and_grad(loss), target=target), X[:40, :2].copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        compiled(x)
    assert compiled.programs


WRONG = {
    "a small gradient": lambda y: y | {"b": y["b"] * 2.0},
    "noise of another size": lambda y: y | {"noise": y["noise"] + 1e-11},
    "one element": lambda y: y | {"v": y["v"] * np.where(np.arange(3) == 1, 1.001, 1.0)},
    "NaN": lambda y: y | {"w": np.where(y["w"] > 0, y["w"], np.nan)},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_no_rounding(wrong):
    def g(p):
        y = grad(batch_norm)(p)
        return y | {"b": 1e-9 * np.sin(p["b"]), "noise": y["b"]}

    p = parameters(RNG)
    moved = functools.partial(moved_results, g, (p,), {})
    assert close(g(p), g(p), moved, given=p)
    assert not close(wrong(g(p)), g(p), moved, given=p)


SINGLE = RNG.standard_normal((200, 8)).astype(np.float32)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_results_in_double_precision_are_rounded_in_single_on_the_way(target):
    def loss(w):
        return np.mean((SINGLE @ w.astype(np.float32)).astype(np.float64) ** 2)

    compiled, w = compile(value_and_grad(loss), target=target), RNG.standard_normal((8, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        compiled(w)
    (program,) = compiled.programs
    step = coarsest(program.recorded)
    assert step == np.finfo(np.float32).eps
    y, y_bar = value_and_grad(loss)(w)
    assert close((y, y_bar * (1 + step)), (y, y_bar), rounding=step)
    assert not close((y, y_bar * 1.01), (y, y_bar), rounding=step)


@dataclasses.dataclass(frozen=True)
class Layer:
    w: np.ndarray
    kind: str = "sin"

    def __call__(self, x):
        return np.sum(np.sin(self.w * x) if self.kind == "sin" else np.cos(self.w * x))


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_fields_without_a_derivative_are_in_the_result(target):
    g = value_and_grad(lambda layer, x: layer(x))
    compiled, layer, x = compile(g, target=target), Layer(np.arange(3.0)), np.ones(3)
    for kind in ("sin", "sin", "cos", "cos"):
        layer = dataclasses.replace(layer, kind=kind)
        (y, found), (wanted, slope) = compiled(layer, x), g(layer, x)
        assert y == pytest.approx(wanted)
        np.testing.assert_allclose(found.w, slope.w)
        assert found.kind is slope.kind
    assert len(compiled.programs) == 2


HUGE = np.array([1.5e308 + 1.5e308j, 1.0])  # whose magnitude is infinite


@pytest.mark.parametrize("x", [HUGE, HUGE.real, np.longdouble(1e300) ** 2, np.float16([6e4, 1])])
def test_huge_numbers_are_compared_in_silence(x):
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        moved = functools.partial(moved_results, lambda x: x * 1, (x,), {})
        assert all(np.isfinite(y).all() for y in moved())
        assert close((x, 1e300), (x, 1e300), moved)
        assert not close(x * 0.5, x, moved)
        assert not close(x * 0.0 + np.inf, x, moved)
        assert close(x + np.nan, x + np.nan)
        assert not close(x + np.nan, x)


def test_nothing_is_said_of_products_of_long_numbers():
    compiled = compile(lambda a, b: (a * 1e200) * (b * 1e200))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compiled(np.longdouble(1e100), 2.0)
    wanted = np.longdouble(2) * np.longdouble(10) ** 500
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_what_has_no_program_says_why():
    def texts(x):
        return str(x), np.sum(x)

    compiled = compile(texts)
    assert "was not called yet" in compiled.explain()
    with pytest.warns(RecordingWarning, match="a text is made"):
        compiled(np.ones(2))
    for ask in (lambda: compiled.source, lambda: compiled.save("nowhere.py")):
        with pytest.raises(RecordingError, match=r"texts is not a program.*a text is made"):
            ask()
    assert "a text is made" in compiled.explain()


@pytest.mark.parametrize("of", [lambda f: f, value_and_grad], ids=["value", "gradient"])
def test_a_log_keeps_a_function_from_being_compiled(of, capsys):
    def loss(x):
        value = np.sum(x * x)
        logging.getLogger("loss").warning("loss %.3f", value)
        return value

    compiled = compile(of(loss))
    with pytest.warns(RecordingWarning, match="a text is made"):
        compiled(np.arange(3.0))
    compiled(np.arange(4.0))
    written = capsys.readouterr().err.splitlines()
    assert [*dict.fromkeys(written)] == ["loss 5.000", "loss 14.000"]


def test_a_text_by_percent_is_left_outside():
    compiled = compile(lambda x: ("%.3f" % np.sum(x), np.sum(x))[1], strict=True)  # noqa: UP031
    with pytest.raises(RecordingError, match="print, or format, what the compiled function"):
        compiled(np.ones(2))


CLOSE = {
    "assert_allclose": lambda x: np.testing.assert_allclose(x / x, 1.0),
    "assert_approx_equal": lambda x: np.testing.assert_approx_equal(np.sum(x / np.sum(x)), 1.0),
    "assert_array_almost_equal": lambda x: np.testing.assert_array_almost_equal(x / x, 1.0),
    "assert_array_max_ulp": lambda x: np.testing.assert_array_max_ulp(x / x, np.ones(3)),
}


@pytest.mark.parametrize("of", [lambda f: f, value_and_grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", CLOSE)
def test_the_assertion_that_errors_advise_is_compiled(name, of):
    def asserted(x):
        CLOSE[name](x)
        return np.sum(x * x)

    x = np.arange(1.0, 4)
    with pytest.raises(RecordingError, match=r"use assert np\.allclose\(") as error:
        compile(of(asserted), strict=True)(x)
    advised = re.search(r"use assert (np\.allclose\(.*\))$", str(error.value))[1]

    def checked(x):
        assert eval(advised, {"np": np, "x": x})
        return np.sum(x * x)

    compiled = compile(of(checked), strict=True)
    for k in range(3):
        np.testing.assert_equal(compiled(x + k), of(checked)(x + k))


def test_what_is_refused_says_why():
    compiled = compile(lambda x: float(x[0]), strict=True)
    with pytest.raises(RecordingError):
        compiled(np.ones(2))
    with pytest.raises(RecordingError, match="does not become a float"):
        compiled.source


def test_a_warning_is_at_the_line_that_calls():
    compiled = compile(lambda x: str(x))
    with pytest.warns(RecordingWarning) as said:
        compiled(np.ones(2))
    assert said[0].filename == __file__


def test_a_class_that_the_function_makes_is_no_result_of_a_program():
    """It is another one at each call; one that a module has is the same."""
    compiled = compile(lambda x: (np.sum(x), type("Made", (), {"n": 3})))
    with pytest.warns(RecordingWarning, match="gives another result than the program"):
        first = compiled(np.ones(2))
    assert first[1] is not compiled(np.ones(2))[1]
    kinds = compile(lambda x: (np.sum(x), np.ndarray, dict, Plain, Plain.Inner))
    for _ in range(2):
        assert kinds(np.ones(2)) == (2.0, np.ndarray, dict, Plain, Plain.Inner)
    assert len(kinds.programs) == 1


class Plain:
    class Inner:
        pass


@pytest.mark.parametrize("given", [slice(1), slice(np.int64(1), 2.5), slice(np.float64(0.5), None)])
def test_slices_in_results(given):
    parts = given.start, given.stop
    compiled = compile(lambda x: (np.sum(x), slice(*parts)))
    for _ in range(2):
        assert compiled(np.ones(2)) == (2.0, given)
    assert len(compiled.programs) == 1
