"""The exceptions and warnings: each says what was wrong and what to write instead.

Errors about derivatives that do not exist, are unknown or would be lost derive from
`ChainRulesError`, and so do those about rules and engines. An argument that Python or NumPy would
refuse raises `ValueError`, `TypeError` or `IndexError`, as they do. A message has one sentence of
fact, with types and shapes as `describe` returns them, one of remedy, and, if a rule is concerned,
its file and line.
"""

import contextlib
import re
from collections.abc import Callable
from typing import Any

advisers: list[Callable[[BaseException], str | None]] = []
"""Functions that inspect errors of another library which a traced program raises.

``adviser(error)`` returns what to write instead, which becomes a note on the error, or None.
"""
refusers: list[Callable[[BaseException], None]] = []
"""Functions that raise an error in place of one that no adviser recognises."""


def advise(error: BaseException) -> None:
    """Add notes to an error of another library with what to write instead, if that is known."""
    notes = [note for adviser in advisers if (note := adviser(error)) is not None]
    for note in notes:
        error.add_note(with_import(note))
    for refuse in () if notes else refusers:
        refuse(error)


_NAMES = r"(?<![\w.])@?(ignore_derivatives|LinearMap|NoTangent|primitive|rule|scalar_rule)\("


def with_import(message: str) -> str:
    """Add the import of the names of chainrules_py that the remedy in a message writes."""
    names = ", ".join(dict.fromkeys(re.findall(_NAMES, re.split(r"; |\n", message)[-1])))
    return f"{message}, after 'from chainrules_py import {names}'" if names else message


class ChainRulesError(Exception):
    """The base class of all errors of chainrules_py, never raised itself.

    Catch it to catch any error about derivatives, rules or engines.
    """

    def __str__(self) -> str:
        return with_import(super().__str__())


class NoRuleError(ChainRulesError, LookupError):
    """No rule matches a function and the types of its operands.

    Raised by look-up. The message lists the closest signatures with their file and line, and what
    to import or write: usually a rule for that function, a backend to install, or
    `register_array_type` for a user-defined class of arrays.
    """


class AmbiguousRuleError(ChainRulesError):
    """Two rules match equally well, and neither takes precedence.

    Raised by look-up, naming both rules with file and line. Write a rule for the intersection of
    the two signatures, or mark the intended one with ``override=True``.
    """


class RuleError(ChainRulesError):
    """A statement of a rule is invalid, and is refused where it is written.

    Raised at registration, for instance when operands differ from those of the primal, when an
    annotation cannot be dispatched on, when the signature already has a rule, or when no engine can
    see calls of the function. The message gives file and line of the rule and the line to write.
    """


class NotDifferentiableError(ChainRulesError):
    """A derivative does not exist, or is not stated.

    Raised when a `NotImplementedTangent` reaches the user, when an option is traced, or when a
    function that was opted out is differentiated. The message names function and argument. State
    the rule, pass the argument as an operand, or treat it as a constant.
    """


class UnsupportedKeywordError(ChainRulesError, TypeError):
    """A keyword was passed that the rules of a function do not cover.

    Raised while a call is bound, instead of ignoring the keyword and returning a wrong derivative.
    The message names the keyword; leave it out, or write its effect as a separate operation
    (``out=`` and ``casting=`` have none).
    """


class ProjectionError(ChainRulesError):
    """A tangent does not match its primal in structure, shape, field or type, or is ``None``.

    Raised when a tangent from a user or a rule cannot be converted to the tangent space of its
    primal. The message names both. Tangents mirror primals: an array for an array, `Tangent[P]` for
    an instance of ``P``, and ``ZeroTangent()`` or ``NoTangent()``, never ``None``, where no
    derivative flows.
    """


class MutationError(ChainRulesError, ValueError):
    """An array that a derivative depends on was changed after it was recorded.

    Raised by engines at the backward pass, or at the write itself, naming the array. Write to a
    copy, or write before the recorded operation.
    """


class TracerError(ChainRulesError):
    """A traced value, or the tape that records it, was used where it cannot be.

    Raised for instance when a tape is used twice without ``persistent=True``, or when a value
    leaves the transformation that created it. The message gives the flag or the line to write.
    """


class NanError(ChainRulesError, FloatingPointError):
    """A call, or its derivative, returned a NaN for operands without one; raised by a NaN trap.

    The message names the call and the line of the program; check the operands there.
    """


class ConvergenceError(ChainRulesError, ArithmeticError):
    """A solver or an integrator found no solution.

    Raised by the operations that solve (``root``, ``linear_solve``, ``odeint``), with what they
    reached: the norm of the residual, or the time. Start elsewhere, loosen the tolerance, allow
    more steps, or pass your own solver.
    """


class ContractError(ChainRulesError):
    """Two packages were built for different versions of the contract between them.

    Raised where a package of another contract states its first rule, naming both numbers, and where
    a requested engine is not installed. Upgrade the older of the two.
    """


class ProgramError(ChainRulesError):
    """A straight-line program is invalid: for instance, it uses a value before it is defined.

    Raised where a `chainrules_py.program.Program` or `Call` is made, naming the value and the call.
    The error is in the recorder or the pass that made it, not in the recorded function.
    """


class DegeneracyWarning(UserWarning):
    """The derivative depends on a choice that the primal leaves open at this point.

    Issued for instance when a loss depends on the phase of an eigenvector, or on the order of equal
    singular values. The returned number is the one documented for that point; `strict` turns the
    warning into an error.
    """


class LostDerivativeWarning(UserWarning):
    """A function lost differentiated values, and still returned a result.

    Issued when a function caught the error about a lost derivative, or when its result depends on
    no differentiated value. The message names the lines; `strict` turns the first into an error,
    and ``unused="zero"`` silences the second.
    """


class PackageWarning(UserWarning):
    """A package of rules, or one that supports a library, could not be loaded.

    Issued once, when something is first differentiated for which it has derivatives. The message
    names the package and the cause; fix, upgrade or uninstall it.
    """


_describers: dict[str, Callable[[object, int], str | None]] = {}

_DEPTH = 3
"""The levels of nesting that `describe` shows before it falls back to class names."""


def register_description(name: str, picture: Callable[[object, int], str | None]) -> None:
    """Extend `describe` to more kinds of values.

    Parameters
    ----------
    name : str
        The key of the entry, which replaces an earlier one with the same key.
    picture : callable
        Called with a value and the remaining levels of nesting; returns the description, or None
        for other values.

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
    """Return a short description of a value for messages: its type and shape, not its contents.

    Parameters
    ----------
    x : object
        Any value; a class gives its own name.
    depth : int
        The levels of nesting to show.

    Returns
    -------
    str
        ``float64[2,3]`` for values with a shape and a dtype, ``None`` for None, the fields of a
        structure, and otherwise the class name.

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
        # An error is about to be raised: a failure here must not replace it.
        with contextlib.suppress(Exception):
            if (text := picture(x, depth)) is not None:
                return text
    return type(x).__name__


def _describe_array(x: Any, _: int) -> str:
    """Return text like ``float64[2,3]``; raise for values that are no arrays."""
    dtype, shape = x.kind if x.dtype is None else x.dtype, x.shape  # a number's space has none
    # The name is the last word of array_api_strict.float64, or of torch.float64.
    return f"{str(getattr(dtype, 'name', dtype)).rpartition('.')[2]}[{','.join(map(str, shape))}]"
