"""Functions and rules that draw at random, wherever PyTorch transforms: values and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch import randn  # noqa: E402
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap  # noqa: E402

from chainrules_py import (  # noqa: E402
    LinearMap,
    NotDifferentiableError,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_torch import callback, export  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::chainrules_bridge.CalledBackWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),
]
OWN = torch.Generator().manual_seed(0)
DRAWS = {
    "rand": lambda shape: torch.rand(shape),
    "a function that is held": torch.rand,
    "a function that is imported": lambda shape: randn(shape),
    "rand_like": lambda shape: torch.rand_like(torch.zeros(shape)),
    "dropout": lambda shape: torch.nn.functional.dropout(torch.ones(shape), 0.25) + 0.5,
    "bernoulli": lambda shape: torch.bernoulli(torch.full(shape, 0.5)) + 0.5,
    "a generator": lambda shape: torch.rand(shape, generator=OWN),
}
X = torch.tensor([0.5, 1.0, 2.0, -1.5])
ROWS = torch.stack([X, X + 3.0, X])


def drawing(pen, draw):
    """Scale by what is drawn: a function with a rule of some pen, exported."""

    @primitive
    def scaled(x):
        return x * draw(x.shape)

    if pen == "scalar_rule":
        scalar_rule(scaled, lambda y, x: y / x)
    elif pen == "rule":

        @rule(scaled)
        def scaled_rule(x):
            scale = draw(x.shape)
            return x * scale, (LinearMap(lambda t, s: t * s, lambda b, s: b * s, scale),)

    elif pen == "rrule":

        @rrule.register(scaled)
        def scaled_rrule(x):
            scale = draw(x.shape)
            return x * scale, lambda bar: (bar * scale,)

    else:

        @frule.register(scaled)
        def scaled_frule(dots, x):
            scale = draw(x.shape)
            return x * scale, dots[0] * scale

    return export(scaled)


PENS = ("scalar_rule", "rule", "rrule", "frule")


# ------------------------------------------ what comes to a derivative later than to the value


def pulled_rows(f, how):
    y, pull = vjp(f, X)
    return y, vmap(pull, randomness=how)(torch.eye(4))[0]


def pushed_rows(f, how):
    y, rows = vmap(lambda t: jvp(f, (X,), (t,)), randomness=how)(torch.eye(4))
    return torch.diag(y), rows


def reverse_rows(f, chunk_size):
    found = []

    def noted(x):
        found.append(f(x))
        return found[0]

    rows = jacrev(noted, chunk_size=chunk_size)(X)
    return torch._C._functorch.get_unwrapped(found[0]), rows


LATER = {
    "jacrev": lambda f, _: reverse_rows(f, None),
    "jacrev by rows": lambda f, _: reverse_rows(f, 1),
    "vmap of a pullback": pulled_rows,
    "vmap of a push": pushed_rows,
}


@pytest.mark.parametrize("how", ["error", "same", "different"])
@pytest.mark.parametrize("door", LATER)
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("pen", PENS)
def test_what_is_mapped_over_by_the_cotangents_draws_what_the_value_drew(pen, draw, door, how):
    torch.manual_seed(0)
    y, rows = LATER[door](drawing(pen, DRAWS[draw]), how)
    torch.testing.assert_close(rows, torch.diag(y / X))


@pytest.mark.parametrize("how", ["error", "same", "different"])
@pytest.mark.parametrize("pen", PENS)
def test_a_jacobian_in_either_mode_is_diagonal_and_second_derivatives_are_zero(pen, how):
    f = drawing(pen, torch.rand)
    found = jacfwd(f, randomness=how)(X)
    torch.testing.assert_close(found, torch.diag(torch.diag(found)))
    assert (torch.diag(found) > 0.0).all()
    assert not hessian(lambda x: f(x).sum())(X).any()


@pytest.mark.parametrize("pen", PENS)
def test_a_batch_of_cotangents_in_pytorchs_older_interfaces(pen):
    x = X.clone().requires_grad_()
    y = drawing(pen, torch.rand)(x)
    (rows,) = torch.autograd.grad(y, x, torch.eye(4), is_grads_batched=True)
    torch.testing.assert_close(rows, torch.diag((y / x).detach()))


def test_a_partial_that_draws_has_the_same_numbers_for_each_cotangent():
    @primitive
    def noisy(x):
        return x.sin()

    scalar_rule(noisy, lambda _y, x: x.cos() + torch.rand(x.shape))
    f = export(noisy)
    for door in (jacrev, jacfwd):
        torch.manual_seed(0)
        slope = torch.diag(X.cos() + torch.rand(4))
        torch.manual_seed(0)
        torch.testing.assert_close(door(f)(X), slope)
    x = X.clone().requires_grad_()
    with pytest.raises(NotDifferentiableError, match="pull back one by one"):
        torch.autograd.grad(f(x), x, torch.eye(4), is_grads_batched=True)


@pytest.mark.parametrize("pen", ["rule", "rrule", "frule"])
def test_a_rule_that_draws_is_not_written_down(pen):
    with pytest.raises(NotDifferentiableError, match=r"linearize.*take torch.func.jvp"):
        linearize(drawing(pen, torch.rand), X)


# ------------------------------------------------------------------------------ `randomness=`


def _value(f, how):
    y = vmap(f, randomness=how)(ROWS)
    return y, y / ROWS


def _both(f, how):
    def one(x):
        y, pull = vjp(f, x)
        return y, pull(torch.ones(4))[0]

    return vmap(one, randomness=how)(ROWS)


def _around(f, how):
    y, pull = vjp(lambda x: vmap(f, randomness=how)(x), ROWS)
    return y, pull(torch.ones(3, 4))[0]


def _pushed(f, how):
    return jvp(lambda x: vmap(f, randomness=how)(x), (ROWS,), (torch.ones(3, 4),))


def _jacobian(f, how):
    y, pull = vjp(lambda x: vmap(f, randomness=how)(x), ROWS)
    return y, vmap(pull)(torch.ones(2, 3, 4))[0][1]


MAPPED = {
    "vmap": _value,
    "grad in vmap": _both,
    "vmap in grad": _around,
    "vmap in jvp": _pushed,
    "vmap of a pullback of vmap": _jacobian,
}


def judged(f, door, how):
    """What each element draws, by the derivative; and that this is the derivative of the value."""
    torch.manual_seed(0)
    if how == "error":
        with pytest.raises(NotDifferentiableError, match=r"randomness='error'.*'different'"):
            MAPPED[door](f, how)
        return
    y, slopes = MAPPED[door](f, how)
    torch.testing.assert_close(slopes, y / ROWS)
    assert bool(torch.isclose(slopes, slopes[0]).all()) is (how == "same")


@pytest.mark.parametrize("how", ["error", "same", "different"])
@pytest.mark.parametrize("door", MAPPED)
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("pen", PENS)
def test_elements_of_a_batch_draw_as_randomness_says(pen, draw, door, how):
    judged(drawing(pen, DRAWS[draw]), door, how)


def branching(draw):
    """Ask for a number: under vmap it is called back."""

    @primitive
    def scaled(x):
        return x * draw(x.shape) if float(x.sum()) > -1e3 else x

    scalar_rule(scaled, lambda y, x: y / x)
    return scaled


def by_numpy(draw):
    """Compute with NumPy."""

    @primitive
    def scaled(x):
        return np.asarray(x) * draw(tuple(x.shape)).numpy()

    scalar_rule(scaled, lambda y, x: y / x)
    return scaled


def declared(draw):
    """Say that it does."""
    scaled = by_numpy(draw)
    callback(scaled)
    return scaled


@pytest.mark.parametrize("how", ["error", "same", "different"])
@pytest.mark.parametrize("door", MAPPED)
@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("made", [branching, by_numpy, declared])
def test_elements_that_are_called_back_draw_as_randomness_says(made, draw, door, how):
    judged(export(made(DRAWS[draw])), door, how)


@pytest.mark.parametrize("how", ["same", "different"])
@pytest.mark.parametrize("made", [branching, by_numpy, declared])
def test_so_do_those_that_draw_from_numpy(made, how):
    draw = lambda shape: torch.from_numpy(np.random.random(shape)).float()  # noqa: NPY002
    judged(export(made(draw)), "vmap", how)


@pytest.mark.parametrize("made", [branching, by_numpy, declared])
def test_a_word_that_is_called_itself_is_told_so_too(made):
    with pytest.raises(NotDifferentiableError, match="randomness='error'"):
        vmap(made(torch.rand))(ROWS)


@pytest.mark.parametrize("how", ["error", "same", "different"])
def test_what_no_element_has_of_its_own_is_drawn_as_randomness_says(how):
    f = drawing("rule", torch.rand)
    found = vmap(lambda t: grad(lambda x: (f(x) * t).sum())(X) / t, randomness=how)(ROWS)
    assert bool(torch.isclose(found, found[0]).all()) is (how != "different")


def test_a_rule_that_draws_into_a_tensor_is_told_what_to_write():
    f = drawing("rule", lambda shape: torch.empty(shape).normal_())
    with pytest.raises(NotDifferentiableError, match=r"write torch.randn\(shape\)"):
        vmap(grad(lambda x: f(x).sum()), randomness="different")(ROWS)


def test_levels_are_as_they_were_after_an_error():
    @primitive
    def failing(x):
        return x * torch.rand(())

    @rrule.register(failing)
    def failing_rrule(x):
        def pull(bar):
            raise KeyError(x)

        return x * torch.rand(()), pull

    f = export(failing)
    for _ in range(2):
        with pytest.raises(KeyError):
            jacrev(f)(X)
    assert torch._C._functorch.maybe_current_level() is None
    torch.testing.assert_close(vmap(torch.sin)(ROWS), ROWS.sin())
