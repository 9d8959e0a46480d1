"""What a function that gives a derivative says of itself: its docstring and its signature."""

from __future__ import annotations

import functools
import inspect
import pickle
import typing

import pytest

from chainrules_tape import grad, hessian, jacobian, value_and_grad


def area(width: float, height: int = 2, *, unit: str = "m") -> float:
    """Return the area.

    Returns
    -------
    float
        It.
    """
    return width * height


@pytest.mark.parametrize(
    "made, summary",
    [
        (grad(area), "Compute the gradient of area in argument 0."),
        (grad(area, 1), "Compute the gradient of area in argument 1."),
        (grad(area, -1), "Compute the gradient of area in argument -1."),
        (grad(area, argnames="unit"), "Compute the gradient of area in argument unit."),
        (grad(area, (0, 1)), "Compute the gradient of area in arguments 0, 1."),
        (grad(area, has_aux=True), "Compute the gradient of area in argument 0."),
        (grad(area, 5), "Compute the gradient of area in argument 5."),
        (value_and_grad(area), "Compute the value and gradient of area in argument 0."),
        (jacobian(area), "Compute the Jacobian of area in argument 0."),
        (hessian(area), "Compute the Hessian of area in argument 0."),
    ],
)
def test_it_says_what_it_computes(made, summary):
    first, takes, of_area = inspect.getdoc(made).split("\n\n")
    assert first == summary
    assert takes.startswith("Takes what area takes, and returns ")
    assert of_area == "area: Return the area."
    signature = inspect.signature(made)
    assert signature.return_annotation is inspect.Signature.empty
    assert signature.parameters == inspect.signature(area).parameters
    assert inspect.getfullargspec(made).args == ["width", "height"]
    assert typing.get_type_hints(made) == {"width": float, "height": int, "unit": str}
    assert repr(made) == f"<{made.recipe[0].__name__} of area>"
    assert made.__name__ == "area"
    assert pickle.loads(pickle.dumps(made)).__doc__ == made.__doc__


def test_of_a_function_without_docstring_annotations_or_name():
    slope = grad(lambda x: x * x)
    assert inspect.getdoc(slope) == (
        "Compute the gradient of <lambda> in argument 0.\n\nTakes what <lambda> takes, and returns "
        "the gradient, with the structure of what it is taken in."
    )
    assert str(inspect.signature(slope)) == "(x)"
    assert inspect.getdoc(grad(functools.partial(area, height=3))).startswith("Compute the gradi")


def test_wraps_takes_it_along():
    @functools.wraps(grad(area))
    def slope(*args, **options):
        return grad(area)(*args, **options)

    assert slope.__doc__ == grad(area).__doc__
    assert inspect.signature(slope) == inspect.signature(grad(area))
    assert slope(2.0, height=3) == 3.0
