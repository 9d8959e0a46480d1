"""What the judge makes of a plant, and of a rule that is right."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from typing import Any

import numpy as np

from chainrules_py.testing import RuleCheckError, check_rule
from tests.testing.planted.build import Plant, Right


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer of one call of `check_rule`.

    Attributes
    ----------
    error : Exception or None
        What was raised.
    report : Report or None
        None if something else than a verdict was raised.
    """

    error: Exception | None
    report: Any

    @property
    def is_alarm(self) -> bool:
        """Whether anything was raised."""
        return self.error is not None

    @property
    def name(self) -> str:
        """What is said first of what is wrong."""
        if self.report is None:
            return f"raises {type(self.error).__name__}: {self.error}" if self.error else ""
        return self.report.patterns[0] if self.report.patterns else ""

    def is_named(self, plant: Plant) -> bool:
        """Whether a verdict says first what the plant asks for."""
        if not self.is_alarm or self.report is None:
            return False
        return any(said.strip() in self.name for said in plant.says.split("|"))


def ask(f: Any, operands: tuple[Any, ...], **settings: Any) -> Answer:
    """Call `check_rule` with copies of the operands."""
    operands = copy.deepcopy(operands)
    state = np.random.get_state()  # noqa: NPY002
    error: Exception | None = None
    report: Any = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            report = check_rule(f, *operands, **settings)
        except RuleCheckError as wrong:
            error, report = wrong, wrong.report
        except Exception as raised:
            error = raised
    np.random.set_state(state)  # noqa: NPY002
    return Answer(error, report)


def judge_wrong(plant: Plant) -> Answer:
    """Judge a plant by one default call, and if that misses it by a thorough one."""
    answer = ask(plant.f, plant.operands, **plant.options)
    if answer.is_alarm:
        return answer
    return ask(plant.f, plant.operands, thorough=True, **plant.options)


def judge_right(right: Right, seed: int = 0) -> Answer:
    """Judge a right rule by one default call, with operands drawn from the seed."""
    operands = right.make(np.random.default_rng(seed))
    return ask(right.f, operands, seed=seed, **right.options)
