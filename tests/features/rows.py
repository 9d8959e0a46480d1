"""Features, by the tests that show them: the table of docs/features.md is made of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Feature(NamedTuple):
    """A feature, how much of it is here, the test that shows it, its page, and who else is good.

    Attributes
    ----------
    here : {"whole", "in part", "missing"}
        By the test's judgement; what is not whole is said in the name.
    """

    row: str
    name: str
    here: str
    test: str
    page: str
    best: str


FEATURES: list[Feature] = []


def feature(
    row: int | str, name: str, *, page: str, best: str, here: str = "whole"
) -> Callable[[F], F]:
    """Say which feature a test shows."""

    def enter(test: F) -> F:
        where = test.__module__.rpartition(".")[2]
        FEATURES.append(Feature(str(row), name, here, f"{where}::{test.__name__}", page, best))
        return test

    return enter
