"""Notes of how a function lost a derivative, reported after its differentiation.

A refusal that the function caught is reported. If a result depends on no differentiated value, the
report names the last comparison, which may have been that of a cache.
"""

from __future__ import annotations

import types
import warnings
from typing import Any, NoReturn

from chainrules_py.errors import (
    LostDerivativeWarning,
    NotDifferentiableError,
    TracerError,
    describe,
)
from chainrules_py.ops.degeneracy_reports import is_strict
from chainrules_py.primitives.conversion_advice import notes
from chainrules_py.primitives.method_table import where_defined
from chainrules_py.registry.table import name_of
from chainrules_py.tangents.space import kind_of
from chainrules_py.values.caller_frames import seen, warn_program
from chainrules_py.values.find_tracers import untraced
from chainrules_py.values.memory import makers

Place = tuple[str, int]
comparing: set[Any] = set()
"""Library functions that return whether all elements are equal, such as ``np.array_equal``."""
shortcuts: dict[types.CodeType, str] = {}
"""Library functions that use another formula at one number, with the name for messages."""


class Notes:
    """Notes of one differentiation.

    Attributes
    ----------
    refused : tuple or None
        The file and line that required a plain value of a tracer, and were refused.
    compared : tuple or None
        The file and line that last compared a traced value for equality.
    inside : bool
        Whether the function began its own differentiation with respect to a value of this one.
    steps : bool
        Whether it called a function whose derivative is zero, such as `floor`.
    writes : bool
        Whether it wrote to a traced array.
    muted : bool
        Whether a part of it was not recorded.
    """

    refused: Place | None = None
    compared: Place | None = None
    inside = steps = writes = muted = False

    def report(self, f: Any, depends: bool) -> None:
        """Report a refusal that a function, or a block of this name, caught.

        Raises
        ------
        TracerError
            If the result depends on no differentiated value, or inside `strict`.
        """
        if self.refused is None:
            return
        file, line = self.refused
        who = f if isinstance(f, str) else f"{name_of(f)} ({where_defined(f)})"
        msg = (
            f"{who} caught an error about a derivative that would be lost, raised at "
            f"{file}:{line}, and went on: its derivative lacks what went through there; fix that "
            f"line as the error says, or catch only the exceptions you expect"
        )
        if not depends or is_strict():
            raise TracerError(msg)
        warnings.warn_explicit(msg, LostDerivativeWarning, file, line, registry=seen)


def warn_unused(f: Any, note: Notes) -> None:
    """Warn that the result of a function depends on no differentiated value."""
    msg = (
        f"the result of {name_of(f)} ({where_defined(f)}) depends on nothing that is "
        f"differentiated, so that its gradient is zero"
    )
    if note.compared is not None:
        file, line = note.compared
        msg += f"; {file}:{line} compares what is differentiated with something: a cache?"
    msg += "; write unused='zero' if that is meant"
    warn_program(msg, LostDerivativeWarning)


def note_step(at: Any, y: Any, f: Any = None) -> Any:
    """Return the result of a function whose derivative is zero, and note it if it is no integer.

    Most of these calls are comparisons. What makes arrays is no step: nothing of x is in them.
    """
    if type(y) is bool or getattr(getattr(y, "dtype", None), "kind", "") == "b" or f in makers:
        return y
    note = notes.get(getattr(at, "level", at))
    if note is not None and not note.steps:
        note.steps = kind_of(y) in ("real", "complex")
    return y


def note_comparison(x: Any, frame: Any) -> None:
    """Note that a tracer was compared for equality."""
    note = notes.get(x.level)
    if note is not None:
        note.compared = frame.f_code.co_filename, frame.f_lineno


def refuse_shortcut(x: Any, other: Any, code: types.CodeType) -> NoReturn:
    """Raise because a library uses a formula that only holds at one number.

    Raises
    ------
    NotDifferentiableError
        With the name of the function.
    """
    raise NotDifferentiableError(
        f"{shortcuts[code]} takes another formula where {describe(x.__payload__)}, which is being "
        f"differentiated, equals {untraced(other)}: it has not its derivative; differentiate at a "
        f"number beside, or take ignore_derivatives of it, which is a constant"
    )
