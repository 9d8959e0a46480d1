"""No false alarm over the whole vocabulary, whatever the draw; and what a check costs."""

from __future__ import annotations

import statistics
import time
import warnings

import pytest

from chainrules_py import Primitive, vocabulary
from chainrules_py.testing import backend, check_rule
from chainrules_py.testing.data.build import instances

WORDS = sorted(
    (w for w in vars(vocabulary).values() if isinstance(w, Primitive)), key=lambda w: w.__name__
)
INSTANCES = [instance for word in WORDS for instance in instances(word)]
LONG = "logm", "minimize", "odeint"
"""Words of which one call takes so long that they are judged at night alone."""
QUICK = [instance for instance in INSTANCES if instance.word.__name__ not in LONG]


def check(instance, seed):
    operands, options = instance.build(backend("numpy"), seed)
    settings = {"gauge": instance.sample.gauge, "smooth": instance.sample.smooth, "seed": seed}
    return check_rule(instance.word, *operands, **settings, **options)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.__name__)
def test_no_false_alarm(word, seed):
    for instance in instances(word):
        assert check(instance, seed).passed


@pytest.mark.parametrize("seed", range(20))
def test_no_false_alarm_on_some_samples(seed):
    """Other samples with each seed, so that twenty seeds see a good part of them."""
    for instance in QUICK[seed::640]:
        assert check(instance, seed).passed


def test_median_check_costs_less_than_150_ms():
    """In processor time, of which other processes take nothing."""
    spent = []
    for instance in QUICK[::120]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.process_time()
            check(instance, 0)
            spent.append(time.process_time() - start)
    assert statistics.median(spent) < 0.15
