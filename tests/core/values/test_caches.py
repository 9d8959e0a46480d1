"""Caches that are cleared while a function is differentiated change no number."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import primitive, rrule
from chainrules_py.values import caches
from chainrules_tape import grad, hvp
from tests.golden.entries import compute


def test_a_write_reaches_a_view_that_was_read_after_the_caches_were_cleared():
    def f(x, y):
        a = x[np.array([0, 1])]
        caches.forget()
        b = a.reshape(2, 1)
        a[...] -= np.sin(y)
        return np.sum(b * b * y)

    x, y, h = np.array([1.0, 2.0]), 0.7, 1e-5
    g = grad(f, (0, 1))
    later, earlier = g(x + h * x, y + h), g(x - h * x, y - h)
    for found, a, b in zip(hvp(f, (x, y), (x, 1.0)), later, earlier, strict=True):
        np.testing.assert_allclose(found, (a - b) / (2 * h), rtol=1e-8)


class Batch(np.ndarray):
    """An array that a weak reference can refer to."""


@pytest.mark.parametrize("form", ["primitive", "custom_vjp", "custom_jvp"])
def test_few_functions_with_rules_made_in_a_loop_stay_alive(form):
    def step(w, data):
        def loss(w):
            return np.sum((w - data) ** 2)

        if form == "primitive":
            f = primitive(loss)
            rrule.register(f)(lambda w: (loss(w), lambda g: (2 * g * (w - data),)))
        elif form == "custom_vjp":
            f = custom_vjp(loss)
            f.defvjp(lambda w: (loss(w), w), lambda w, g: (2 * g * (w - data),))
        else:
            f = custom_jvp(loss)
            f.defjvp(lambda p, t: (loss(*p), np.sum(2 * (p[0] - data) * t[0])))
        return w - 0.1 * grad(f)(w)

    w, batches = np.ones(3), []
    for n in range(200):
        data = np.full(3, float(n)).view(Batch)
        batches.append(weakref.ref(data))
        w = step(w, data)
        del data
    gc.collect()
    assert sum([batch() is not None for batch in batches]) <= 64


@pytest.mark.parametrize("first", range(0, 20_000, 500))
def test_random_programs_whose_every_call_clears_the_caches(first, monkeypatch):
    for n in (first + 13, first + 208):
        kept = compute(f"program {n}")
        with monkeypatch.context() as patched:
            patched.setattr(caches, "_MOST", 1)
            cleared = compute(f"program {n}")
        assert cleared.keys() == kept.keys()
        for part, number in kept.items():
            assert type(cleared[part]) is type(number), (n, part)
            if hasattr(number, "total"):
                close = {"rtol": 1e-9, "atol": 1e-9 * max(1.0, abs(number.scale))}
                np.testing.assert_allclose(cleared[part].total, number.total, **close)
