"""Writer: what a target announces, and what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from chainrules_compile.scope import Scope
from chainrules_py.program import Program, Value


class Body(NamedTuple):
    """Statements that a program is, in the scope that the writer was given.

    Attributes
    ----------
    lines : list of str
        Statements of Python; one that finds the program unfit returns ``MISS``.
    outputs : list of str
        The expressions of the program's outputs.
    program : Program, optional
        The program as it was written, where the writer has made another of it: a rolled one, say.
    instead : str
        Why the statements are NumPy's and not the target's; empty where they are the target's.
    """

    lines: list[str]
    outputs: list[str]
    program: Program | None = None
    instead: str = ""


class Writer(Protocol):
    """Writer of programs for a target.

    It may have ``threads``, which is true where programs can run on several. It may have ``loops``,
    which is true where calls of a `Loop` may stand in them, as a scan gives of one turn.
    """

    def __call__(self, program: Program, names: Mapping[Value, str], scope: Scope) -> Body:
        """Write a program.

        Parameters
        ----------
        program : Program
            The calls, after all passes that keep operations.
        names : mapping
            The names that the inputs have, in the function that the statements are put into.
        scope : Scope
            Gives names to the objects that the statements need, and says whether results need the
            function's bits. A writer may set its `fits` and `save`.
        """
        ...
