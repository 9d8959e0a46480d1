"""The checks of numbers: values and derivatives, of first and of second order."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainrules_py.errors import LostDerivativeWarning
from chainrules_py.primitives.plugins import default_engine
from chainrules_py.tangents.space import space
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.testing.budget import unlimited
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.coordinates import Names
from chainrules_py.testing.cases.differences import power_of_two
from chainrules_py.testing.cases.refined_differences import (
    is_vertical,
    look_again,
)
from chainrules_py.testing.cases.value_comparison import differs
from chainrules_py.testing.checks.nesting import Loss, one_difference, second_derivative
from chainrules_py.testing.diagnosis import Table, name_dtypes, name_nonlinearity, scale_of
from chainrules_py.testing.errors import SkippedCheckError, WrongError, skip_if
from chainrules_py.testing.find_rule import missing_mode


def compare(table: Table, pattern: str = "") -> None:
    """Raise a `WrongError` if entries of a table differ by more than is allowed."""
    if not table.is_within:
        raise WrongError(
            f"{table.titles[0]} and {table.titles[1]} differ\n{table}", pattern, derivative=True
        )


def check_value(case: Case) -> None:
    """Check that the rule computes what the function computes."""
    values = {}
    if case.has_push:
        values["frule"] = case.kept_push()[0]
    if case.has_pull:
        values["rrule"] = case.kept_pullback()[0]
    for kind, y in values.items():
        if (problem := differs(y, case.y, case.precision)) is not None:
            raise WrongError(
                f"the value of {kind} is not that of the function: {problem}",
                name_dtypes(problem) or "wrong value",
            )


def _agrees(case: Case) -> bool:
    """Return whether both halves agree with one central difference along a random direction.

    This takes two calls of the function. A disagreement is not yet a mistake, because the function
    may bend: it is followed by differences with many steps along many directions.
    """
    if case.agreement is None:
        wrong = wrong_halves(case) if case.few else None
        case.agreement, case.is_suspect = wrong == [], bool(wrong)
    return case.agreement


def wrong_halves(case: Case) -> list[str] | None:
    """List the halves that disagree with one central difference; None if it is inconclusive."""
    if not case.smooth or not case.u.size or case.precision > 1e-4:
        return None
    if case.jointly or case.is_extreme:
        return None
    u, w, at = case.u[:, -1], case.w[:, -1], case.wide().line(case.u[:, -1])
    h = 2.0**-17 * float(power_of_two(1.0 / np.max(np.abs(u) / case.steps)))
    here = case.seen(case.y) if case.precision < 1e-10 else case.value_there(at(0.0))
    ahead, behind = case.value_there(at(h)), case.value_there(at(-h))
    want = (ahead - behind) / (2 * h)
    rounding = 2.0**-50 * np.maximum(np.abs(ahead), np.abs(behind)) / h
    bend, slope = np.abs(ahead + behind - 2 * here) / h, np.abs(want)
    same = (ahead == here) & (behind == here)
    seen = (bend <= 1e-3 * np.max(slope, initial=0.0) + 4 * rounding) & (
        (rounding <= 1e-3 * slope) | same
    )
    if not np.all(np.isfinite(want) & seen):
        return None
    allowed, wrong = case.tolerance * slope + rounding, []
    if case.has_push and not np.all(np.abs(case.pushed()[:, -1] - want) <= allowed):
        wrong.append("push")
    if case.has_pull and not abs(case.pulled()[:, -1] @ u - w @ want) <= np.abs(w) @ allowed:
        wrong.append("pull")
    if not wrong:
        case.settle(want[:, None], allowed[:, None])
    return wrong


def check_push(case: Case) -> None:
    """Check that the push agrees with finite differences."""
    skip_if(not case.has_push, "there is no forward rule")
    if not _agrees(case):
        with unlimited() if case.is_suspect else contextlib.nullcontext():
            _check_whole_push(case.whole)


def _check_whole_push(case: Case) -> None:
    _check_no_nan(case, "push", case.pushed(), case.u)
    want, allowed, unsettled = case.judged()
    want, allowed = look_again(case, Case.pushed, want, allowed)
    names = case.output_names(), case.input_names()
    compare(Table(case.pushed(), want, *names, allowed, ("push", "differences")))
    _say_unjudged(case, unsettled)


def _say_unjudged(case: Case, unsettled: str) -> None:
    """Raise a `SkippedCheckError` if a part of the check was skipped."""
    if is_zero(space(case.y)) or all(is_zero(space(x)) for x in case.operands):
        unsettled = "there is nothing that can be perturbed"
    if held := [name for i, name in enumerate(case.operand_names()) if i in case.held]:
        unsettled = unsettled or f"the rule says of {', '.join(held)} that no derivative is given"
    skip_if(unsettled, unsettled)


def _check_no_nan(case: Case, half: str, images: Any, given: Any) -> None:
    """Check that no derivative is NaN where all is finite; at a domain's edge it may be inf."""
    single, bad = _singles(given), np.isnan(images)
    known = case.pick is None and case.smooth
    seen = np.any(bad) and (known or np.any(single))
    if not seen or not np.all(np.isfinite(case.vector_of_values())):
        return
    if np.any(single):
        # In a direction along several coordinates, infinities of both signs cancel to NaN.
        images, bad = images[:, single], bad[:, single]
        bad = bad & ~_beside_infinite(case, half, images) if known else bad
    else:
        bad = bad & ~_beside_rough(case, half, bad)
    if np.any(bad):
        raise WrongError(
            f"the {half} has {bad.sum()} NaN of {bad.size}, where value and operands are finite",
            "NaN" if case.settled else "NaN at a kink",
        )


def _beside_infinite(case: Case, half: str, images: Any) -> Any:
    """Return where a derivative along one coordinate is infinite, or NaN beside such a one."""
    lost = _vertical(case, half, images.shape)
    # 0 times an infinite derivative is NaN beside it, and in a complex number's other part.
    beside = lost if case.raw.kind == "complex" else lost & ~np.isfinite(images)
    for _ in range(2):
        beside = beside & ~np.isfinite(images)
        beside = beside.any(axis=0, keepdims=True) | beside.any(axis=1, keepdims=True)
    if case.jointly and case.inputs.size == int(np.sum(_singles(case.u))):
        # NaN is also allowed where f is smooth along each coordinate, but not along all.
        rough = (np.isinf(case.judged()[1]) & ~case.kinks)[:, : case.inputs.size]
        beside = beside | (rough if half == "push" else rough.T)
    return lost | beside


def _beside_rough(case: Case, half: str, bad: Any) -> Any:
    """Return where a derivative along random directions may be NaN, because f is not smooth.

    A pull is NaN at a coordinate that changes a number of the result that is not smooth. Of the
    coordinates where it is NaN, a few are tried.
    """
    vertical = [is_vertical(case, j, 1 / 8) for j in range(case.u.shape[1])]
    rough = np.isinf(case.judged()[1]) | np.stack(vertical, axis=1)
    if case.raw.kind == "complex":  # 0 times infinity is NaN in a number's other part
        rough = rough | np.roll(rough, len(rough) // 2, axis=0)
    if half == "push":
        return rough
    lost, beside = rough.any(axis=1), np.full((len(bad), 1), np.any(rough))
    for i in np.flatnonzero(bad.any(axis=1))[:8]:
        step = 2.0**-20 * case.steps * (np.arange(len(bad)) == i)
        there = case.value_there(case.wide().moved(step))
        beside[i] = np.any((there != case.seen(case.y)) & lost)
    return beside


def _singles(directions: Any) -> Any:
    return np.count_nonzero(directions, axis=0) <= 1


def _vertical(case: Case, half: str, shape: tuple[int, ...]) -> Any:
    """Return where difference quotients diverge, or do not exist: no derivative to compare."""
    coordinates = np.flatnonzero(_singles(case.u))[: len(case.steps)]
    if case.few or len(coordinates) != len(case.steps):
        return np.zeros(shape, bool)
    found = np.stack([is_vertical(case, int(j), 1 / 8) for j in coordinates], axis=1)
    return np.broadcast_to(found if half == "push" else found.T, shape)


def check_adjoint(case: Case) -> None:
    """Check that the pull is the adjoint: Re<y_bar, push x_dot> = Re<pull y_bar, x_dot>."""
    skip_if(not case.has_pull, "there is no reverse rule")
    if not _agrees(case):
        with unlimited() if case.is_suspect else contextlib.nullcontext():
            _check_whole_adjoint(case.whole)


def _check_whole_adjoint(case: Case) -> None:
    _check_no_nan(case, "pull", case.pulled(), case.w)
    title, unsettled = "push", ""
    if case.has_push:
        push = case.pushed()
        limit: Any = case.allowed(case.w.T @ push, *case.naturals(), case.slack)
    else:
        title = "differences"
        push, slack, unsettled = case.judged()
        if case.w.shape[1] > len(case.sizes):
            push, slack = look_again(case, Case.entries_pulled, push, slack)
        limit = _limit(case, push, slack, case.rounding)
    is_known = np.all(np.isfinite(limit)) and not case.is_extreme  # so an infinite pull is wrong
    seen = np.all(_is_number(push)) and (is_known or np.all(_is_number(case.pulled())))
    skip_if(not seen, "derivatives here are infinite")
    have, want = case.pulled().T @ case.u, case.w.T @ push
    names = case.weight_names(), case.input_names()
    compare(Table(have, want, *names, limit, ("pull", title)))
    _say_unjudged(case, unsettled)


def _limit(case: Case, push: Any, slack: Any, rounding: Any) -> Any:
    """Return the tolerance of a pull against differences, from the errors of these."""
    with np.errstate(invalid="ignore"):
        loose = np.abs(case.w).T @ np.where(np.isinf(slack), 0.0, rounding)
    lost = np.abs(case.w).T @ np.isinf(slack).astype(float) > 0
    sure = case.allowed(case.w.T @ push, *case.naturals(), max(1e-9, case.slack))
    return np.where(lost, np.inf, loose + sure)


def _is_number(derivatives: Any) -> Any:
    """Return where derivatives are finite, and not the result of an overflow."""
    return np.abs(derivatives) < 1e200


def check_linear(case: Case) -> None:
    """Check that push and pull are linear, with negative, tiny and huge factors."""
    for half, given, has, names in (
        ("push", case.u, case.has_push, case.output_names()),
        ("pull", case.w, case.has_pull, case.coordinate_names()),
    ):
        if has and given.shape[0]:
            _check_linear_half(case, half, given[:, -1], names)


def _check_linear_half(case: Case, half: str, vector: Any, names: Sequence[str]) -> None:
    whole = (case.pushed() if half == "push" else case.pulled())[:, -1:]
    image: Any = lambda v: _image(case, half, v)[:, None]
    most, least = _reach(case, vector, whole)
    factors = (-0.3, 2.0**most, 2.0**-least)
    have, want = np.hstack([image(c * vector) / c for c in factors]), whole + np.zeros(3)
    if not np.all(np.isfinite(want)) or not (most or np.all(np.isfinite(have))):
        return
    allowed = 8 * case.rounding_of(half, want, max(1e-10, 1e4 * case.precision))
    # Iterations stop sooner at small values, and additions to operands lose digits at large ones;
    # but neither makes the result zero.
    allowed[:, 1:] += np.abs(want[:, 1:]) / 2
    columns = ["times -0.3", f"times 2**{most}", f"times 2**-{least}"]
    table = Table(have, want, names, columns, allowed, (half, "multiples of it"))
    if not table.is_within:
        apart = float(np.max(np.abs(have - want))) / scale_of(want)
        images = np.hstack([whole, -0.3 * have[:, :1]])
        compare(table, name_nonlinearity(half, images, apart))


def _reach(case: Case, *derivatives: Any) -> tuple[int, int]:
    """Return up and down to which powers of two values stay in range, so that a rule is linear."""
    numbers = np.concatenate([np.ravel(x) for x in (*derivatives, case.steps, case.sizes)])
    numbers = np.abs(numbers[(numbers != 0.0) & np.isfinite(numbers)])
    if case.precision > 1e-4 or np.max(numbers, initial=0.0) > 1e290:
        return 0, 0
    farthest = np.max(np.abs(np.log2(numbers)), initial=0.0)
    end, reach = (330, 100) if case.precision < 1e-10 else (40, 40)
    return (12 if farthest > end else reach), 22  # iterations stop at small values


def _image(case: Case, half: str, vector: Any) -> Any:
    if half == "push":
        return case.seen_tangent(case.push(vector)[1])
    return case.bars_vector(case.kept_pullback()[1](case.cotangent(vector)))


def check_second_order(case: Case) -> None:
    """Check that the second derivative is right, in all four nestings of the modes."""
    engine, loss = _loss(case)
    drawn = case.rng.standard_normal((2, len(loss.sizes)))
    u, w = np.round(16 * drawn) / 16 * loss.sizes
    with warnings.catch_warnings():  # a library that the rule calls may catch the refusal
        warnings.filterwarnings("error", ".* caught an error", LostDerivativeWarning)
        products = loss.products(engine, u, w, reverse_only=not case.has_push)
    if case.precision > 1e-10:
        return  # in single precision, differences show only that it runs
    if not case.smooth:
        want, title = products["reverse over reverse"], "reverse over reverse"
        _compare_products(case, loss, products, u, want, 0.0 * want, title)
        return
    title = "differences of the gradient"
    if case.brief:
        with contextlib.suppress(WrongError, SkippedCheckError, np.linalg.LinAlgError):
            want = one_difference(loss, engine, w)
            _compare_products(case, loss, products, u, want, 0.0 * want, title)
            return
    _compare_products(case, loss, products, u, *second_derivative(loss, engine, w), title)


def _compare_products(
    case: Case, loss: Loss, products: dict[str, Any], u: Any, want: Any, error: Any, title: str
) -> None:
    # Scaled by the sizes of operands: how the slope changes if an operand changes by its size.
    sizes, scale = loss.sizes, scale_of(want * loss.sizes)
    sure = (10 * case.tolerance * scale + 1e3 * case.precision * loss.size) / sizes
    allowed = np.maximum(sure, 50 * error)
    seen = max(scale, 1e-6 * loss.size)  # if the derivative is zero, what the loss shows
    settled = np.all((allowed <= sure) | (allowed * sizes <= 1e-4 * seen))
    skip_if(not settled, "differences of the gradient do not settle")
    names = case.coordinate_names()
    if len(names) != loss.inputs.size:
        names = Names(loss.inputs.size, str)
    for name, have in products.items():
        whole = have.shape == want.shape and name.startswith("reverse")
        there = want if whole else np.asarray([u @ want])
        rows: Sequence[str] = names if whole else ["along two directions"]
        limit = allowed if whole else np.asarray([float(np.abs(u) @ allowed)])
        columns, titles = ["a random direction"], (name, title)
        table = Table(have[:, None], there[:, None], rows, columns, limit[:, None], titles)
        if not table.is_within:
            numbers = case.bars_vector(case.operands)
            skip_if(
                np.any(np.isinf(numbers)) and np.any(np.isnan(have)),
                "an operand is infinite, where formulas of second derivatives are ∞ / ∞",
            )
            skip_if(case.rounds, "the function rounds inside")
            raise WrongError(
                f"{name} and {title} differ\n{table}",
                "second order wrong (a constant was captured)",
            )


def _loss(case: Case) -> tuple[Any, Loss]:
    """Return the engine and the loss; skip where second derivatives cannot be checked."""
    engine = default_engine()
    skip_if(engine is None, "no engine is installed")
    loss = Loss(case.call, case.operands, case.gauge, case.rng, case.held)
    skip_if(not (loss.inputs.size and loss.output.size), "no derivative flows")
    missing = missing_mode(case, "reverse", transposed=False)  # engines may transpose the other
    only = not case.has_pull and (not missing or missing_mode(case, "reverse"))
    skip_if(only, "only the forward half is stated, or requested")
    if not case.settled and case.smooth:
        raise SkippedCheckError(case.judged()[2])
    far = np.any(np.abs(np.log2(np.append(case.steps, case.sizes_of_result))) > 330)
    skip_if(far, "there are no numbers for squares and cubes of such large or small ones")
    return engine, loss
