"""The names of JAX's that are not public, and nothing else: no other module here uses one.

Each may be missing in another version of JAX. What stands for it then is said beside it.
"""

from __future__ import annotations

from typing import Any

held_weakly: set[type]
try:  # the classes of parameters that JAX's tables hold weakly
    from jax._src.util import weakref_cache_key_types

    held_weakly = weakref_cache_key_types
except ImportError:  # JAX keeps derivatives until some thousands more have come
    held_weakly = set()

axis_env: Any
no_axes: Any
try:  # the names that axes have where JAX traces, and that of none
    from jax._src.core import top_axis_env, trace_ctx

    axis_env, no_axes = trace_ctx, top_axis_env
except ImportError:  # functions are taken to ask for axes by their names, and run in a new thread
    axis_env = no_axes = None

ARRAY = "jax.jaxlib._jax.Array"
"""The name of ``jax.Array`` before JAX 0.11, as annotations have it."""
