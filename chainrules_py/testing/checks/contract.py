"""The checks of what a rule promises besides numbers: types, zeros, ownership, sums in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.tangents.linear_map import PullInto
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.testing.budget import spend
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.value_comparison import differs, mismatch
from chainrules_py.testing.debug_mode import copied, different
from chainrules_py.testing.diagnosis import name_types
from chainrules_py.testing.errors import WrongError, skip_if
from chainrules_py.testing.find_rule import bound_rule
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import fields_of


def check_types(case: Case) -> None:
    """Check the shape, dtype, realness, device and structure of tangents against their primals."""
    problems = []
    if case.has_push:
        y, y_dot = case.kept_push()
        problems.append(mismatch(y_dot, y, "y_dot"))
    if case.has_pull:
        names = case.operand_names()
        problems += [
            mismatch(bar, x, f"the cotangent of {n}")
            for bar, x, n in zip(case.bars(), case.operands, names, strict=True)
        ]
    if any(problems):
        raise WrongError("; ".join(p for p in problems if p), name_types(problems))


def check_zeros(case: Case) -> None:
    """Check that zero tangents, and unwanted operands, do not change the other derivatives."""
    if case.has_push:
        _check_zero_tangents(case)
    if case.has_pull:
        _check_zero_cotangents(case)


def _check_zero_tangents(case: Case) -> None:
    dense = case.tangents(case.u[:, -1])
    zeros = tuple([t if isinstance(t, NoTangent) else ZeroTangent() for t in dense])
    active = [i for i, part in enumerate(case.parts) if part.size]
    if len(active) > 1:
        each = [(*zeros[:i], dense[i], *zeros[i + 1 :]) for i in active]
        total = sum([case.seen_tangent(case.frule(tangents)[1]) for tangents in each])
        _same(case, "push", total, case.pushed()[:, -1], "the pushes one by one do not add up")


def _same(case: Case, half: str, have: Any, want: Any, text: str) -> None:
    allowed = case.rounding_of(half, want, max(1e-10, 1e4 * case.precision))
    if np.all(np.isfinite(want)) and np.any(np.abs(have - want) > allowed):
        raise WrongError(text, "zeros treated unlike dense tangents")


def _check_zero_cotangents(case: Case) -> None:
    pullback, y_bar, bars = case.kept_pullback()[1], case.cotangent(case.w[:, -1]), case.bars()
    for i, name in enumerate(case.operand_names() if len(bars) > 1 else ()):
        if i not in case.unstated:
            alone = [pullback(y_bar, wanted=tuple([k == i for k in range(len(bars))]))[i]]
            problem = None
            if (found := _run_alone(case, i)) is not None:
                _, y, (pull, _, *saved) = found
                alone.append(pull(y_bar, *saved))
                problem = differs(y, case.y, case.precision)
            of, near = case.parts[i].vector, max(1e-5, 100 * case.precision)
            want = of(bars[i])
            if problem or not all(np.allclose(of(b), want, near, equal_nan=True) for b in alone):
                raise WrongError(
                    f"where {name} alone is wanted, the cotangent or the value is another one",
                    "wrong when wanted alone",
                )
    if isinstance(y_bar, Tangent):
        keys = [key for key, _ in fields_of(case.y) if not is_zero(y_bar[key])]
        total = sum([_pulled_alone(case, pullback, y_bar, keys, key) for key in keys])
        text = "the pulls of the outputs one by one do not add up"
        _same(case, "pull", total, case.bars_vector(bars), text)


def _run_alone(case: Case, i: int) -> tuple[Any, Any, Any] | None:
    """Run the rule bound for one wanted operand: the bound rule, value and record, if there is one.

    A rule that takes ``wanted`` may compute something else then.
    """
    found = bound_rule(case, "reverse", i)
    if found is None or found.bound is None or len(found.operands) != len(case.operands):
        return None
    spend()
    return found.bound, *found.bound.run(None, *found.operands, **found.options)


def _pulled_alone(case: Case, pullback: Any, y_bar: Any, keys: list[Any], key: Any) -> Any:
    """Pull back one entry of a structure, with zeros for the others."""
    entries = {k: y_bar[k] if k == key else ZeroTangent() for k, _ in fields_of(case.y)}
    try:
        return case.bars_vector(pullback(Tangent.of(type(case.y), entries, y_bar._length)))
    except Exception as error:
        absent = [f"y_bar.{k}" if isinstance(k, str) else f"y_bar[{k}]" for k in keys if k != key]
        is_one = len(absent) == 1
        raise WrongError(
            f"where only {key} of the result is used, the pull raises {type(error).__name__}: "
            f"{error}\n  {', '.join(absent)} {'is' if is_one else 'are'} ZeroTangent() then: it "
            f"adds and scales, and has no shape; write zeros_like(...) in its place where "
            f"is_zero({absent[0] if is_one else 'entry'})",
            "fails where a result is not used",
        ) from error


# ---------------------------------------------------------------------------------- ownership


def check_owned(case: Case) -> None:
    """Check that returned arrays are writable and share no memory with anything else."""
    if case.has_push:
        tangents = case.tangents(case.u[:, -1])
        y, y_dot = case.frule(tangents)
        _check_apart("y_dot", y_dot, {"an operand": case.operands, "a tangent": tangents, "y": y})
    if not case.has_pull:
        return
    y, pullback = case.pullback()
    y_bar = case.cotangent(case.w[:, -1])
    bars, other = pullback(y_bar), case.kept_pullback()[1]
    again = case.bars_vector(other(y_bar))
    for i, (name, bar) in enumerate(zip(case.operand_names(), bars, strict=True)):
        theirs = {"an operand": case.operands, "the cotangent": y_bar, "the result": y}
        others = {"another cotangent": [b for k, b in enumerate(bars) if k != i]}
        _check_apart(f"the cotangent of {name}", bar, theirs | others)
    for array in _arrays(bars):
        array[...] = np.nan
    if again.tobytes() != case.bars_vector(other(y_bar)).tobytes():
        raise WrongError(
            "writing to a cotangent that was received changes what the next pull gives",
            "aliased cotangent",
        )


def _check_apart(name: str, t: Any, theirs: dict[str, Any]) -> None:
    for array in _arrays(t):
        lengths = zip(array.strides, array.shape, strict=True)
        if not array.flags.writeable or any(s == 0 for s, n in lengths if n > 1):
            raise WrongError(
                f"{name} is read-only, or broadcast", "received array cannot be written to"
            )
        for what, given in theirs.items():
            if any(np.may_share_memory(array, other) for other in _arrays(given)):
                raise WrongError(
                    f"{name} shares memory with {what}",
                    f"aliased {'tangent' if name == 'y_dot' else 'cotangent'}",
                )


def _arrays(t: Any) -> list[Any]:
    """List the NumPy buffers inside a value or a tangent."""
    if isinstance(t, Tangent):
        return [a for _, part in t.fields() for a in _arrays(part)]
    leaves = [getattr(leaf, "_array", leaf) for leaf in flatten(t)[0]]
    return [x for x in leaves if isinstance(x, np.ndarray) and x.size]


# ------------------------------------------------------------------------------- sums in place


def check_accumulation(case: Case) -> None:
    """Check that accumulating into a buffer adds the cotangent of the pull to it."""
    unseen = not case.has_pull or case.pick is not None
    parts = [
        i
        for i, part in enumerate(() if unseen else case.parts)
        if getattr(part, "is_leaf", False) and part.size and i not in case.unstated
    ]
    skip_if(not any([_check_sum(case, i) for i in parts]), "nothing is added in place")


def _check_sum(case: Case, i: int) -> bool:
    """Check the sum of one operand's cotangents; return whether its rule adds in place."""
    part, y_bar, found = case.parts[i], case.cotangent(case.w[:, -1]), _run_alone(case, i)
    buffer: Any = part.tangent(np.arange(1.0, part.size + 1))
    if found is None or not isinstance(getattr(buffer, "_array", buffer), np.ndarray):
        return False
    bound, _, (_, _, *saved) = found
    want = part.vector(buffer) + part.vector(case.bars()[i])
    kept, near = copied((y_bar, saved)), min(1e4 * case.precision, 3e-2)
    if bound.pull_into:
        bound.pull_into(buffer, y_bar, *saved)
    elif not PullInto.added(
        buffer,  # an engine's cotangent of a number may be an array without axes
        np.asarray(y_bar) if isinstance(y_bar, np.generic) else y_bar,
        tuple(saved),
    ):
        return False
    if problem := different((y_bar, saved), kept):
        raise WrongError(
            f"pull_into writes to its cotangent, or to what it saved: {problem}",
            "writes to what it was given",
        )
    if not np.allclose(part.vector(buffer), want, 1e-10, near, equal_nan=True):
        raise WrongError(
            "pull_into does not add to its buffer what pull gives",
            "in-place accumulation is not addition",
        )
    return True
