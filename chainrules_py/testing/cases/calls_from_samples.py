"""Calls on an array library, built from samples."""

from __future__ import annotations

import dataclasses
import re
import zlib
from collections.abc import Iterator
from typing import Any, final

import numpy as np

from chainrules_py.primitives.primitive import Primitive
from chainrules_py.testing.cases.backends import KNOWN, Backend
from chainrules_py.testing.samples import samples_of
from chainrules_py.testing.samples.sample import Draw, Sample


@final
@dataclasses.dataclass(frozen=True)
class Instance:
    """Sample of an operation, with real or with complex operands.

    Attributes
    ----------
    operation : Primitive
        The operation.
    sample : Sample
        The sample.
    number : int
        The index of the sample among those of the operation.
    complex : bool
        Whether real draws are made complex.
    """

    operation: Primitive[..., Any]
    sample: Sample
    number: int
    complex: bool = False

    @property
    def name(self) -> str:
        """The name of the instance in tests, which is the same in every run."""
        shown = re.sub(
            r" at 0x[0-9a-f]+|<function |>", "", repr(self.sample).removesuffix(" complex")
        )
        name = f"{self.operation.__name__}({shown})"
        name = name if len(name) <= 90 else f"{name[:87]}..."
        return f"{name}{' complex' if self.complex else ''} {self.number}"

    def build(
        self, backend: Backend = KNOWN[0], seed: int = 0
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Draw the operands of the call, and return them and its options.

        Parameters
        ----------
        backend : Backend
            The array library, by default NumPy; the numbers are the same on all of them.
        seed : int
            The seed of the numbers.

        Returns
        -------
        tuple, dict
            Arrays and numbers, and the options by name: the call is
            ``operation(*operands, **options)``.
        """
        whence = [zlib.crc32(self.operation.__name__.encode()), self.number, seed]
        rng = np.random.default_rng(whence if seed else whence[:2])
        operands = [
            _operand(draw(x, rng, self.complex) if isinstance(x, Draw) else x, backend)
            for x in self.sample.operands
        ]
        return tuple(operands), {
            name: _option(name, value, backend) for name, value in self.sample.options.items()
        }


def instances(operation: Primitive[..., Any], *, raising: bool = False) -> Iterator[Instance]:
    """Yield an operation's samples, some again with complex operands; or those that raise.

    Parameters
    ----------
    operation : Primitive
        The operation.
    raising : bool
        Whether to yield the calls that must raise an error, instead of the others.

    Yields
    ------
    Instance
        Its `Instance.build` returns operands and options, its ``name`` is for messages; of its
        ``sample``, ``smooth`` and ``gauge`` say whether derivatives can be compared with
        differences, and of which function of the result.

    Examples
    --------
    >>> from chainrules_py.ops import diff
    >>> for instance in instances(diff):
    ...     operands, options = instance.build()
    ...     y = diff(*operands, **options)
    >>> instance.name, y.shape
    ('diff(real[2], n=4) 6', (0,))
    """
    for number, sample in enumerate(samples_of(operation)):
        if raising is (sample.raises is None):
            continue
        yield Instance(operation, sample, number)
        if sample.complex:
            yield Instance(operation, sample, number, complex=True)


def draw(what: Draw, rng: Any, complex: bool = False) -> Any:
    """Draw a NumPy array, or a Python number.

    Parameters
    ----------
    what : Draw
        What to draw.
    rng : numpy.random.Generator
        The generator of the numbers.
    complex : bool
        Whether real draws are made complex.

    Examples
    --------
    >>> draw(Draw((2,), kind="int", low=0, high=3), np.random.default_rng(0))
    array([2, 1])
    """
    shape = () if what.shape is None else what.shape
    kind = "complex" if complex and what.kind == "real" else what.kind
    values: Any
    if kind == "bool":
        values = rng.random(shape) < 0.5
    elif kind == "int":
        values = rng.integers(int(what.low), int(what.high), shape)
    elif kind == "complex":
        values = rng.uniform(what.low, what.high, shape) + 1j * rng.uniform(
            what.low, what.high, shape
        )
    else:
        values = _spread(rng, what) if what.apart else rng.uniform(what.low, what.high, shape)
    values = np.asarray(values)
    if what.make is not None:
        values = np.asarray(what.make(values))
    return values if what.shape is not None else values.item()


def _spread(rng: Any, what: Draw) -> Any:
    """Draw numbers in an interval, in random order, at least ``what.apart`` apart."""
    n = int(np.prod(what.shape or (), dtype=int))
    room = what.high - what.low - what.apart * max(n - 1, 0)
    if room < 0:
        raise ValueError(
            f"{n} numbers that are {what.apart} apart do not fit between {what.low} and {what.high}"
        )
    values = what.low + np.sort(rng.uniform(0, room, n)) + what.apart * np.arange(n)
    return rng.permutation(values).reshape(what.shape or ())


def _operand(x: Any, backend: Backend) -> Any:
    if isinstance(x, (np.ndarray, list)):
        return backend.asarray(x)
    return x


def _option(name: str, value: Any, backend: Backend) -> Any:
    """Return an option, looked up in the library if its text refers to it."""
    if name == "dtype" and isinstance(value, str):
        return getattr(backend.xp, value)
    if name == "device" and value == "same":
        return backend.xp.zeros((), device=backend.device).device
    if name == "to" and value == "namespace":
        return backend.xp
    return value
