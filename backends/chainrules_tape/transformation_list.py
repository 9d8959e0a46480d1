"""The transformations of the tape, listed for others to run."""

from __future__ import annotations

from chainrules_kit import Transformation, Transformations, nestings
from chainrules_tape.checkpoint.checkpoint_and_policies import checkpoint
from chainrules_tape.functions.grad_vjp_jvp import grad, jvp, linearize
from chainrules_tape.functions.jacobian import hessian, hvp

transformations = Transformations(
    {
        **nestings(grad, lambda f, z, u: jvp(f, (z,), (u,))[1]),
        "linearize": Transformation("slope", lambda f, z, u: linearize(f, z)[1](u)),
        "checkpoint": Transformation("gradient", lambda f, z, u: grad(checkpoint(f))(z)),
        "hvp": Transformation("curvature", lambda f, z, u: hvp(f, (z,), (u,))[0]),
        "hessian": Transformation("curvature", lambda f, z, u: hessian(f)(z) @ u),
    }
)
