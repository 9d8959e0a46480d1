"""Features, by the tests that show them: the table of docs/features.md is made of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., object])


class Feature(NamedTuple):
    """A feature, the test that shows it, the page that tells of it, and who else is good at it."""

    row: str
    name: str
    test: str
    page: str
    best: str


FEATURES: list[Feature] = []


def feature(row: int | str, name: str, *, page: str, best: str) -> Callable[[F], F]:
    """Say which feature a test shows."""

    def enter(test: F) -> F:
        where = test.__module__.rpartition(".")[2]
        FEATURES.append(Feature(str(row), name, f"{where}::{test.__name__}", page, best))
        return test

    return enter
