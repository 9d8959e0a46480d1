"""Interface of the writers of programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from chainrules_compile.scope import Scope
from chainrules_py.program import Program, Value


class Body(NamedTuple):
    """Statements of a program, in the scope that was passed to the writer.

    Attributes
    ----------
    lines : list of str
        Python statements; a guard that fails returns ``MISS``.
    outputs : list of str
        The expressions of the program's outputs.
    program : Program, optional
        The program as it was written, if the writer has changed it.
    instead : str
        Why the statements are for NumPy and not for the target; empty otherwise.
    """

    lines: list[str]
    outputs: list[str]
    program: Program | None = None
    instead: str = ""


class Writer(Protocol):
    """Writer of programs for a target.

    A true attribute ``threads`` means that programs can run on several threads, a true
    attribute ``loops`` that programs may contain calls of a `Loop`, which scans become.
    """

    def __call__(self, program: Program, names: Mapping[Value, str], scope: Scope) -> Body:
        """Write a program.

        Parameters
        ----------
        program : Program
            The calls, after all passes that keep operations.
        names : mapping
            The names of the inputs in the function that will contain the statements.
        scope : Scope
            Gives names to the objects in the statements, and says how many threads there are.
            A writer may set its `fits` and `save`.
        """
        ...
