"""How many calls of the function that is judged, or how many seconds, a judgement may take."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import final

import numpy as np


@final
class BudgetSpentError(BaseException):
    """The budget is spent: what was begun says nothing, and the rest is not tried.

    No `Exception`, as an interrupt is none: checks catch those of the function.
    """


@final
class Budget:
    """Calls that are counted, up to a limit of them, or of seconds.

    A run of one half of a rule counts as a call: it computes the function's value.

    Parameters
    ----------
    limit : int or float, optional
        Calls, or seconds if it is a float; without it there is no limit.
    """

    def __init__(self, limit: float | None = None) -> None:
        is_seconds = isinstance(limit, float)
        self.calls = 0
        self.most = np.inf if limit is None or is_seconds else limit
        self.end = time.monotonic() + limit if is_seconds and limit is not None else np.inf

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Count the calls inside."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def spend(calls: int = 1) -> None:
    """Count calls, before they are made.

    Raises
    ------
    BudgetSpentError
        If there are no calls, or seconds, left.
    """
    budget = _current.get()
    if budget is not None:
        if budget.calls + calls > budget.most or time.monotonic() > budget.end:
            raise BudgetSpentError
        budget.calls += calls


@contextlib.contextmanager
def unlimited() -> Iterator[None]:
    """Count nothing inside: a mistake that is found is named, whatever that takes."""
    with Budget().running():
        yield
