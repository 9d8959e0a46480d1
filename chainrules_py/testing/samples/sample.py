"""Samples: representative operands and options of an operation, as data without arrays.

They are in ``testing/samples/<family>`` under the names of the rules, and every check runs over
them on every library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from chainrules_py.errors import describe
from chainrules_py.primitives.primitive import Primitive

KINDS = ("real", "complex", "int", "bool")


@dataclasses.dataclass(frozen=True)
class Draw:
    """An array or number to be drawn at random.

    Attributes
    ----------
    shape : tuple of int or None
        None draws a Python number.
    low, high : float
        The interval of reals, and of both parts of complex numbers.
    kind : {"real", "complex", "int", "bool"}
        The kind of the numbers; integers are drawn from ``low <= n < high``.
    apart : float
        The least distance between any two elements, for sorting and maxima.
    make : callable, optional
        Applied to the drawn NumPy array, for structure (symmetric, triangular, degenerate).
    """

    shape: tuple[int, ...] | None = ()
    low: float = -2.0
    high: float = 2.0
    kind: str = "real"
    apart: float = 0.0
    make: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        shape = () if self.shape is None else self.shape
        lengths = isinstance(shape, tuple) and all(isinstance(n, int) and n >= 0 for n in shape)
        if not (lengths and self.kind in KINDS and self.low <= self.high):
            raise ValueError(
                f"{self!r}: shape is None or a tuple of lengths, kind one of {KINDS}, low <= high"
            )


class Sample:
    """Call of an operation: its operands, each a `Draw` or a fixed value, and its options.

    Parameters
    ----------
    *operands
        Draws; Python numbers, which stay as they are; lists, which become arrays.
    gauge : callable, optional
        Function applied to the result before derivatives are compared, where only that value is
        determined (singular vectors).
    smooth : bool
        Whether finite differences exist here; at a kink only the convention is tested.
    complex : bool
        Whether the same call with complex operands is also a sample.
    without : tuple of str
        Libraries whose own function rejects this call: mixed kinds of dtypes on array-api-strict.
    raises : exception class, or tuple of it and str, optional
        The error that the function, or its derivative, must raise; the text is a regular expression
        that the message must contain.
    **options
        Options of the operation. Those that belong to a library are written as text:
        ``dtype="float32"``, ``device="same"``, ``to="namespace"``.
    """

    def __init__(
        self,
        *operands: Any,
        gauge: Callable[[Any], Any] | None = None,
        smooth: bool = True,
        complex: bool = False,
        without: tuple[str, ...] = (),
        raises: type[Exception] | tuple[type[Exception], str] | None = None,
        **options: Any,
    ) -> None:
        self.operands = operands
        self.gauge, self.smooth = gauge, smooth
        self.complex, self.without = complex, without
        self.raises = (raises, "") if isinstance(raises, type) else raises
        kinds = () if self.raises is None else tuple(map(type, self.raises))
        if isinstance(without, str) or kinds not in ((), (type, str)):
            raise TypeError(
                f"without={without!r}, raises={raises!r}; write ('torch',), (ValueError, 'text')"
            )
        self.options: Mapping[str, Any] = options

    def __repr__(self) -> str:
        shown = [_picture(x) for x in self.operands] + [
            f"{k}={v!r}" for k, v in self.options.items()
        ]
        return ", ".join(shown) + (" complex" if self.complex else "")

    @property
    def has_arrays(self) -> bool:
        """Whether any operand is an array, so that the call belongs to a library."""
        return any(
            isinstance(x, list) or (isinstance(x, Draw) and x.shape is not None)
            for x in self.operands
        )


def _picture(x: Any) -> str:
    if not isinstance(x, Draw):
        return repr(x)
    return "number" if x.shape is None else f"{x.kind}{list(x.shape)}"


ENTERED: dict[Primitive[..., Any], tuple[Sample, ...]] = {}
"""The samples of each operation, in the order of entering."""


def enter_samples(operation: Primitive[..., Any], *given: Sample) -> None:
    """Add samples of an operation: points at which everything stated about it is checked.

    Parameters
    ----------
    operation : Primitive
        The operation.
    *given : Sample
        Samples to add to the existing ones.

    Raises
    ------
    TypeError
        If it is not an operation, or does not accept a sample's operands and options.
    """
    if not isinstance(operation, Primitive):
        raise TypeError(
            f"samples are of a primitive, not of {describe(operation)}; write @primitive above it"
        )
    for sample in given:
        if not isinstance(sample, Sample):
            raise TypeError(
                f"{describe(sample)} is not a sample of {operation.__name__}; write Sample(...)"
            )
        try:
            operation.signature.bind(*sample.operands, **sample.options)
        except TypeError as error:
            if sample.raises is None:
                what = f"{operation.__name__}{operation.signature}"
                raise TypeError(f"{what} does not take Sample({sample!r}): {error}") from None
    ENTERED[operation] = (*ENTERED.get(operation, ()), *given)


def enter_table(table: Mapping[Any, Iterable[Sample]]) -> None:
    """Add the samples of a family, by operation or by a tuple of operations that share them."""
    for operations, given in table.items():
        for operation in operations if isinstance(operations, tuple) else (operations,):
            enter_samples(operation, *given)
