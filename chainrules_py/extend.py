"""All names that engines and array libraries may import, in addition to the public ones.

An engine or a backend imports `chainrules_py`, the operations in `chainrules_py.ops`, and this
module; everything else is private and may change. Names are resolved on first access (PEP 562), so
that importing this module imports nothing. Type checkers read ``extend.pyi``, which lists the same
names; a test compares the two. docs/extend.md describes each name.

These are the names that a complete engine uses (examples/engine.py); all others serve engines that
are fast, adapters to PyTorch and JAX, and array libraries.

=================  =================================================================================
Tracer             base class of an engine's tracers
new_level          number of a new differentiation, above all that are under way
kind_of            whether a value is real, complex, an integer, or no number
see                imports the aliases of a library when it is first seen
aliases            the aliases of libraries' functions: the call in operations
find_rule          rule for a function and the types of its operands, or None
demand_rule        the same, or an error that says what to write
bind               rule for operands of these types, in one mode, ready to run
partition          splits operands: the selected values, and the tree around them
unflatten          puts values together again by a tree
flatten_tangent    splits a tangent in the order of a tree's values
unflatten_tangent  puts the parts of a tangent together
canonicalize       checks a tangent that was passed, and converts it to its canonical form
check_cotangent    checks the seed of a pullback against the result
=================  =================================================================================
"""

import importlib
from typing import Any

_HOMES: dict[str, str] = {
    "chainrules_py.errors": "ContractError advisers describe refusers",
    "chainrules_py.rule_config": "Always",
    "chainrules_py.values.dispatch_types": (
        "Tracer beside called_beside lazy_array_type number_home number_homes number_readers"
        " set_class stood_for"
    ),
    "chainrules_py.values.caches": "forgets",
    "chainrules_py.values.caller_frames": (
        "caller is_library place_of_call root_module warn_program"
    ),
    "chainrules_py.values.library": "Library Memory",
    "chainrules_py.values.pickling_by_name": "Made by_name made made_again",
    "chainrules_py.values.locks_and_modes": "Lock Mode at_once in_own_context",
    "chainrules_py.values.memory": (
        "has_known_layout makers overlap share_memory undecided viewers wrapping writers"
    ),
    "chainrules_py.values.pytree": (
        "LEAF PLAIN TreeDef build exactly flatten map_leaves partition unflatten"
    ),
    "chainrules_py.values.array_conversion": "as_array as_arrays register_table tables",
    "chainrules_py.values.structure": (
        "as_result equal_to_rounding fields_of is_structure_type made_by_python rebuild "
        "register_leaf structure_of"
    ),
    "chainrules_py.values.random_generators": (
        "is_generator register_generator states with_generators"
    ),
    "chainrules_py.values.object_contents": (
        "attributes cells content elements holds holds_numbers inside parts_of slots"
    ),
    "chainrules_py.values.find_tracers": (
        "call_plain captured differentiates find_tracers hidden highest_tracer in_operations "
        "is_opaque knows moves untraced varies"
    ),
    "chainrules_py.values.type_info": (
        "finite_tests hosts is_mutable_destination namespace namespace_of "
        "refuse_type register_array_type register_host register_scalar_type type_info"
    ),
    "chainrules_py.rules.special.gamma_beta_densities": "beta_density gamma_density",
    "chainrules_py.rules.special.gamma_and_erf": "digamma_rise",
    "chainrules_py.rules.special.orders": "around",
    "chainrules_py.rules.special.quadrature": (
        "WIDE betainc_shape gammainc_shape half_line zeta_shape"
    ),
    "chainrules_py.primitives.closures.convert": (
        "Closure HigherOrder Hole Operator closed closed_and_generators refuse_traced settled"
    ),
    "chainrules_py.primitives.method_table": "Cache invalidate where_defined",
    "chainrules_py.primitives.conversion_advice": (
        "Line advise advised advised_at filled gives in_place lost notes picture refuse_labelled "
        "remedies remedy suggestion told"
    ),
    "chainrules_py.primitives.plugins": (
        "Layer default_compiler default_engine hosted later met see see_all see_operators see_roots"
    ),
    "chainrules_py.primitives.primitive": "is_static static_types",
    "chainrules_py.primitives.aliases.alias": (
        "Alias AsArgument Call Lowering UFUNC_KEYWORDS alias aliases"
    ),
    "chainrules_py.primitives.signature": "REQUIRED parameters_of tell_parameters",
    "chainrules_py.tangents.user_tangent_checks": (
        "check_cotangent deliver leaf_cotangents leaf_tangents own own_all project_exactly"
    ),
    "chainrules_py.tangents.linear_map": "PullInto",
    "chainrules_py.tangents.custom_space": "declares_space register_tangent",
    "chainrules_py.tangents.flatten_tangents": "Opened flatten_tangent unflatten_tangent",
    "chainrules_py.tangents.primal_promotion": "real_numbers",
    "chainrules_py.tangents.primal_results": "brought_home check_result",
    "chainrules_py.tangents.space": "Space StructureSpace fit kind_of spread_given",
    "chainrules_py.tangents.structural": "map_fields",
    "chainrules_py.tangents.sum_to_shape": "Unbroadcast",
    "chainrules_py.tangents.structure_leaves": "Tree mirrored plain",
    "chainrules_py.tangents.zeros": "ZEROS AbstractTangent AbstractZero missing",
    "chainrules_py.tangents.thunks": "Thunk",
    "chainrules_py.tangents.arithmetic": "accumulate canonicalize move scale",
    "chainrules_py.registry.bind.batched_tangents": (
        "basis batched block column count direction gather row zero_block"
    ),
    "chainrules_py.registry.bind.strong_zero": "leaves_out probe_like selects strong_pull",
    "chainrules_py.registry.bind.bind": "Bound Recipe Request annotate bind part",
    "chainrules_py.registry.bind.general": (
        "FruleRecipe OneMode RruleRecipe asks_wanted flowing functions_in given once_more pair_of "
        "refuse_functions whole_operands"
    ),
    "chainrules_py.registry.explain": "demand_rule rules_in",
    "chainrules_py.registry.call_normalization": "scalar_at_home",
    "chainrules_py.registry.constructors": (
        "Types any_types checked_types find_primal register_frule register_rrule state"
    ),
    "chainrules_py.registry.statement_and_rule": "Rule Source Statement",
    "chainrules_py.registry.table": (
        "enter find_rule is_ruleless looked_into name_of on_change primal_of remove unbind"
    ),
    "chainrules_py.tracing.lost_derivative_notes": (
        "Notes comparing note_step shortcuts warn_unused"
    ),
    "chainrules_py.tracing.object_arrays": "MOST_ELEMENTS element_methods joined objects",
    "chainrules_py.tracing.array_like": "ArrayLike innermost new_level",
    "chainrules_py.tracing.conversions": "refuse_exchange refuse_plain",
    "chainrules_py.tracing.creation": "asarray full",
    "chainrules_py.tracing.raised_errors": "explain_error shorten_traceback",
    "chainrules_py.tracing.library_calls": "Site call_native",
    "chainrules_py.tracing.operators": "Classes answer_as in_place_operators",
    "chainrules_py.tracing.foreign_arrays": "asks_first moved read_for",
    "chainrules_py.tracing.trace_call": ("Recorder Settled SettledCalls Trace Unmixed note_rule"),
    "chainrules_py.engines.frule_rrule": "any_engine",
    "chainrules_py.engines.mutation_guard": "Guard GuardMode",
    "chainrules_py.composites.linalg": (
        "adjugate_by_svd cholesky_tangent_standard solve_triangular_standard"
    ),
    "chainrules_kit.fallbacks.elementwise": ("choose_standard nan_to_num_standard unwrap_standard"),
    "chainrules_kit.fallbacks.manipulation_and_creation": "vander_standard",
    "chainrules_kit.fallbacks.linalg_and_polynomials": (
        "dot_standard inner_standard matrix_rank_standard outer_standard roots_standard"
    ),
    "chainrules_kit.fallbacks.reductions": "nanmax_standard nanmin_standard",
    "chainrules_kit.fallbacks.statistics": "interp_standard",
    "chainrules_numpy.composites.indexing": "compress",
    "chainrules_numpy.composites.padding": "pad",
    "chainrules_numpy.composites.reductions": "array_of",
    "chainrules_py.rules.higher_order.odeint": "started",
    "chainrules_py.rules.higher_order.residuals_and_jacobians": "Gradient Residual applied",
    "chainrules_py.ops.hermitian_and_block_matrices": "adjoint",
    "chainrules_py.rules.linalg.linear_systems": "as_given columns",
}
"""Names, by the module that defines them."""

_MODULES = {
    "creation_composites": "chainrules_numpy.composites.creation",
    "decompositions_composites": "chainrules_numpy.composites.decompositions",
    "elementwise_composites": "chainrules_numpy.composites.elementwise",
    "fourier_composites": "chainrules_numpy.composites.fourier",
    "indexing_composites": "chainrules_numpy.composites.indexing",
    "joining_composites": "chainrules_numpy.composites.joining",
    "manipulation_composites": "chainrules_numpy.composites.manipulation",
    "mapping_composites": "chainrules_numpy.composites.mapping",
    "polynomials_composites": "chainrules_numpy.composites.polynomials",
    "products_composites": "chainrules_numpy.composites.products",
    "quantiles_composites": "chainrules_numpy.composites.quantiles",
    "reductions_composites": "chainrules_numpy.composites.reductions",
    "statistics_composites": "chainrules_numpy.composites.statistics",
    "cholesky_rules": "chainrules_py.rules.decompositions.cholesky",
    "entropy_rules": "chainrules_py.rules.sigmoid_softmax_entropy",
    "product_rules": "chainrules_py.rules.linalg.products",
    "solving_rules": "chainrules_py.rules.linalg.linear_systems",
    "reduction_rules": "chainrules_py.rules.reductions",
}
"""Modules that are exported as a whole: composites of NumPy's functions, and halves of rules."""

_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [*_HOME_OF, *_MODULES]  # noqa: PLE0604  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import the object of a name, and cache it."""
    if name in _HOME_OF:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    else:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; see docs/extend.md for what it has"
        )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List what can be imported from here."""
    return sorted(__all__)
