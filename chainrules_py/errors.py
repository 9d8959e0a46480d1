"""The errors: one tree, each class saying what was wrong and what to write instead.

Whatever says that a derivative does not exist, is not known or would be lost derives from
`ChainRulesError`, as does what is said of rules and engines. An argument that Python or NumPy would
refuse is the `ValueError`, `TypeError` or `IndexError` that they raise. A message is one sentence
of fact, with types and shapes as `describe` draws them, one of remedy, and, where a rule is
concerned, its file and line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

advisers: list[Callable[[BaseException], str | None]] = []
"""Functions that look at errors of another library which a traced program raises.

``adviser(error)`` gives what to write instead, as a note on the error, or None.
"""
refusers: list[Callable[[BaseException], None]] = []
"""Functions that raise an error in place of one of which no adviser knows what to write instead."""


def advise(error: BaseException) -> None:
    """Note on an error of another library what to write instead, if anybody knows."""
    notes = [note for adviser in advisers if (note := adviser(error)) is not None]
    for note in notes:
        error.add_note(note)
    for refuse in () if notes else refusers:
        refuse(error)


class ChainRulesError(Exception):
    """The root of the tree, never raised itself.

    Catch it to catch whatever chainrules_py says of derivatives, rules and engines.
    """


class NoRuleError(ChainRulesError, LookupError):
    """No rule fits a function and the types of its operands.

    Raised by lookup. The message lists the closest signatures with their file and line, and what to
    import or write: usually a rule for that function, a backend to install, or
    `register_array_type` for a class of arrays of your own.
    """


class AmbiguousRuleError(ChainRulesError):
    """Two rules fit equally well and nothing decides between them.

    Raised by lookup, naming both rules with file and line. Write a rule for the intersection of the
    two signatures, or mark the one you mean with ``override=True``.
    """


class RuleError(ChainRulesError):
    """A rule is stated badly, so that it is refused where it is written and not where it is used.

    Raised at registration, for instance when operands differ from those of the primal, when an
    annotation cannot be dispatched on, when a signature is taken, or when no engine could ever see
    the function being called. The message gives file and line of the rule and the line to write.
    """


class NotDifferentiableError(ChainRulesError):
    """A derivative was asked for that does not exist or that nobody has stated.

    Raised when a `NotImplementedTangent` reaches a person, when an option is traced, or when a
    function that was opted out is differentiated. The message names function and argument. State
    the rule, pass the argument as an operand, or treat it as a constant.
    """


class UnsupportedKeywordError(ChainRulesError, TypeError):
    """A keyword was passed that the rules of a function do not cover.

    Raised while a call is bound, instead of ignoring the keyword and returning a wrong derivative.
    The message names the keyword; leave it out, or write what it does as an operation of its own
    (``out=`` and ``casting=`` have none).
    """


class ProjectionError(ChainRulesError):
    """A tangent does not fit its primal: wrong structure, shape, field, or type; or it is ``None``.

    Raised when a tangent comes in from a person or a rule and cannot be brought to the tangent
    space of its primal. The message names both. Tangents mirror primals: an array for an array,
    `Tangent[P]` for an instance of ``P``, and ``ZeroTangent()`` or ``NoTangent()``, never ``None``,
    where nothing flows.
    """


class MutationError(ChainRulesError, ValueError):
    """An array that a derivative depends on was changed after it was recorded.

    Raised by engines at the backward pass, or at the write itself, naming the array. Write to a
    copy, or write before the recorded operation.
    """


class TracerError(ChainRulesError):
    """A traced value, or the tape that records it, was used where it cannot be.

    Raised for instance when a tape is asked twice without ``persistent=True``, or when a value
    leaves the transformation that created it. The message gives the flag or the line to write.
    """


class NanError(ChainRulesError, FloatingPointError):
    """A call, or its derivative, made a NaN out of what was none; raised under a trap for them.

    The message names the call and the line of the program; look at the operands there.
    """


class ConvergenceError(ChainRulesError, ArithmeticError):
    """A solver or an integrator found no solution.

    Raised by the operations that solve (``root``, ``linear_solve``, ``odeint``), with how far they
    came: the norm of the residual, or the time. Start elsewhere, loosen the tolerance, allow more
    steps, or pass a solver of your own.
    """


class ContractError(ChainRulesError):
    """Two packages were built for different versions of the contract between them.

    Raised where a package of another contract states its first rule, naming both numbers, and where
    an engine is asked for that is not installed. Upgrade the older of the two.
    """


class ProgramError(ChainRulesError):
    """A program in a straight line makes no sense: a value is used before it is defined, say.

    Raised where a `chainrules_py.program.Program` or `Call` is made, naming the value and the call.
    A recorder or a pass that made it is wrong, and not the function that was recorded.
    """


class DegeneracyWarning(UserWarning):
    """The derivative depends on a choice that the primal leaves open at this point.

    Issued for instance when a loss depends on the phase of an eigenvector, or on the order of equal
    singular values. The number returned is the one documented for that point; `strict` turns the
    warning into an error.
    """


class LostDerivativeWarning(UserWarning):
    """A function lost what is differentiated, and gave a result all the same.

    Issued when a function caught the error that a derivative would be lost, or when its result
    depends on nothing that is differentiated. The message names the lines; `strict` turns the first
    into an error, and ``unused="zero"`` silences the second.
    """


class PackageWarning(UserWarning):
    """A package that brings rules, or a library, could not be loaded.

    Issued once, when something is first differentiated that it brings derivatives for. The message
    names the package and what happened; mend, upgrade or uninstall it.
    """


class PerformanceWarning(UserWarning):
    """A line of the program is right, and much slower than what could stand there.

    Issued for the line that made an array of traced objects, if thousands of records came of it.
    The message says what to write.
    """


_describers: dict[str, Callable[[object, int], str | None]] = {}

_DEPTH = 3
"""How many levels of nesting a picture shows before it falls back to class names."""


def register_description(name: str, picture: Callable[[object, int], str | None]) -> None:
    """Teach `describe` to draw more kinds of values; used by the modules that know them.

    Parameters
    ----------
    name : str
        Key of the entry: registering again under the same name replaces it.
    picture : callable
        Called with a value and with the levels of nesting left; returns the picture, or None for
        other values.

    Examples
    --------
    >>> class Celsius:
    ...     degrees = 20.0
    >>> register_description(
    ...     "celsius", lambda x, depth: f"{x.degrees}°C" if type(x) is Celsius else None
    ... )
    >>> describe(Celsius())
    '20.0°C'
    """
    _describers[name] = picture


def describe(x: object, depth: int = _DEPTH) -> str:
    """Return a short picture of a value for messages: what it is, never what it holds.

    Parameters
    ----------
    x : object
        Any value; a class stands for itself.
    depth : int
        Levels of nesting to show.

    Returns
    -------
    str
        ``float64[2,3]`` for whatever has a shape and a dtype, ``None`` for None, the fields of a
        structure, the class name for the rest.

    Examples
    --------
    >>> describe(2.0), describe(None), describe(int)
    ('float', 'None', 'int')
    >>> import numpy as np
    >>> describe(np.zeros((2, 3)))
    'float64[2,3]'
    """
    if x is None:
        return "None"
    if isinstance(x, type):
        return x.__qualname__
    pictures = [_describe_array, *_describers.values()] if depth > 0 else [_describe_array]
    for picture in pictures:
        # An error is on its way: whatever goes wrong while it is drawn must not replace it.
        with contextlib.suppress(Exception):
            if (text := picture(x, depth)) is not None:
                return text
    return type(x).__name__


def _describe_array(x: Any, _: int) -> str:
    """Draw ``float64[2,3]``; raise for what is no array."""
    dtype, shape = x.dtype, x.shape
    # The name is the last word of array_api_strict.float64, or of torch.float64.
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    return f"{name}[{','.join(map(str, shape))}]"
