"""Names of mistakes other than wrong numbers: types, shapes, a half that is not linear."""

from __future__ import annotations

import re
import traceback
from typing import Any

import numpy as np

from chainrules_py.errors import ProjectionError

_FIELDS = re.compile(r"no Tangent of (\w+)")
_DTYPE = re.compile(r"\b(?:float|complex)\d+\b")


def name_dtypes(text: str) -> str:
    """Name a wrong dtype, from a text that contains both dtypes; empty if they are equal."""
    found = _DTYPE.findall(text)[:2]
    return f"{found[0]} result for {found[1]} input" if len({*found}) == 2 else ""


def name_types(problems: list[str]) -> str:
    """Name what is wrong with the type of a tangent, from sentences that describe it."""
    text = " ".join(problems)
    if (found := _FIELDS.search(text)) is not None:
        return f"write Tangent[{found[1]}]"
    if name := name_dtypes(text):
        return name
    operations = {
        "None": "None for a tangent",
        "nothing can be perturbed": "NoTangent expected",
        "is complex": "leaks a complex cotangent to a real input",
        "float32": "float32 result for float64 input",
        "shape": "wrong shape",
        "library": "of another library",
        " on ": "on another device",
    }
    return next(
        (pattern for operation, pattern in operations.items() if operation in text), "wrong type"
    )


_SHAPES = re.compile(r"a cotangent of shape \((.*?)\) cannot belong to a primal of shape \((.*?)\)")
_STRUCTURE = re.compile(r"is not a tangent of Space\((\w+)\)")


def name_projection(text: str) -> str:
    """Return why a cotangent cannot be projected: an extra axis, or another shape."""
    found = _SHAPES.search(text)
    if "None" in text:
        return "None for a tangent"
    if (kind := _STRUCTURE.search(text)) is not None:
        return f"write Tangent[{kind[1]}]"
    if found is None:
        return "wrong structure or shape"
    have, of = ([int(n) for n in g.split(",") if n.strip()] for g in found.groups())
    for k in range(len(have)):
        if have[:k] + have[k + 1 :] == of:
            return f"missing sum over axis {k}"
    return "wrong shape"


def name_nonlinearity(half: str, images: Any, apart: float) -> str:
    """Name how a half is nonlinear, from the images of a direction and of a multiple of it.

    ``apart`` is their distance from those of a linear map, relative to the largest of them.
    """
    if apart < 1e-5:
        return "float32 result for float64 input"
    what = "cotangent" if half == "pull" else "tangent"
    ignored = np.any(images) and np.allclose(images, images[:, :1])
    return f"{'ignores' if ignored else 'not linear in'} the {what}"


_ELSEWHERE = tuple(
    f"wrong only for another {x}" for x in ("point", "shape", "length", "order", "sign")
)
"""Names that state where a mistake shows, and not what it is."""


def name_at_call(name: str, inner: str) -> str:
    """Return the name of a mistake with that of its call, the more specific one first."""
    if not name or inner == "NaN at a kink":
        return inner
    if not inner:
        return name
    if not name.startswith(_ELSEWHERE) or inner.startswith("wrong numbers"):
        return f"{name} ({inner})"
    # A factor that shows only at another shape is seldom that of a mean.
    inner = re.sub(r"\((mean|sum) instead of [^?]*\?\)", "(the length of another axis?)", inner)
    return f"{inner} (at {name.removeprefix('wrong only for ')})"


def is_said(error: Exception) -> bool:
    """Return whether a rule raises an error itself, or by ``n, m = x.shape``.

    An engine raises what it says about a tangent that the rule gave.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    raises = (last.line or "").startswith("raise ") and not isinstance(error, ProjectionError)
    return raises or "values to unpack" in str(error)
