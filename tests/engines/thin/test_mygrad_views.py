"""Results that are views of an operand, in MyGrad: what is written to one is seen in the other."""

import random

import numpy as np
import pytest

from chainrules_py import export, linear_rule, primitive

mygrad = pytest.importorskip("mygrad", reason="MyGrad is not installed")

VIEWS = {
    "reshape": (lambda z: mygrad.reshape(z, (3, 4)), lambda z: np.reshape(z, (3, 4))),
    "ravel": (mygrad.ravel, np.ravel),
    "transpose": (mygrad.transpose, np.transpose),
    "swapaxes": (lambda z: mygrad.swapaxes(z, 0, 1), lambda z: np.swapaxes(z, 0, 1)),
    "moveaxis": (lambda z: mygrad.moveaxis(z, 0, 1), lambda z: np.moveaxis(z, 0, 1)),
    "expand_dims": (lambda z: mygrad.expand_dims(z, 1), lambda z: np.expand_dims(z, 1)),
    "squeeze": (lambda z: mygrad.squeeze(z[:1]), lambda z: np.squeeze(z[:1])),
    "rows": (lambda z: z[1:], lambda z: z[1:]),
    "steps backwards": (lambda z: z[::-2, 1:], lambda z: z[::-2, 1:]),
    "element": (lambda z: z[1, 2], lambda z: z[1, 2]),
    "row": (lambda z: z[1], lambda z: z[1]),
    "empty": (lambda z: z[:0], lambda z: z[:0]),
    "view of a view": (
        lambda z: mygrad.reshape(z, (2, 6))[:, ::2],
        lambda z: np.reshape(z, (2, 6))[:, ::2],
    ),
    "copy": (lambda z: z[[0, 2]], lambda z: z[[0, 2]]),
    "computed": (mygrad.exp, np.exp),
    "itself": (lambda z: +z, lambda z: z * 1.0),
}


def write(target, how, t):
    if how == "element":
        target[(0,) * target.ndim] = 9.0
    elif how == "all":
        target[...] = t[0, 0] * 2
    elif how == "times":
        target *= 3
    elif how == "plus":
        target += t[1, 1]
    else:
        target[:1] = 0.5


HOW = ["element", "all", "times", "plus", "part"]


def run(ops, writes, start, *, transposed):
    t = mygrad.tensor(start)
    z = t.T * 1.0 if transposed else t * 1.0
    shown = [z, *[op(z) for op in ops]]
    used = (z**2).sum()
    for at, how in writes:
        target = shown[at % len(shown)]
        if target.size and (target.ndim or how != "part"):
            write(target, how, t)
    total = used + (z**3).sum()
    for i, y in enumerate(shown):
        total = total + (i + 1) * (y**2).sum()
    total.backward()
    return [total.data, t.grad, z.grad, *[y.data for y in shown], *[y.grad for y in shown]]


def check(seed):
    r = random.Random(seed)
    names = [r.choice([*VIEWS]) for _ in range(r.randint(1, 3))]
    writes = [(r.randrange(4), r.choice(HOW)) for _ in range(r.randint(1, 3))]
    start = np.random.default_rng(seed).normal(size=(3, 4))
    given = {"start": start, "transposed": r.random() < 0.3}
    given["start"] = start.T.copy() if given["transposed"] else start
    right = run([VIEWS[n][0] for n in names], writes, **given)
    found = run([export(VIEWS[n][1], to="mygrad") for n in names], writes, **given)
    for x, y in zip(found, right, strict=True):
        if y is not None:  # MyGrad keeps no gradient for some views of views
            np.testing.assert_allclose(x, y, rtol=1e-12, err_msg=f"{names} {writes}")


@pytest.mark.parametrize("seed", range(24))
def test_what_is_written_to_a_view_is_as_in_mygrad(seed):
    check(seed)


@pytest.mark.slow
def test_many_programs():
    for seed in range(24, 3000):
        check(seed)


def reversal():
    f = primitive(lambda x: x)
    linear_rule(f, lambda g, x: -g)
    return f


def test_a_rule_that_says_another_derivative_is_heard():
    t = mygrad.tensor([1.0, 2.0])
    z = t * 1.0
    y = export(reversal(), to="mygrad")(z)
    y[0] = 9.0
    (z**2 + y**2).sum().backward()
    np.testing.assert_array_equal(z.data, [1.0, 2.0])  # a copy, as the page says
    np.testing.assert_array_equal(t.grad, [2.0, 4.0 - 4.0])


@pytest.mark.parametrize("start", [[5.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("new", [0.0, 4.5])
def test_a_view_that_hangs_on_numbers_stays_where_it_was(start, new):
    found = []
    for exported in (False, True):
        f = (lambda x: x[:2]) if start[0] > 4.0 else (lambda x: x[1:])
        if exported:
            f = export(lambda x: x[:2] if x[0] > 4.0 else x[1:], to="mygrad")
        t = mygrad.tensor(start)
        z = t * 1.0
        y = f(z)
        y *= z[2]
        y[:1] = new
        ((y**2).sum() + (z**3).sum()).backward()
        found.append([t.grad, y.grad, z.grad, y.data, z.data])
    for x, right in zip(*found[::-1], strict=True):
        np.testing.assert_allclose(x, right, rtol=1e-12)


READ_ONLY = {
    "broadcast_to": lambda z: np.broadcast_to(z, (2, 3)),
    "broadcast_arrays": lambda z: np.broadcast_arrays(z, np.ones((2, 3)))[0],
    "windows": lambda z: np.lib.stride_tricks.sliding_window_view(z, 2),
}


@pytest.mark.parametrize("name", [*READ_ONLY])
def test_views_that_overlap_are_read_only_and_see_what_is_written_to_the_operand(name):
    f = READ_ONLY[name]
    plain = np.array([1.0, 2.0, 3.0])
    t = mygrad.tensor(plain)
    z = t * 1.0
    y = export(f, to="mygrad")(z)
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 5.0
    z[0] = 7.0
    np.testing.assert_array_equal(y.data, f(np.array([7.0, 2.0, 3.0])))
    (y**2).sum().backward()
    count = [np.sum(f(np.arange(3)) == i) for i in range(3)]
    np.testing.assert_array_equal(t.grad, 2 * plain * count * [0, 1, 1])


@pytest.mark.parametrize("steps", [2, -1, -2])
@pytest.mark.parametrize("how", ["y", "z", "w", "all"])
def test_views_of_what_is_in_steps(steps, how):
    found = []
    for reshape in (mygrad.reshape, export(np.reshape, to="mygrad")):
        t = mygrad.tensor(np.arange(1.0, 9.0))
        z = t * 1.0
        w = z[::steps]
        y = reshape(w, (-1, 2))
        if how in ("y", "all"):
            y[:, 0] *= t[0] * 3
        if how in ("z", "all"):
            z[2:5] = t[1] * 5
        if how in ("w", "all"):
            w += t[2]
        ((y**2).sum() + (z**3).sum() + (w**4).sum()).backward()
        found.append([t.grad, y.data, z.data, w.data])
    for x, right in zip(*found[::-1], strict=True):
        np.testing.assert_allclose(x, right, rtol=1e-12)
