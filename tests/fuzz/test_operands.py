"""Operands of every kind beside what is differentiated: what NumPy gives, or an error of ours."""

import logging

import numpy as np
import pytest

from chainrules_py import TracerError
from chainrules_tape import grad, jacobian, jvp, linearize
from tests.fuzz.operands import sample, verdict


def judge(programs):
    """Raise on programs whose value or derivative is another than NumPy's, in silence."""
    wrong = [f"{program}: {said}" for program in programs if (said := verdict(*program))]
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong[:40])


def test_some_operands():
    judge(sample(700))


@pytest.mark.slow
def test_all_operands():
    judge(sample())


# ------------------------------------------------------------------ what is NaN, and left out

AT, ALONG = np.array([0.9, 0.2, 1.7, 1.1]), np.array([0.3, -0.2, 0.5, 0.7])
FOUR = (1.0, 2.0, 3.0, 4.0)
IGNORING = {
    "nanmax": np.nanmax,
    "nanmin": np.nanmin,
    "nanmedian": np.nanmedian,
    "nanquantile": lambda v: np.nanquantile(v, [0.3, 0.6]),
    "many of nanquantile": lambda v: np.nanquantile(v, np.linspace(0.1, 0.9, 12)),
    "inverted_cdf": lambda v: np.nanquantile(v, 0.5, method="inverted_cdf"),
    "weights": lambda v: np.nanquantile(v, 0.5, weights=FOUR, method="inverted_cdf"),
    "fmax": lambda v: np.fmax(v, 0.5),
    "fmin": lambda v: np.fmin(0.5, v),
    "fmax of both": lambda v: np.fmax(v, v[::-1]),
    "fmax.reduce": np.fmax.reduce,
    "fmin.reduce": np.fmin.reduce,
    "nansum": np.nansum,
    "nanmean": np.nanmean,
    "nanstd": np.nanstd,
    "nanprod": np.nanprod,
    "nancumsum": np.nancumsum,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IGNORING)
def test_an_entry_that_is_left_out_gives_nothing_in_any_mode(name):
    loss = lambda x: np.sum(np.cos(IGNORING[name](np.where(x > 1.5, np.nan, x) ** 2)))
    slope = lambda x: np.sum(grad(loss)(x) * ALONG)
    along = lambda x: jvp(loss, (x,), (ALONG,))[1]
    h = 1e-5
    want = (loss(AT + h * ALONG) - loss(AT - h * ALONG)) / (2 * h)
    found = [slope(AT), along(AT), linearize(loss, AT)[1](ALONG)]
    found.append(jacobian(loss, mode="forward")(AT) @ ALONG)
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)
    want = (slope(AT + h * ALONG) - slope(AT - h * ALONG)) / (2 * h)
    found = [grad(slope)(AT) @ ALONG, grad(along)(AT) @ ALONG]
    found += [jvp(slope, (AT,), (ALONG,))[1], jvp(along, (AT,), (ALONG,))[1]]
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------------- texts for a log


def test_a_log_shows_values_that_are_being_differentiated(caplog):
    def loss(x):
        logging.getLogger("training").warning("%.2f of %d: %s, %5.1e", x[0], x[1], x[0], x[1])
        return np.sum(x**2)

    assert list(grad(loss)(np.array([1.5, 2.0]))) == [3.0, 4.0]
    assert list(jvp(loss, (np.array([1.5, 2.0]),), (np.ones(2),))) == [6.25, 7.0]
    assert caplog.messages == ["1.50 of 2: 1.5, 2.0e+00"] * 2


@pytest.mark.parametrize("text", ["%.3f", "%d", "%5.1e", "%x"])
def test_a_text_by_percent_is_refused_with_the_line_to_write(text):
    with pytest.raises(TracerError, match=r'write f"\{x:.3f\}"'):
        grad(lambda x: (text % x, x)[1])(1.5)
