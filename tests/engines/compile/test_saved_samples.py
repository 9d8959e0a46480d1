"""Saved programs of all samples, where this library cannot be imported: to rounding, or refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import chainrules_scipy
from chainrules_compile import RecordingError, compile
from chainrules_compile.result_checks import close
from chainrules_py.extend import flatten, unflatten
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.sample_runs import two_samples
from chainrules_tape import value_and_grad
from tests.engines.compile.shadow import same
from tests.engines.compile.test_installed import ALL, calling
from tests.engines.compile.test_samples import OPERATIONS, OTHERS, calls, outcome
from tests.engines.compile.test_save import alone
from tests.libraries.scipy.test_checks import leaves

AT = ("larger", "infinite", "zeros")


def is_of_others(said):
    """Tell whether an error is for numbers that lead another way than those of the program."""
    return "recorded for other arguments" in said or said.endswith("to integer")  # asked by int()


def unnamed(y):
    """Return tuples for named ones: those of this library are of a copied class in a module."""
    return tuple(map(unnamed, y)) if isinstance(y, tuple) else y


def check(path, f, args, others=()):
    """Save the program of a call, and run it at other numbers; say what came of it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        compiled = compile(f)
        outcome(compiled, args)
        if not compiled.programs:
            return "no program"
        refused = outcome(compiled.save, (path,))
        if isinstance(refused, RecordingError):
            assert "which a module that needs NumPy alone cannot have; keep" in str(refused)
            return "refused"
        assert refused is None
        saved = alone(path.read_text(encoding="utf-8"))[compiled.__name__]
        for xs in (args, *others):
            found, wanted = outcome(saved, xs), outcome(compiled, xs)
            if isinstance(found, Exception) and xs is not args and is_of_others(str(found)):
                continue
            if not isinstance(wanted, Exception):
                found, wanted = unnamed(found), unnamed(wanted)
                assert same(found, wanted) or close(found, wanted), f"{found!r} for {wanted!r}"
    return "saved"


def check_operation(path, found):
    for instance in found:
        # Terms of series are added up for hours, and of inverses LAPACK's ways are not NumPy's.
        otherwise = instance.operation.__name__.startswith(("hyp", "inv_again", "solve_again"))
        for name, f, args in calls(instance, "as it is"):
            parts, tree = flatten(args)
            changes = [OTHERS[k] for k in AT if not (otherwise and k == "infinite")]
            others = [unflatten(tree, list(map(change, parts))) for change in changes]
            assert check(path, f, args, others), f"{instance.name} {name}"


@pytest.mark.parametrize("operation", OPERATIONS[11::40], ids=lambda operation: operation.__name__)
def test_samples_of_operations(tmp_path, operation):
    check_operation(tmp_path / "saved.py", two_samples(list(instances(operation)))[:1])


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_all_samples_of_operations(tmp_path, operation):
    check_operation(tmp_path / "saved.py", instances(operation))


def check_sample(path, sample):
    """Save what a function of SciPy's gives, and its gradient."""
    f, xs = calling(sample), sample.operands

    def total(*zs):
        return sum([np.sum(np.real(y)) for y in leaves(f(*zs))])

    with chainrules_scipy.install():
        check(path, f, xs)
        if all(np.asarray(x).dtype.kind == "f" for x in xs):
            check(path, value_and_grad(total, tuple(range(len(xs)))), xs)


@pytest.mark.parametrize("sample", ALL[5::90], ids=str)
def test_samples_of_scipy(tmp_path, sample):
    check_sample(tmp_path / "saved.py", sample)


@pytest.mark.slow
@pytest.mark.parametrize("sample", ALL, ids=str)
def test_all_samples_of_scipy(tmp_path, sample):
    check_sample(tmp_path / "saved.py", sample)
