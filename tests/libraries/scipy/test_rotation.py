"""Rotations made of matrices: directions that leave the rotations, where SciPy comes back, too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import transform

import chainrules_scipy
from chainrules_py import NotDifferentiableError
from chainrules_scipy import rotation
from chainrules_tape import grad, hessian, jacobian, jvp, value_and_grad

WEIGHTS = np.array([0.7, -1.3, 0.4])
TURN = transform.Rotation.from_rotvec([0.3, -0.5, 0.8]).as_matrix()
BENT = TURN + 0.05 * np.random.default_rng(0).normal(size=(3, 3))
PLACED = np.block([[TURN, np.array([[1.0], [2.0], [3.0]])], [np.zeros((1, 3)), np.ones((1, 1))]])


@pytest.fixture(autouse=True)
def _installed():
    with chainrules_scipy.install():
        yield


def _vector(m):
    return np.sum(transform.Rotation.from_matrix(m).as_rotvec() * WEIGHTS)


def _quaternion(m):
    return np.sum(transform.Rotation.from_matrix(m).as_quat()[..., 1:] * WEIGHTS)


def _applied(m):
    return np.sum(transform.Rotation.from_matrix(m).apply(WEIGHTS) ** 2 * WEIGHTS)


def _moved(m):
    return np.sum(transform.RigidTransform.from_matrix(m).apply(WEIGHTS) * WEIGHTS)


CASES = {
    "vector": (_vector, TURN),
    "no turn": (_quaternion, np.eye(3)),
    "quaternion": (_quaternion, TURN),
    "several": (_vector, np.stack([TURN, TURN.T])),
    "one of two is none": (_vector, np.stack([TURN, BENT])),
    "applied": (_applied, TURN),
    "bent": (_vector, BENT),
    "moved": (_moved, PLACED),
}


def differences(f, x, step=1e-5):
    """Central differences of a number, or of an array, in the upper three rows."""
    rows = []
    for index in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[index] = step * (index[-2] < 3)
        rows.append((f(x + d) - f(x - d)) / (2 * step))
    return np.reshape(rows, x.shape + np.shape(rows[0]))


@pytest.mark.parametrize("name", CASES)
def test_gradient_is_that_of_what_scipy_computes(name):
    f, x = CASES[name]
    found = grad(f)(x)
    np.testing.assert_allclose(found[..., :3, :], differences(f, x)[..., :3, :], atol=1e-8)


def test_so_is_the_second_derivative():
    found = hessian(_quaternion)(TURN)
    np.testing.assert_allclose(found, differences(grad(_quaternion), TURN), atol=1e-5)


def test_what_is_said_to_be_valid_is_taken_as_it_is():
    f = lambda m: np.sum(transform.Rotation.from_matrix(m, assume_valid=True).as_matrix() ** 3)
    np.testing.assert_allclose(grad(f)(TURN), differences(f, TURN), atol=1e-8)


QUATERNIONS = np.random.default_rng(0).standard_normal((3, 4))


@pytest.mark.parametrize("name", ["C4", "D3", "O", "T"])
@pytest.mark.parametrize("sides", [("left",), ("right",), ("left", "right")], ids="-".join)
def test_reduced_by_groups(name, sides):
    groups = {side: transform.Rotation.create_group(name) for side in sides}

    def f(q):
        reduced = transform.Rotation.from_quat(q).reduce(**groups)
        return np.sum(reduced.as_matrix() * np.arange(9.0).reshape(3, 3))

    value, slope = value_and_grad(f)(QUATERNIONS)
    np.testing.assert_allclose(value, f(QUATERNIONS), rtol=1e-12)
    if len(sides) == 1:  # of two, several choices are as good, and which one is taken jumps
        np.testing.assert_allclose(slope, differences(f, QUATERNIONS), atol=1e-7)


# ------------------------------------------------------------------ even functions of the angle

ANGLES = {
    "trace": lambda w: np.trace(transform.Rotation.from_rotvec(w).as_matrix()),
    "quaternion": lambda w: np.sum(transform.Rotation.from_rotvec(w).as_quat() ** 3),
    "applied": lambda w: np.sum(transform.Rotation.from_rotvec(w).apply(WEIGHTS) ** 2 * WEIGHTS),
    "product": lambda w: np.sum(
        (transform.Rotation.from_rotvec(w) * transform.Rotation.from_rotvec(0.1 * WEIGHTS))
        .as_rotvec() ** 2 * WEIGHTS
    ),
    "degrees": lambda w: np.sum(
        transform.Rotation.from_rotvec(60.0 * w, degrees=True).as_rotvec(degrees=True) * WEIGHTS
    ),
    "slerp": lambda w: np.sum(
        transform.Slerp([0.0, 1.0], transform.Rotation.from_rotvec(np.stack([w, -0.3 * w])))([0.4])
        .as_rotvec() ** 3
    ),
}  # fmt: skip
NEAR = [np.zeros(3), np.array([1e-9, 0.0, 0.0]), np.array([1e-3, -2e-3, 1e-3]), 0.5 * WEIGHTS]


@pytest.mark.parametrize("point", NEAR, ids=str)
@pytest.mark.parametrize("name", ANGLES)
def test_derivatives_to_third_order_where_the_angle_is_small(name, point):
    f, d, h = ANGLES[name], np.array([0.3, 0.5, -0.2]), 0.02
    plain = [float(f(point + k * h * d)) for k in range(-4, 5)]
    # Central differences of eighth, eighth and sixth order.
    first = np.dot([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280], plain)
    second = np.dot(
        [-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560], plain
    )
    third = np.dot(
        [-7 / 240, 3 / 10, -169 / 120, 61 / 30, 0, -61 / 30, 169 / 120, -3 / 10, 7 / 240], plain
    )
    along, found = lambda t: f(point + t * d), []
    for _ in range(3):
        along = grad(along)
        found.append(along(0.0))
    truth = [first / h, second / h**2, third / h**3]
    np.testing.assert_allclose(found, truth, rtol=1e-6, atol=2e-7 * max(1.0, abs(plain[4])))


SCREW = np.array([0.1, 0.2, 0.3, 0.5, -0.3, 0.2])
POWERS = {
    "a rotation": lambda p: (transform.Rotation.from_rotvec(WEIGHTS) ** p).as_matrix(),
    "a transform": lambda p: (transform.RigidTransform.from_exp_coords(SCREW) ** p).as_matrix(),
}


@pytest.mark.parametrize("at", [-1.0, 0.0, 1.0, 1.5])
@pytest.mark.parametrize("name", POWERS)
def test_powers_move_with_the_exponent(name, at):
    f, h = POWERS[name], 2.0**-10  # numbers that SciPy's float32 exponents hold
    value, slope = jvp(f, (at,), (1.0,))
    np.testing.assert_allclose(value, f(at), atol=1e-12)
    np.testing.assert_allclose(slope, (f(at + h) - f(at - h)) / (2 * h), atol=1e-6)


def test_a_write_to_plain_rotations_says_what_to_write():
    def f(w, is_written):
        r, s = transform.Rotation.from_rotvec(np.eye(3)), transform.Rotation.from_rotvec(w)
        if is_written:
            r[0] = s
        else:
            r = r.concatenate([s, r[1:]])
        return np.sum(r.as_matrix() ** 3)

    with pytest.raises(NotDifferentiableError, match=r"write r = r\.concatenate\(\[s, r\[1:\]\]\)"):
        grad(f)(WEIGHTS, True)
    truth = [(f(WEIGHTS + d, True) - f(WEIGHTS - d, True)) / 2e-6 for d in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(grad(f)(WEIGHTS, False), truth, atol=1e-8)


def test_static_methods_of_transforms():
    of, theirs = rotation.RigidTransform, transform.RigidTransform
    x = theirs.from_exp_coords(SCREW).as_dual_quat()
    f = lambda of, x: of.concatenate([of.from_dual_quat(x), of.identity()]).as_matrix() ** 3
    truth = [(f(theirs, x + d) - f(theirs, x - d)) / 2e-6 for d in 1e-6 * np.eye(8)]
    np.testing.assert_allclose(
        jacobian(lambda x: f(of, x))(x), np.moveaxis(truth, 0, -1), atol=1e-8
    )


def test_the_hessian_of_a_trace_at_the_identity():
    found = hessian(ANGLES["trace"])(np.zeros(3))
    np.testing.assert_allclose(found, -2.0 * np.eye(3), atol=1e-15)
