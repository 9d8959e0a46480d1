"""Limit the calls of the checked function, or the seconds, that a check may take."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import final

import numpy as np


@final
class BudgetSpentError(BaseException):
    """The budget is spent: the running check has no result, and the others are not tried.

    Like an interrupt, it is not an `Exception`: checks catch the exceptions of the function.
    """


@final
class Budget:
    """Counter of calls, with a limit on calls or seconds.

    Running one half of a rule counts as a call: it computes the function's value.

    Parameters
    ----------
    limit : int or float, optional
        Number of calls, or of seconds if it is a float; without it there is no limit.
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
    """Count calls before they are made.

    Raises
    ------
    BudgetSpentError
        If no calls, or no seconds, are left.
    """
    budget = _current.get()
    if budget is not None:
        if budget.calls + calls > budget.most or time.monotonic() > budget.end:
            raise BudgetSpentError
        budget.calls += calls


@contextlib.contextmanager
def unlimited() -> Iterator[None]:
    """Count nothing inside: the diagnosis of a mistake is not limited."""
    with Budget().running():
        yield
