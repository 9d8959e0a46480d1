"""Every sample of every operation, compiled: alone and under derivatives, in forms seldom met.

The judge's samples are calls in the common forms. Here each comes as well with arrays of one
element and of none, without axes, in single precision, and lying otherwise in memory: a program is
written by shapes, dtypes and layouts, so each of these is written in a way of its own. It is called
again with other numbers. Nobody says what comes out but the function without `compile`.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import RecordingError
from chainrules_py.extend import flatten, unflatten
from chainrules_py.testing import backends
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.checks.nesting import Loss
from chainrules_py.testing.sample_runs import operations_of, two_samples
from tests.engines.compile.checked import compile_checked
from tests.engines.compile.shadow import alike, ask

OPERATIONS = operations_of()
NUMPY = next(backend for backend in backends() if backend.library == "numpy")


def single(x):
    return x.astype({"f": "f4", "c": "c8"}.get(x.dtype.kind, x.dtype))


def spaced(x):
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]) if x.ndim else (), x.dtype)
    part = wide[..., ::2] if x.ndim else wide
    part[...] = x
    return part


FORMS = {
    "as it is": lambda x: x,
    "single": single,
    "one": lambda x: x[..., :1] if x.ndim else x,
    "first": lambda x: x[:1] if x.ndim else x,
    "none": lambda x: x[..., :0] if x.ndim else x,
    "no rows": lambda x: x[:0] if x.ndim else x,
    "no axes": lambda x: x.reshape(-1)[:1].reshape(()) if x.size else x,
    "number": lambda x: x.reshape(-1)[0] if x.size else x,
    "Fortran": np.asfortranarray,
    "backwards": lambda x: x[::-1].copy()[::-1] if x.ndim else x,
    "spaced": spaced,
}
"""The forms that arrays come in."""


def changed(i, numbers):
    """Return what changes every third element of arrays, and numbers, to some in turn."""

    def change(x):
        if type(x) is not np.ndarray or x.dtype.kind not in "fc":
            return type(x)(numbers[0]) if type(x) in (float, np.float64) else x
        y = x.copy("K")
        y.flat[i::3] = np.resize(numbers, y.flat[i::3].shape)
        return y

    return change


OTHERS = {
    "larger": lambda x: x * type(x.flat[0])(1.25) if is_real(x) else x,
    "negative": lambda x: -x if is_real(x) else x,
    "zeros": changed(0, [0.0, -0.0]),
    "infinite": changed(1, [np.inf, -np.inf]),
    "undefined": changed(2, [np.nan]),
    "huge": changed(1, [1e300, -1e300]),
    "tiny": changed(1, [1e-320, -1e-200]),
}
"""The numbers that the same program is run at."""


def is_real(x):
    return type(x) is np.ndarray and x.dtype.kind in "fc" and x.size > 0


def outcome(f, xs):
    """Return what a call gives, or the error that it raises."""
    try:
        return f(*xs)
    except Exception as error:
        return error


def asked_again(g, args, others=OTHERS):
    """Run the program of some arguments at other numbers; name those whose answers differ."""
    compiled = compile_checked(g)
    compiled(*args)
    leaves, tree = flatten(args)
    for name, change in others.items():
        other = unflatten(tree, [change(x) for x in leaves])
        wanted, found = outcome(g, other), outcome(compiled, other)
        if isinstance(found, (type(wanted), RecordingError)) and isinstance(found, Exception):
            continue
        if isinstance(wanted, Exception):
            yield name, f"{found!r} where it raises {wanted!r}\n{compiled.source}"
            continue
        if alike(g, other, {}, found, wanted):
            continue
        yield name, f"{found!r} for {wanted!r}\n{compiled.source}"


def calls(instance, form):
    """Give the operation of a sample and its derivatives, each with arguments, by name."""
    operands, options = instance.build(NUMPY)
    operands = tuple([FORMS[form](x) if type(x) is np.ndarray else x for x in operands])
    f = lambda *xs: instance.operation(*xs, **options)
    yield "alone", f, operands
    try:
        loss = Loss(f, operands, instance.sample.gauge, rng := np.random.default_rng(0))
    except Exception:
        return  # it does not take the form
    if not (loss.inputs.size and loss.output.size):
        return
    n, at = len(loss.at), tuple(loss.at)
    ts = tuple(loss.inputs.tangent(rng.standard_normal(loss.inputs.size)))
    yield "value_and_grad", ct.value_and_grad(loss, loss.numbers), at
    yield "jvp", lambda *xs: ct.jvp(loss, xs[:n], xs[n:]), (*at, *ts)
    yield "hvp", lambda *xs: ct.hvp(loss, xs[:n], xs[n:]), (*at, *ts)


def said_of(instance):
    """Count what is said of the calls of a sample in all forms, and list what is wrong."""
    said, wrong = Counter(), []
    series = instance.operation.__name__.startswith("hyp")  # whose terms SciPy adds up for hours
    others = {k: x for k, x in OTHERS.items() if not (series and k in ("huge", "infinite"))}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for form in FORMS:
            for name, g, args in calls(instance, form):
                answer = ask(g, args)
                said[answer.partition(":")[0]] += 1
                if answer.startswith("wrong") or "Error" in answer.partition(": ")[2]:
                    wrong.append(f"{instance.name}, {form}, {name}: {answer}")
                if answer.startswith("equal"):
                    again = list(asked_again(g, args, others))
                    said["equal again"] += len(others) - len(again)
                    wrong += [f"{instance.name}, {form}, {name}, {x}: {y}" for x, y in again]
    return said, wrong


def check(found):
    for instance in found:
        said, wrong = said_of(instance)
        assert not wrong, "\n".join(wrong)
        assert said


@pytest.mark.parametrize("operation", OPERATIONS[5::30], ids=lambda operation: operation.__name__)
def test_samples_in_all_forms(operation):
    check(two_samples(list(instances(operation)))[:1])


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_all_samples_in_all_forms(operation):
    check(instances(operation))
