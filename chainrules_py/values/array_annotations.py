"""Annotations of rules for arrays of one dtype, or on one device: ``Array[np.float32]``."""

from __future__ import annotations

import re
from typing import Any, final

from chainrules_py.errors import RuleError
from chainrules_py.values.dispatch_types import Tracer, of_kinds

_DTYPE = r"(b?float|u?int|complex)\d+(_\w+)?|bool"
_PYTHONS = {"int": "int64", "float": "float64", "complex": "complex128"}
_GROUPS = {
    "floating": r"b?float\d.*",
    "complexfloating": r"complex\d.*",
    "inexact": r"(b?float|complex)\d.*",
    "integer": r"u?int\d.*",
    "signedinteger": r"int\d.*",
    "unsignedinteger": r"uint\d.*",
    "number": r"(b?float|complex|u?int)\d.*",
}


@final
class ArrayOf:
    """Arrays of a dtype, or on a device, which rules are dispatched on in addition to the class.

    Parameters
    ----------
    base : type
        The class of the arrays.
    kinds : object or tuple of objects
        A dtype, a class of dtypes (``np.floating``), or the name of a dtype or a device
        (``"float32"``, ``"cuda"``, ``"cuda:1"``). An array has to fit all of several.

    Examples
    --------
    >>> import numpy as np
    >>> single = ArrayOf(np.ndarray, (np.float32, "cpu"))
    >>> single.fits(np.ones(2, np.float32)), single.fits(np.ones(2))
    (True, False)
    """

    __slots__ = ("base", "devices", "dtypes")

    def __init__(self, base: type, kinds: Any) -> None:
        self.base = base
        names = [_name(kind) for kind in (kinds if type(kinds) is tuple else (kinds,))]
        known = [re.fullmatch(_DTYPE, name) or name in _GROUPS for name in names]
        self.dtypes = frozenset([n for n, k in zip(names, known, strict=True) if k])
        self.devices = frozenset([n for n, k in zip(names, known, strict=True) if not k])

    def fits(self, x: Any) -> bool:
        """Return whether an array, or the payload of a tracer, is of these kinds."""
        while isinstance(x, Tracer):
            x = x.__payload__
        if self.dtypes:
            name = str(getattr(x, "dtype", "")).rpartition(".")[2]
            if not all([re.fullmatch(_GROUPS.get(kind, kind), name) for kind in self.dtypes]):
                return False
        return not self.devices or all([name in _device(x) for name in self.devices])

    def within(self, other: Any) -> bool:
        """Return whether another annotation, an `ArrayOf` or a class, includes these arrays."""
        if not isinstance(other, ArrayOf):
            return issubclass(self.base, other)
        groups = [_GROUPS.get(kind, kind) for kind in other.dtypes]
        return (
            issubclass(self.base, other.base)
            and other.devices <= self.devices
            and all([any([re.fullmatch(g, kind) for kind in self.dtypes]) for g in groups])
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is ArrayOf and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        return self.base, self.dtypes, self.devices

    def __repr__(self) -> str:
        return f"{self.base.__qualname__}[{', '.join(sorted(self.dtypes | self.devices))}]"


of_kinds.append(ArrayOf)


def erased(annotation: Any) -> Any:
    """Return the class of an annotation, without dtype and device."""
    return annotation.base if type(annotation) is ArrayOf else annotation


def _name(kind: Any) -> str:
    """Return the name of a dtype or a device; device names are the same for all libraries."""
    if isinstance(kind, str):
        name = kind
    else:
        shown = kind if isinstance(kind, type) else getattr(kind, "dtype", kind)
        name = getattr(shown, "__name__", None) or str(shown).rpartition(".")[2]
        name = _PYTHONS.get(name, name)
        if not (re.fullmatch(_DTYPE, name) or name in _GROUPS):
            raise RuleError(
                f"Array[{kind!r}]: no dtype; write one (np.float32), a class of dtypes "
                f"(np.floating), or the name of a device ('cuda')"
            )
    return name.lower().replace("gpu", "cuda")


def _device(x: Any) -> str:
    try:
        found = x.device
    except Exception:  # a value that is being compiled has no device
        return ""
    kind = getattr(found, "type", None) or getattr(found, "platform", "")
    return f"{kind} {found}".lower().replace("gpu", "cuda")
