# The names of extend.py for type checkers: written from the same table, and compared by a test.

from chainrules_kit.fallbacks.elementwise import (
    choose_standard,
    nan_to_num_standard,
    unwrap_standard,
)
from chainrules_kit.fallbacks.linalg_and_polynomials import (
    dot_standard,
    inner_standard,
    matrix_rank_standard,
    outer_standard,
    roots_standard,
)
from chainrules_kit.fallbacks.manipulation_and_creation import (
    vander_standard,
)
from chainrules_kit.fallbacks.reductions import (
    nanmax_standard,
    nanmin_standard,
)
from chainrules_kit.fallbacks.statistics import (
    interp_standard,
)
from chainrules_numpy.composites import creation as creation_composites
from chainrules_numpy.composites import decompositions as decompositions_composites
from chainrules_numpy.composites import elementwise as elementwise_composites
from chainrules_numpy.composites import fourier as fourier_composites
from chainrules_numpy.composites import indexing as indexing_composites
from chainrules_numpy.composites import joining as joining_composites
from chainrules_numpy.composites import manipulation as manipulation_composites
from chainrules_numpy.composites import mapping as mapping_composites
from chainrules_numpy.composites import polynomials as polynomials_composites
from chainrules_numpy.composites import products as products_composites
from chainrules_numpy.composites import quantiles as quantiles_composites
from chainrules_numpy.composites import reductions as reductions_composites
from chainrules_numpy.composites import statistics as statistics_composites
from chainrules_numpy.composites.indexing import (
    compress,
)
from chainrules_numpy.composites.padding import (
    pad,
)
from chainrules_numpy.composites.reductions import (
    array_of,
)
from chainrules_py.composites.linalg import (
    adjugate_by_svd,
    cholesky_tangent_standard,
    solve_triangular_standard,
)
from chainrules_py.engines.frule_rrule import (
    any_engine,
)
from chainrules_py.engines.mutation_guard import (
    Guard,
    GuardMode,
)
from chainrules_py.errors import (
    ContractError,
    advisers,
    describe,
    refusers,
)
from chainrules_py.ops.hermitian_and_block_matrices import (
    adjoint,
)
from chainrules_py.primitives.aliases.alias import (
    UFUNC_KEYWORDS,
    Alias,
    AsArgument,
    Call,
    Lowering,
    alias,
    aliases,
)
from chainrules_py.primitives.closures.convert import (
    Closure,
    HigherOrder,
    Hole,
    Operator,
    closed,
    closed_and_generators,
    refuse_traced,
    settled,
)
from chainrules_py.primitives.conversion_advice import (
    Line,
    advise,
    advised,
    advised_at,
    filled,
    gives,
    in_place,
    lost,
    notes,
    picture,
    refuse_labelled,
    remedies,
    remedy,
    suggestion,
    told,
)
from chainrules_py.primitives.method_table import (
    Cache,
    invalidate,
    where_defined,
)
from chainrules_py.primitives.plugins import (
    Layer,
    default_compiler,
    default_engine,
    hosted,
    later,
    met,
    see,
    see_all,
    see_operators,
    see_roots,
)
from chainrules_py.primitives.primitive import (
    is_static,
    static_types,
)
from chainrules_py.primitives.signature import (
    REQUIRED,
    parameters_of,
    tell_parameters,
)
from chainrules_py.registry.bind.batched_tangents import (
    basis,
    batched,
    block,
    column,
    count,
    direction,
    gather,
    row,
    zero_block,
)
from chainrules_py.registry.bind.bind import (
    Bound,
    Recipe,
    Request,
    annotate,
    bind,
    part,
)
from chainrules_py.registry.bind.general import (
    FruleRecipe,
    OneMode,
    RruleRecipe,
    asks_wanted,
    flowing,
    functions_in,
    given,
    once_more,
    pair_of,
    refuse_functions,
    whole_operands,
)
from chainrules_py.registry.bind.strong_zero import (
    leaves_out,
    probe_like,
    selects,
    strong_pull,
)
from chainrules_py.registry.call_normalization import (
    scalar_at_home,
)
from chainrules_py.registry.constructors import (
    Types,
    any_types,
    checked_types,
    find_primal,
    register_frule,
    register_rrule,
    state,
)
from chainrules_py.registry.explain import (
    demand_rule,
    rules_in,
)
from chainrules_py.registry.statement_and_rule import (
    Rule,
    Source,
    Statement,
)
from chainrules_py.registry.table import (
    enter,
    find_rule,
    is_ruleless,
    looked_into,
    name_of,
    on_change,
    primal_of,
    remove,
    unbind,
)
from chainrules_py.rule_config import (
    Always,
)
from chainrules_py.rules import reductions as reduction_rules
from chainrules_py.rules import sigmoid_softmax_entropy as entropy_rules
from chainrules_py.rules.decompositions import cholesky as cholesky_rules
from chainrules_py.rules.higher_order.odeint import (
    started,
)
from chainrules_py.rules.higher_order.residuals_and_jacobians import (
    Gradient,
    Residual,
    applied,
)
from chainrules_py.rules.linalg import linear_systems as solving_rules
from chainrules_py.rules.linalg import products as product_rules
from chainrules_py.rules.linalg.linear_systems import (
    as_given,
    columns,
)
from chainrules_py.rules.special.gamma_and_erf import (
    digamma_rise,
)
from chainrules_py.rules.special.gamma_beta_densities import (
    beta_density,
    gamma_density,
)
from chainrules_py.rules.special.orders import (
    around,
)
from chainrules_py.rules.special.quadrature import (
    WIDE,
    betainc_shape,
    gammainc_shape,
    half_line,
    zeta_shape,
)
from chainrules_py.tangents.arithmetic import (
    accumulate,
    canonicalize,
    move,
    scale,
)
from chainrules_py.tangents.custom_space import (
    declares_space,
    register_tangent,
)
from chainrules_py.tangents.flatten_tangents import (
    Opened,
    flatten_tangent,
    unflatten_tangent,
)
from chainrules_py.tangents.linear_map import (
    PullInto,
)
from chainrules_py.tangents.primal_promotion import (
    real_numbers,
)
from chainrules_py.tangents.primal_results import (
    brought_home,
    check_result,
)
from chainrules_py.tangents.space import (
    Space,
    StructureSpace,
    fit,
    kind_of,
    spread_given,
)
from chainrules_py.tangents.structural import (
    map_fields,
)
from chainrules_py.tangents.structure_leaves import (
    Tree,
    mirrored,
    plain,
)
from chainrules_py.tangents.sum_to_shape import (
    Unbroadcast,
)
from chainrules_py.tangents.thunks import (
    Thunk,
)
from chainrules_py.tangents.user_tangent_checks import (
    check_cotangent,
    deliver,
    leaf_cotangents,
    leaf_tangents,
    own,
    own_all,
    project_exactly,
)
from chainrules_py.tangents.zeros import (
    ZEROS,
    AbstractTangent,
    AbstractZero,
    missing,
)
from chainrules_py.tracing.array_like import (
    ArrayLike,
    innermost,
    new_level,
)
from chainrules_py.tracing.conversions import (
    refuse_exchange,
    refuse_plain,
)
from chainrules_py.tracing.creation import (
    asarray,
    full,
)
from chainrules_py.tracing.foreign_arrays import (
    asks_first,
    moved,
    read_for,
)
from chainrules_py.tracing.library_calls import (
    Site,
    call_native,
)
from chainrules_py.tracing.lost_derivative_notes import (
    Notes,
    comparing,
    note_step,
    shortcuts,
    warn_unused,
)
from chainrules_py.tracing.object_arrays import (
    MOST_ELEMENTS,
    element_methods,
    joined,
    objects,
)
from chainrules_py.tracing.operators import (
    Classes,
    answer_as,
    in_place_operators,
)
from chainrules_py.tracing.raised_errors import (
    explain_error,
    shorten_traceback,
)
from chainrules_py.tracing.trace_call import (
    Recorder,
    Settled,
    SettledCalls,
    Trace,
    Unmixed,
    note_rule,
)
from chainrules_py.values.array_conversion import (
    as_array,
    as_arrays,
    register_table,
    tables,
)
from chainrules_py.values.caches import (
    forgets,
)
from chainrules_py.values.caller_frames import (
    caller,
    is_library,
    place_of_call,
    root_module,
    warn_program,
)
from chainrules_py.values.dispatch_types import (
    Tracer,
    beside,
    called_beside,
    lazy_array_type,
    number_home,
    number_homes,
    number_readers,
    set_class,
    stood_for,
)
from chainrules_py.values.find_tracers import (
    call_plain,
    captured,
    differentiates,
    find_tracers,
    hidden,
    highest_tracer,
    in_operations,
    is_opaque,
    knows,
    moves,
    untraced,
    varies,
)
from chainrules_py.values.library import (
    Library,
    Memory,
)
from chainrules_py.values.locks_and_modes import (
    Lock,
    Mode,
    at_once,
    in_own_context,
)
from chainrules_py.values.memory import (
    has_known_layout,
    makers,
    overlap,
    share_memory,
    undecided,
    viewers,
    wrapping,
    writers,
)
from chainrules_py.values.object_contents import (
    attributes,
    cells,
    content,
    elements,
    holds,
    holds_numbers,
    inside,
    parts_of,
    slots,
)
from chainrules_py.values.pickling_by_name import (
    Made,
    by_name,
    made,
    made_again,
)
from chainrules_py.values.pytree import (
    LEAF,
    PLAIN,
    TreeDef,
    build,
    exactly,
    flatten,
    map_leaves,
    partition,
    unflatten,
)
from chainrules_py.values.random_generators import (
    is_generator,
    register_generator,
    states,
    with_generators,
)
from chainrules_py.values.structure import (
    as_result,
    equal_to_rounding,
    fields_of,
    is_structure_type,
    made_by_python,
    rebuild,
    register_leaf,
    structure_of,
)
from chainrules_py.values.type_info import (
    finite_tests,
    hosts,
    is_mutable_destination,
    namespace,
    namespace_of,
    refuse_type,
    register_array_type,
    register_host,
    register_scalar_type,
    type_info,
)

__all__ = [
    "AbstractTangent",
    "AbstractZero",
    "Alias",
    "Always",
    "ArrayLike",
    "AsArgument",
    "Bound",
    "Cache",
    "Call",
    "Classes",
    "Closure",
    "ContractError",
    "FruleRecipe",
    "Gradient",
    "Guard",
    "GuardMode",
    "HigherOrder",
    "Hole",
    "LEAF",
    "Layer",
    "Library",
    "Lock",
    "Line",
    "Lowering",
    "MOST_ELEMENTS",
    "Made",
    "Memory",
    "Mode",
    "Notes",
    "OneMode",
    "Opened",
    "Operator",
    "PLAIN",
    "PullInto",
    "REQUIRED",
    "Recipe",
    "Recorder",
    "Request",
    "Residual",
    "RruleRecipe",
    "Rule",
    "Settled",
    "SettledCalls",
    "Site",
    "Source",
    "Space",
    "Statement",
    "StructureSpace",
    "Thunk",
    "Trace",
    "Tracer",
    "Tree",
    "TreeDef",
    "Types",
    "UFUNC_KEYWORDS",
    "Unbroadcast",
    "Unmixed",
    "WIDE",
    "ZEROS",
    "accumulate",
    "adjoint",
    "adjugate_by_svd",
    "advise",
    "advised",
    "advised_at",
    "advisers",
    "alias",
    "aliases",
    "annotate",
    "answer_as",
    "any_engine",
    "any_types",
    "applied",
    "around",
    "array_of",
    "as_array",
    "as_arrays",
    "as_given",
    "as_result",
    "asarray",
    "asks_first",
    "asks_wanted",
    "at_once",
    "attributes",
    "basis",
    "batched",
    "beside",
    "beta_density",
    "betainc_shape",
    "bind",
    "block",
    "brought_home",
    "build",
    "by_name",
    "call_native",
    "call_plain",
    "caller",
    "called_beside",
    "canonicalize",
    "captured",
    "cells",
    "check_cotangent",
    "check_result",
    "checked_types",
    "cholesky_rules",
    "cholesky_tangent_standard",
    "choose_standard",
    "closed",
    "closed_and_generators",
    "column",
    "columns",
    "comparing",
    "compress",
    "content",
    "count",
    "creation_composites",
    "declares_space",
    "decompositions_composites",
    "default_compiler",
    "default_engine",
    "deliver",
    "demand_rule",
    "describe",
    "differentiates",
    "digamma_rise",
    "direction",
    "dot_standard",
    "element_methods",
    "elements",
    "elementwise_composites",
    "enter",
    "entropy_rules",
    "equal_to_rounding",
    "exactly",
    "explain_error",
    "fields_of",
    "find_primal",
    "filled",
    "find_rule",
    "find_tracers",
    "finite_tests",
    "fit",
    "flatten",
    "flatten_tangent",
    "flowing",
    "forgets",
    "fourier_composites",
    "full",
    "functions_in",
    "gamma_density",
    "gammainc_shape",
    "gather",
    "given",
    "gives",
    "half_line",
    "has_known_layout",
    "hidden",
    "highest_tracer",
    "holds",
    "holds_numbers",
    "hosted",
    "hosts",
    "in_own_context",
    "in_place",
    "in_place_operators",
    "in_operations",
    "indexing_composites",
    "inner_standard",
    "innermost",
    "inside",
    "interp_standard",
    "invalidate",
    "is_generator",
    "is_library",
    "is_mutable_destination",
    "is_opaque",
    "is_ruleless",
    "is_static",
    "is_structure_type",
    "joined",
    "joining_composites",
    "kind_of",
    "knows",
    "later",
    "lazy_array_type",
    "leaf_cotangents",
    "leaf_tangents",
    "leaves_out",
    "looked_into",
    "lost",
    "made",
    "made_again",
    "made_by_python",
    "makers",
    "manipulation_composites",
    "map_fields",
    "map_leaves",
    "mapping_composites",
    "matrix_rank_standard",
    "met",
    "mirrored",
    "missing",
    "move",
    "moved",
    "moves",
    "name_of",
    "namespace",
    "namespace_of",
    "nan_to_num_standard",
    "nanmax_standard",
    "nanmin_standard",
    "new_level",
    "note_rule",
    "note_step",
    "notes",
    "number_home",
    "number_homes",
    "number_readers",
    "objects",
    "on_change",
    "once_more",
    "outer_standard",
    "overlap",
    "picture",
    "own",
    "own_all",
    "pad",
    "pair_of",
    "parameters_of",
    "part",
    "partition",
    "parts_of",
    "place_of_call",
    "plain",
    "polynomials_composites",
    "primal_of",
    "probe_like",
    "product_rules",
    "products_composites",
    "project_exactly",
    "quantiles_composites",
    "read_for",
    "real_numbers",
    "rebuild",
    "reduction_rules",
    "reductions_composites",
    "refuse_exchange",
    "refuse_functions",
    "refuse_labelled",
    "refuse_plain",
    "refuse_traced",
    "refuse_type",
    "refusers",
    "register_array_type",
    "register_frule",
    "register_generator",
    "register_host",
    "register_leaf",
    "register_rrule",
    "register_scalar_type",
    "register_table",
    "register_tangent",
    "remedies",
    "remedy",
    "remove",
    "root_module",
    "roots_standard",
    "row",
    "rules_in",
    "scalar_at_home",
    "scale",
    "see",
    "see_all",
    "see_operators",
    "see_roots",
    "selects",
    "set_class",
    "settled",
    "share_memory",
    "shortcuts",
    "shorten_traceback",
    "slots",
    "solve_triangular_standard",
    "solving_rules",
    "spread_given",
    "started",
    "state",
    "states",
    "static_types",
    "statistics_composites",
    "stood_for",
    "strong_pull",
    "structure_of",
    "suggestion",
    "tables",
    "tell_parameters",
    "told",
    "type_info",
    "unbind",
    "undecided",
    "unflatten",
    "unflatten_tangent",
    "untraced",
    "unwrap_standard",
    "vander_standard",
    "varies",
    "viewers",
    "warn_program",
    "warn_unused",
    "where_defined",
    "whole_operands",
    "with_generators",
    "wrapping",
    "writers",
    "zero_block",
    "zeta_shape",
]
