"""`sample_tests`: tests of the samples of operations, on all libraries, in one line.

There are three depths. Without marks: every check on NumPy, and on the other libraries the cheap
core (value, pull against push, shape, dtype, device) on two samples of each operation. Marked
``slow``: every check everywhere. Marked ``nightly``: twenty more draws of every sample.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pytest

from chainrules_py import RuleError
from chainrules_py.registry.table import name_of
from chainrules_py.testing import Backend, Outcome, RuleCheckError
from chainrules_py.testing.cases.calls_from_samples import Instance
from chainrules_py.testing.report.summary import Depth, told
from chainrules_py.testing.sample_runs import (
    Backends,
    Operations,
    SampledOperation,
    judge_samples,
    libraries_of,
    operations_of,
    two_samples,
    without_samples,
)

_Run: TypeAlias = Callable[[], list[Outcome]]
NIGHTLY = tuple(range(1, 21))
"""The seeds of the nightly tests."""


def sample_tests(
    operations: Operations | None = None, *, backends: Backends | None = None
) -> Callable[..., None]:
    """Generate tests from the samples of operations: one per operation, sample and array library.

    Parameters
    ----------
    operations : callable, module, or iterable of callables, optional
        The operations; by default all. An operation that has a rule and no sample fails.
    backends : iterable of str or Backend, optional
        The array libraries; by default all that are installed.

    Returns
    -------
    function
        A parametrised test, collected under the name that it is assigned to.

    Notes
    -----
    All checks run on the first library. On the others, the cheap core runs on two samples of each
    operation, and tests marked ``slow`` run all checks on all samples. Tests marked ``nightly``
    draw every sample twenty more times.

    Examples
    --------
    In a test file:

    >>> from chainrules_py.ops import cos, sin
    >>> test_samples = sample_tests([sin, cos])
    """
    parameters = [
        pytest.param(run, id=name, marks=[getattr(pytest.mark, m) for m in marks])
        for name, run, *marks in _tests(operations, backends)
    ]

    @pytest.mark.parametrize("judged", parameters)
    def test_samples(judged: _Run, request: pytest.FixtureRequest) -> None:
        __tracebackhide__ = True
        outcomes = judged()
        # The plugin counts what reports carry, so that the sum is also right with pytest-xdist.
        request.node.user_properties += [("chainrules_py", o.as_dict()) for o in outcomes]
        failures = [o for o in outcomes if not o.passed]
        for failure in failures:
            error = failure.error
            cause = (error.__cause__ or error) if error is not None else None
            if cause is not None and not isinstance(cause, (RuleCheckError, RuleError)):
                cause.add_note(told(failure))
                raise cause  # its traceback shows the line of the rule
        if failures:
            pytest.fail("\n\n".join([told(o) for o in failures]), pytrace=False)

    return test_samples


def _tests(operations: Operations | None, backends: Backends | None) -> Iterator[tuple[Any, ...]]:
    """Yield the name of each test, the function that runs it, and its marks."""
    libraries = libraries_of(backends)
    for operation in map(SampledOperation.find, operations_of(operations)):
        if operation.lacks_samples:
            text = f"{name_of(operation.operation)} has no sample"
            yield text, functools.partial(lambda w: [without_samples(w)], operation.operation)
        for number, library in enumerate(libraries):
            first = number == 0
            found = operation.on(library, first)
            depth: Depth = "full" if first else "cheap"
            marks = ("gpu",) if library.name == "cupy" else ()
            for instance in found if first else two_samples(found)[: library.samples]:
                late = ("slow",) if instance.operation.__name__ in library.slow else ()
                yield *_test(instance, library, depth), *late, *marks
            for instance in () if first else found:
                yield *_test(instance, library, "full"), "slow", *marks
            if found:
                name = f"{name_of(operation.operation)} on {library}, {len(NIGHTLY)} draws"
                run = functools.partial(judge_samples, found, library, NIGHTLY, depth)
                yield name, run, "nightly", *marks


def _test(instance: Instance, library: Backend, depth: Depth) -> tuple[str, _Run]:
    name = f"{instance.name} on {library}{', cheap' if depth == 'cheap' else ''}"
    return name, functools.partial(judge_samples, [instance], library, (0,), depth)
