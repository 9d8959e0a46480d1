"""The private names of JAX; no other module of this package uses one.

Each may be missing in another version of JAX; its replacement is defined beside it.
"""

from __future__ import annotations

try:
    import jax  # noqa: F401  # pyright: ignore[reportUnusedImport]  # here, to say what to install
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"chainrules_jax needs JAX ({error}): pip install 'chainrules-py[jax]'", name=error.name
    ) from error

held_weakly: set[type]
try:  # the classes of parameters that JAX's caches hold weakly
    from jax._src.util import weakref_cache_key_types

    held_weakly = weakref_cache_key_types
except ImportError:  # JAX then keeps derivatives until its caches evict them
    held_weakly = set()

try:  # rules by which JAX linearizes primitives
    from jax._src.interpreters.ad import (
        primitive_linearizations as primitive_linearizations,
    )
except ImportError:  # JAX then derives them from ``jax.interpreters.ad.primitive_jvps``
    primitive_linearizations = {}

ARRAY = "jax.jaxlib._jax.Array"
"""The name of ``jax.Array`` in annotations before JAX 0.11."""
