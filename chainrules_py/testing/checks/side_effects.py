"""The checks of conduct: those of `debug` with other calls in between, and of random state."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np

from chainrules_py.errors import ChainRulesError, MutationError
from chainrules_py.testing.budget import spend
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.coordinates import random_tangent
from chainrules_py.testing.cases.value_comparison import fingerprint
from chainrules_py.testing.checks.call_variants import value_at
from chainrules_py.testing.debug_mode import DebugError, Running, copied, different
from chainrules_py.testing.errors import WrongError
from chainrules_py.testing.find_rule import Bound, bound_rule, is_ours


def check_random(case: Case) -> None:
    """Check that a repeated call returns the same value."""
    state = np.random.get_state()  # noqa: NPY002
    try:
        if fingerprint(case.call(*case.operands)) != fingerprint(case.y):
            raise WrongError("two calls with the same operands give two values", "random function")
    finally:
        np.random.set_state(state)  # noqa: NPY002


def check_conduct(case: Case) -> None:
    """Check that a rule mutates no argument, and keeps no state that other calls change.

    These are the checks of `debug`, with a call of the rule at another point in between.
    """
    if fingerprint(case.operands) != case.print:  # each further call would write the same
        raise WrongError("the function writes to an operand, which others read", "operand mutated")
    kept = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        random.random()
        np.random.random()  # noqa: NPY002
        before = _shared_states()
        _run_with_calls_between(case)
        changed = _shared_states() != before and not is_ours(case)
        if changed:
            before = _shared_states()
            value_at(case, case.operands)
            changed = _shared_states() == before  # the function itself draws
    except (DebugError, MutationError) as error:
        raise WrongError(str(error), getattr(error, "pattern", "")) from error
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])  # noqa: NPY002
    if changed:
        raise WrongError(
            "the rule seeds, or draws from, a generator that all share, and its function does not",
            "random state changed",
        )


def _shared_states() -> tuple[Any, ...]:
    """Return the states of the global random generators, for comparison."""
    state: Any = np.random.get_state()  # noqa: NPY002
    return random.getstate(), state[1].tobytes(), *state[2:]


def _run_with_calls_between(case: Case) -> None:
    """Run both halves under the checks of `debug`, and again after a call at another point."""
    running, again = Running(True, nans=False, ours=True), []
    for mode, has in (("forward", case.has_push), ("reverse", case.has_pull)):
        found = bound_rule(case, mode) if has else None
        if found is None or found.bound is None:
            continue
        spend(3)
        run, options = running.bound(found.bound, mode, found.primal).run, found.options
        if mode == "forward":
            xs = zip(found.operands, found.bound.wanted, strict=True)
            given = tuple([random_tangent(x, 1) for x, wanted in xs if wanted])
            y, y_dot = run(given, *found.operands, **options)
            again.append(partial(_push_again, found, given, copied(y_dot)))
        else:
            y, (pull, _, *saved) = run(None, *found.operands, **options)
            again.append(partial(pull, random_tangent(y, 1), *saved))
        _check_alias(case, y)
    _elsewhere(case)
    for later in reversed(again):  # the pull first: to push runs the rule at this point again
        later()


def _push_again(found: Bound, given: Any, before: Any) -> None:
    y_dot = found.bound.run(copied(given), *found.operands, **found.options)[1]
    if problem := different(y_dot, before):
        raise WrongError(
            f"the push is another one after the function was called elsewhere: {problem}",
            "state between calls",
        )


def _check_alias(case: Case, y: Any) -> None:
    """Check that a rule's value shares memory with an operand only if the function's does."""
    for x in case.operands:
        arrays = type(x) is np.ndarray and type(y) is np.ndarray is type(case.y)
        if arrays and np.shares_memory(x, y) and not np.shares_memory(x, case.y):
            raise WrongError(
                "the rule's value is the memory of an operand, and the function's is not",
                "aliased value",
            )


def _elsewhere(case: Case) -> None:
    """Call the rule at another point, and run its halves there."""
    other = case.beside(tuple(case.inputs.moved(case.u[:, -1] / 8)))
    try:
        if case.has_push:
            other.push(case.u[:, -1])
        if case.has_pull:
            y, pullback = other.pullback()
            pullback(random_tangent(y, 0))
    except (ChainRulesError, ValueError, ArithmeticError, TypeError, np.linalg.LinAlgError):
        return  # the function rejects that point
