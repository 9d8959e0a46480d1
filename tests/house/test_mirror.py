"""Tests mirror the code: every module has a test file in its place, or stands in a stated list."""

from __future__ import annotations

import ast
import functools
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The longest that fits counts: the rules and the judge are no part of tests/core.
PLACES = {
    "chainrules_py": "tests/core",
    "chainrules_py/rules": "tests/rules",
    "chainrules_py/testing": "tests/testing",
    "backends/chainrules_autograd/engine": "tests/engines/autograd/engine",
    "backends/chainrules_kit": "tests/engines/kit",
    "chainrules_py/cli": "tests/cli",
    "backends/chainrules_kit/custom_derivatives": "tests/engines/kit/custom_derivatives",
    "backends/chainrules_compile": "tests/engines/compile",
    "backends/chainrules_cupy": "tests/libraries/cupy",
    "backends/chainrules_dask": "tests/libraries/dask",
    "chainrules_py/testing/diagnosis": "tests/testing",
    "backends/chainrules_kit/fallbacks": "tests/core/composites",
    "backends/chainrules_tape/pictures": "tests/tape/inspect",
    "chainrules_py/testing/everywhere": "tests/testing",
    "backends/chainrules_jax": "tests/engines/jax",
    "backends/chainrules_autograd": "tests/engines/autograd",
    "backends/chainrules_mlx": "tests/libraries/mlx",
    "backends/chainrules_engines": "tests/engines/thin",
    "backends/chainrules_compile/c": "tests/engines/compile/c",
    "backends/chainrules_numpy": "tests/libraries/numpy",
    "backends/chainrules_scipy": "tests/libraries/scipy",
    "backends/chainrules_kit/solvers": "tests/engines/kit/solvers",
    "chainrules_py/testing/array_api_strict": "tests/testing/array_api_strict",
    "backends/chainrules_tape": "tests/tape",
    "backends/chainrules_tape/tools": "tests/features",
    "backends/chainrules_torch": "tests/engines/torch",
}
# Modules without a test file in their place: what, which file tests it instead, why. The first that
# fits counts; `*` is for all of a folder.
USERS = "it is called as users call NumPy, and judged with the rules that it is made of"
TABLE = "rows of a table: every call that was entered for them is judged"
OPERATIONS = "declarations of operations: a sample of every operation is judged"
ROOM = "the files of the folder are one thing to whom calls it"
SAMPLES = "how operations are computed: samples of every operation run there"
ELSEWHERE = (
    # ------------------------------------------------------------------------------ the core
    (
        "chainrules_py/rule_config.py",
        "tests/core/primitives/closures/test_closures.py",
        "what an engine can do is asked there",
    ),
    (
        "chainrules_py/debug_hooks.py",
        "tests/testing/test_debug_mode.py",
        "by the checks that it calls",
    ),
    (
        "chainrules_py/values/pickling_by_name.py",
        "tests/faults/test_pickles.py",
        "by what is pickled and read again",
    ),
    (
        "chainrules_py/values/locks_and_modes.py",
        "tests/faults/test_modes.py",
        "by blocks that overlap",
    ),
    (
        "chainrules_py/values/memory.py",
        "tests/tape/array_writes/test_guard.py",
        "what locks is who asks it",
    ),
    (
        "chainrules_py/values/find_tracers.py",
        "tests/core/primitives/closures/test_closures.py",
        "by values that are searched",
    ),
    (
        "chainrules_py/ops/engine_operations.py",
        "tests/tape/array_writes/test_view.py",
        "by views that are written through",
    ),
    ("chainrules_py/ops/*", "tests/testing/test_samples.py", OPERATIONS),
    (
        "chainrules_py/tangents/sum_to_shape.py",
        "tests/core/tangents/test_space.py",
        "projection sums",
    ),
    (
        "chainrules_py/tangents/linear_map.py",
        "tests/core/engines/test_frule_rrule.py",
        "pullbacks are such maps",
    ),
    (
        "chainrules_py/tangents/*",
        "tests/core/tangents/test_tangents.py",
        "one algebra, whose laws stand side by side",
    ),
    (
        "chainrules_py/registry/bind/*",
        "tests/core/engines/test_frule_rrule.py",
        "whoever asks for a derivative binds",
    ),
    (
        "backends/chainrules_kit/rerun_checks.py",
        "tests/faults/test_pickles.py",
        "by what is made in another process",
    ),
    (
        "backends/chainrules_kit/rule_config.py",
        "tests/engines/torch/test_given_functions.py",
        "by the solvers that ask an engine for derivatives",
    ),
    (
        "backends/chainrules_kit/custom_derivatives/*",
        "tests/engines/kit/custom_derivatives/test_custom_derivatives.py",
        ROOM,
    ),
    ("chainrules_py/cli/*", "tests/cli/test_commands.py", "by the commands"),
    ("chainrules_py/__init__.py", "tests/house/test_face.py", "it is the face"),
    ("chainrules_py/__main__.py", "tests/cli/test_commands.py", "it is the command"),
    ("backends/chainrules_compile/c/*", "tests/engines/compile/c/test_c.py", ROOM),
    ("backends/chainrules_compile/passes/*", "tests/engines/compile/test_passes.py", ROOM),
    ("backends/chainrules_compile/*", "tests/engines/compile/test_compiled.py", ROOM),
    (
        "chainrules_py/registry/*",
        "tests/core/registry/test_table.py",
        "what is stated is found, told and checked there",
    ),
    (
        "chainrules_py/tracing/array_like.py",
        "tests/core/tracing/test_operators.py",
        "its members are the operators",
    ),
    ("chainrules_py/tracing/creation.py", "tests/rules/test_creation.py", USERS),
    (
        "chainrules_py/tracing/*",
        "tests/core/tracing/test_library_calls.py",
        "programs meet all of them",
    ),
    (
        "backends/chainrules_numpy/composites/creation.py",
        "tests/rules/test_creation.py",
        USERS,
    ),
    ("chainrules_py/composites/linalg.py", "tests/rules/decompositions/test_svd.py", USERS),
    (
        "backends/chainrules_numpy/composites/elementwise.py",
        "tests/rules/test_elementwise.py",
        USERS,
    ),
    (
        "chainrules_py/composites/higher_order.py",
        "tests/programs/test_constrained.py",
        "a list of names, imported from there",
    ),
    (
        "backends/chainrules_numpy/composites/mapping.py",
        "tests/rules/higher_order/test_map_reduce_scan.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/indexing.py",
        "tests/rules/test_indexing.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/joining.py",
        "tests/rules/test_joining.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/manipulation.py",
        "tests/rules/test_manipulation.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/polynomials.py",
        "tests/rules/test_polynomials.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/products.py",
        "tests/rules/linalg/test_linalg.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/quantiles.py",
        "tests/rules/test_statistics.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/reductions.py",
        "tests/rules/test_reductions.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/statistics.py",
        "tests/rules/test_statistics.py",
        USERS,
    ),
    (
        "backends/chainrules_numpy/composites/*",
        "tests/libraries/numpy/test_surface.py",
        TABLE,
    ),
    ("backends/chainrules_kit/fallbacks/*", "tests/core/composites/test_fallbacks.py", ROOM),
    ("chainrules_py/composites/*", "tests/libraries/numpy/test_surface.py", TABLE),
    # ----------------------------------------------------------------------------- the rules
    (
        "chainrules_py/rules/linalg/*",
        "tests/rules/linalg/test_linalg.py",
        "products, solving and matrices call each other",
    ),
    (
        "chainrules_py/rules/higher_order/residuals_and_jacobians.py",
        "tests/rules/higher_order/test_implicit.py",
        "by the rules that are made of them",
    ),
    (
        "chainrules_py/rules/special/bessel_and_hypergeometric.py",
        "tests/rules/special/test_special.py",
        ROOM,
    ),
    (
        "chainrules_py/rules/support/spectra.py",
        "tests/rules/decompositions/test_eigen.py",
        "by the rules that it helps",
    ),
    (
        "chainrules_py/rules/support/batching_rules.py",
        "tests/rules/decompositions/test_qr.py",
        "by the rules that it helps",
    ),
    (
        "chainrules_py/rules/*",
        "tests/testing/test_samples.py",
        "short rules: every sample of their operations is judged",
    ),
    # ----------------------------------------------------------------------------- the judge
    (
        "chainrules_py/testing/__init__.py",
        "tests/testing/test_everywhere.py",
        "by the name that it finds",
    ),
    (
        "chainrules_py/testing/samples/*",
        "tests/testing/test_samples.py",
        "data: every sample is a test",
    ),
    (
        "chainrules_py/testing/cases/unsupported_operations.py",
        "tests/testing/test_samples.py",
        "each is tried, and is refused",
    ),
    ("chainrules_py/testing/pytest_samples.py", "tests/testing/test_plugin.py", "tests for pytest"),
    (
        "chainrules_py/testing/cases/calls_from_samples.py",
        "tests/testing/test_sample_runs.py",
        "runs build their calls",
    ),
    ("chainrules_py/testing/cases/*", "tests/testing/test_check.py", "what a check is made of"),
    (
        "chainrules_py/testing/report/summary.py",
        "tests/testing/test_sample_runs.py",
        "sums are of runs",
    ),
    (
        "chainrules_py/testing/report/*",
        "tests/testing/planted/test_wrong.py",
        "each wrong rule is called by its name",
    ),
    (
        "chainrules_py/testing/checks/*",
        "tests/testing/planted/test_wrong.py",
        "each check finds what it is for",
    ),
    (
        "chainrules_py/testing/call_arguments.py",
        "tests/testing/test_check.py",
        "operands are filled in before a check",
    ),
    ("chainrules_py/testing/errors.py", "tests/testing/test_check.py", "the answers of checks"),
    # ---------------------------------------------------------------------------- the libraries
    (
        "backends/chainrules_numpy/function_aliases/*",
        "tests/libraries/numpy/test_surface.py",
        TABLE,
    ),
    (
        "backends/chainrules_numpy/masked_array_advice.py",
        "tests/libraries/numpy/test_refused_array_types.py",
        ROOM,
    ),
    (
        "backends/chainrules_numpy/array_types.py",
        "tests/libraries/numpy/test_add_rows.py",
        "what is not NumPy's own in it",
    ),
    (
        "backends/chainrules_numpy/memory.py",
        "tests/tape/array_writes/test_guard.py",
        "what locks is who asks it",
    ),
    (
        "backends/chainrules_numpy/in_place_functions.py",
        "tests/tape/array_writes/test_writes_and_views.py",
        "writes are the tape's",
    ),
    ("backends/chainrules_numpy/ufunc_methods.py", "tests/libraries/numpy/test_ufuncs.py", ROOM),
    (
        "backends/chainrules_numpy/broadcast_sums.py",
        "tests/libraries/numpy/test_adjoints.py",
        "adjoints use it",
    ),
    (
        "backends/chainrules_numpy/keyword_lowerings.py",
        "tests/libraries/numpy/test_late_alias.py",
        "rows are lowered by it",
    ),
    ("backends/chainrules_numpy/methods.py", "tests/libraries/numpy/test_surface.py", TABLE),
    (
        "backends/chainrules_numpy/*",
        "tests/testing/test_samples.py",
        SAMPLES,
    ),
    ("backends/chainrules_cupy/aliases.py", "tests/libraries/cupy/test_surface.py", TABLE),
    ("backends/chainrules_cupy/*", "tests/libraries/cupy/test_cupy.py", ROOM),
    ("backends/chainrules_dask/*", "tests/libraries/dask/test_dask.py", ROOM),
    ("backends/chainrules_scipy/linalg.py", "tests/libraries/scipy/test_surface.py", TABLE),
    ("backends/chainrules_scipy/sparse/*", "tests/libraries/scipy/sparse/test_sparse.py", ROOM),
    ("backends/chainrules_scipy/*", "tests/libraries/scipy/test_scipy.py", ROOM),
    (
        "backends/chainrules_kit/solvers/runge_kutta.py",
        "tests/engines/kit/solvers/test_ode_integration.py",
        "an integration is made of steps",
    ),
    (
        "backends/chainrules_kit/solvers/*",
        "tests/engines/kit/solvers/test_implementations.py",
        ROOM,
    ),
    (
        "backends/chainrules_kit/*",
        "tests/engines/kit/test_call_resolution.py",
        "exported functions have entries",
    ),
    (
        "chainrules_py/testing/array_api_strict/*",
        "tests/testing/array_api_strict/test_array_api_strict.py",
        ROOM,
    ),
    # ------------------------------------------------------------------------------ the engines
    ("backends/chainrules_autograd/engine/*", "tests/engines/autograd/engine/test_engine.py", ROOM),
    (
        "backends/chainrules_jax/engine/derivative_choice.py",
        "tests/engines/jax/engine/test_callback.py",
        "callbacks compute on the host",
    ),
    (
        "backends/chainrules_jax/engine/*",
        "tests/engines/jax/test_battery.py",
        "what is exported meets every transformation",
    ),
    (
        "backends/chainrules_jax/arrays/odes.py",
        "tests/engines/jax/test_functions.py",
        "operations that are given functions",
    ),
    (
        "backends/chainrules_jax/arrays/solve.py",
        "tests/engines/jax/test_functions.py",
        "operations that are given functions",
    ),
    ("backends/chainrules_jax/arrays/*", "tests/testing/test_samples.py", SAMPLES),
    ("backends/chainrules_jax/*", "tests/engines/jax/arrays/test_arrays.py", ROOM),
    (
        "backends/chainrules_torch/engine/opaque_programs.py",
        "tests/engines/torch/test_programs.py",
        "solvers and kernels run apart",
    ),
    (
        "backends/chainrules_torch/engine/derivative_choice.py",
        "tests/engines/torch/test_numpy.py",
        "NumPy computes on the host",
    ),
    ("backends/chainrules_torch/engine/*", "tests/engines/torch/test_torch.py", ROOM),
    ("backends/chainrules_torch/*", "tests/testing/test_samples.py", SAMPLES),
    ("backends/chainrules_mlx/engine/*", "tests/libraries/mlx/engine/test_export.py", ROOM),
    ("backends/chainrules_mlx/*", "tests/libraries/mlx/test_mlx.py", ROOM),
    (
        "backends/chainrules_autograd/*",
        "tests/engines/autograd/test_autograd.py",
        ROOM,
    ),
    (
        "backends/chainrules_engines/*",
        "tests/engines/thin/test_thin.py",
        "thin exporters have one table",
    ),
    ("chainrules_py/testing/diagnosis/*", "tests/testing/test_diagnosis.py", ROOM),
    ("chainrules_py/testing/everywhere/*", "tests/testing/test_everywhere.py", ROOM),
    # -------------------------------------------------------------------------------- the tape
    (
        "backends/chainrules_tape/__init__.py",
        "tests/features/sparsity/test_sparse_jacobian.py",
        "names of sparse Jacobians are imported on first use",
    ),
    (
        "backends/chainrules_tape/tape.py",
        "tests/tape/core/test_bare_tape.py",
        "what is plugged together is the tape",
    ),
    (
        "backends/chainrules_tape/rule_config.py",
        "tests/tape/core/test_bare_tape.py",
        "its settings are the tape's",
    ),
    (
        "backends/chainrules_tape/transformation_list.py",
        "tests/testing/test_everywhere.py",
        "all of it is run there",
    ),
    ("backends/chainrules_tape/tools/*", "tests/features/test_tools.py", ROOM),
    ("backends/chainrules_tape/checkpoint/*", "tests/tape/test_checkpoint.py", ROOM),
    ("backends/chainrules_tape/core/*", "tests/tape/core/test_bare_tape.py", ROOM),
    (
        "backends/chainrules_tape/array_writes/*",
        "tests/tape/array_writes/test_writes_and_views.py",
        ROOM,
    ),
    (
        "backends/chainrules_tape/forward/*",
        "tests/tape/functions/test_grad_vjp_jvp.py",
        "by the functions that run them",
    ),
    (
        "backends/chainrules_tape/functions/*",
        "tests/tape/functions/test_grad_vjp_jvp.py",
        "by the functions that are called",
    ),
)
# Test files that mirror no module, and what they are about.
TOPICS = {
    "tests/tape/fast/test_floats.py": "floats that go through NumPy's functions",
    "tests/tape/fast/test_recorders.py": "what records of calls read of arrays",
    "tests/tape/functions/test_derivative.py": "what functions that give derivatives say of them",
    "tests/tape/functions/test_unused.py": "parameters that the result does not depend on",
    "tests/engines/[jt]*/engine/test_private.py": "private names that a version lacks",
    "tests/core/registry/test_ordinary_rules.py": "rules of people as people write them",
    "tests/core/tangents/test_keys.py": "keys that a dict has not",
    "tests/core/tracing/test_shortcuts.py": "formulas where an argument equals one number",
    "tests/engines/test_signatures.py": "signatures of exported functions",
    "tests/rules/higher_order/test_ordinary.py": "what ordinary functions do in words",
    "tests/tape/functions/test_lost.py": "reports of what a function lost",
    "tests/tape/functions/test_shifts.py": "extremes that a function subtracts",
    "tests/libraries/numpy/test_constants_beside.py": "what NumPy computes of constants",
    "tests/engines/torch/test_given_functions.py": "what operations give to functions",
    "tests/engines/test_unstated_entries.py": "entries without a derivative",
    "tests/libraries/test_transposed.py": "pullbacks by their seeds, pushes by their tangents",
    "tests/engines/compile/test_beside_fields.py": "what an argument holds beside its fields",
    "tests/engines/compile/test_asked.py": "questions for classes and texts, a generator",
    "tests/engines/compile/test_outside.py": "what functions keep, change and give besides arrays",
    "tests/engines/compile/test_orders.py": "orders in memory of results, a generator",
    "tests/engines/compile/test_within.py": "compiled functions within others, a generator",
    "tests/libraries/mlx/engine/test_nestings.py": "transformations of MLX's in each other",
    "tests/core/values/test_derived.py": "attributes that constructors compute of the fields",
    "tests/core/values/test_relinked.py": "structures whose objects refer to themselves",
    "tests/engines/compile/test_rules_anew.py": "rules that other threads state meanwhile",
    "tests/engines/compile/test_cold.py": "programs of fresh processes, a generator",
    "tests/engines/compile/test_installed.py": "values of what SciPy computes, a generator",
    "tests/engines/compile/test_foreign.py": "forms that depend on numbers, a generator",
    "tests/libraries/scipy/test_checks.py": "what SciPy checks of numbers, compiled, a generator",
    "tests/engines/compile/test_stores.py": "attributes that are stored, and read by others",
    "tests/engines/compile/test_dtypes.py": "dtypes that are equal and another object, a generator",
    "tests/engines/compile/test_places.py": "places that arrays hold, in whole programs",
    "tests/engines/compile/test_counts.py": "whole numbers wherever NumPy takes one, a generator",
    "tests/engines/compile/test_distributions.py": "likelihoods of scipy.stats, a generator",
    "tests/engines/compile/test_forms.py": "shapes and dtypes of all functions, a generator",
    "tests/engines/compile/test_saved_samples.py": "saved modules of all samples, a generator",
    "tests/engines/compile/test_samples.py": "samples of operations in rare forms, a generator",
    "tests/engines/compile/test_degenerate.py": "0-d arrays, in the source of all operations",
    "tests/engines/compile/test_bits.py": "bits of numbers and products behind all passes",
    "tests/engines/compile/test_options.py": "options of rewritten operations, a generator",
    "tests/engines/compile/test_plain_numbers.py": "passes/python_scalars.py, whose cases are many",
    "tests/engines/compile/test_rows.py": "scatter_add and short_sums, in whole programs",
    "tests/engines/compile/test_opaque.py": "objects that primitives alone take",
    "tests/engines/compile/test_first_points.py": "compiled at one point, called at another",
    "tests/engines/compile/test_said.py": "what NumPy says while a program runs",
    "tests/engines/compile/test_recomputation.py": "checkpoints: engine, passes and memory",
    "tests/engines/compile/test_others.py": "libraries that make plain arrays of what is noted",
    "tests/engines/compile/test_exported.py": "compiled functions on arrays of engines",
    "tests/engines/compile/test_scan_forms.py": "forms and layouts in scans, a generator",
    "tests/engines/compile/test_scan.py": "scans recorded by one turn: rules, passes and writer",
    "tests/engines/compile/c/test_long.py": "straight lines of many calls in C",
    "tests/engines/compile/test_strong_zeros.py": "zeros known by structure, at several points",
    "tests/engines/compile/test_known_zeros.py": "passes/known_zeros.py, with infinite factors",
    "tests/engines/compile/c/test_accuracy.py": "the table of accuracy of native programs",
    "tests/engines/compile/c/test_complex.py": "native programs with complex numbers between",
    "tests/engines/compile/c/test_layouts.py": "operations in any layout, a generator",
    "tests/engines/compile/c/test_threads.py": "native programs on several threads",
    "tests/engines/compile/c/test_sanitized.py": "native programs under sanitizers",
    "tests/core/registry/test_concurrency.py": "registering and looking up at the same time",
    "tests/libraries/numpy/test_result_classes.py": "classes and dtypes of results, a generator",
    "tests/libraries/numpy/test_numbers_of_classes.py": "members of enumerations beside arrays",
    "tests/rules/test_constants.py": "one convention for all spreads",
    "tests/rules/test_kinks.py": "one convention for all operations",
    "tests/rules/higher_order/test_nestings.py": "one convention for all operations",
    "tests/rules/decompositions/test_svd_degenerate.py": "the second half of test_svd",
    "tests/testing/test_false_alarms.py": "the judge over all operations",
    "tests/testing/test_found.py": "what the judge found in the library",
    "tests/testing/test_kinks.py": "the judge at kinks",
    "tests/testing/planted/test_right.py": "right rules, none of which is called wrong",
    "tests/testing/planted/test_wrong.py": "wrong rules, each called by its name",
    "tests/testing/test_missed.py": "what was missed, or called wrong without reason",
    "tests/testing/test_planted.py": "what can be asked besides one default call",
    "tests/testing/test_places.py": "rules of places, masks and distances that are judged",
    "tests/testing/test_second_order.py": "derivatives of derivatives that need not exist",
    "tests/core/primitives/test_packages.py": "packages of rules, as an outsider installs them",
    "tests/tape/test_counts.py": "what operations cost, counted",
    "tests/tape/fast/test_unplugged.py": "the tape without each file of the room, bit for bit",
    "tests/tape/functions/test_handed_in.py": "every wrong form, in every door",
    "tests/tape/functions/test_seeds_of_libraries.py": "seeds of each library at values of each",
    "tests/tape/functions/test_holders.py": "what hides numbers, of all libraries, in every door",
    "tests/tape/functions/test_given_back.py": "what results hide in objects, in every mode",
    "tests/libraries/numpy/test_tables_as_seeds.py": "tables as tangents, in every door",
    "tests/tape/functions/test_stopped.py": "whatever may hold what is stopped, in both doors",
    "tests/tape/test_ownership.py": "whose memory is handed out, by every function",
    "tests/tape/functions/test_ended.py": "what is kept of a differentiation inside",
    "tests/tape/functions/test_aliases.py": "random programs with several names for one memory",
    "tests/tape/functions/test_zeros.py": "passes that are played again, with strong zeros",
    "tests/tape/core/test_cotangents.py": "sums of cotangents, and whose memory they are",
    "tests/tape/array_writes/test_aliases.py": "random programs that write",
    "tests/tape/array_writes/test_view.py": "views, and writes that are seen through them",
    "tests/tape/array_writes/test_inplace.py": "whole programs that write",
    "tests/tape/array_writes/test_guard.py": "the guard, as programs on a tape meet it",
    "tests/tape/array_writes/test_reads.py": "what watching over arrays costs, in reads and frames",
    "tests/libraries/test_fourth_library.py": "a library that nobody has heard of",
    "tests/libraries/numpy/test_add_rows.py": "one operation, which NumPy has not",
    "tests/libraries/numpy/test_bits.py": "traced values are NumPy's, bit for bit",
    "tests/libraries/numpy/test_found.py": "what was found and mended",
    "tests/libraries/numpy/test_views_written.py": "all that NumPy gives a view for, written to",
    "tests/libraries/numpy/test_hostile_memory.py": "operands laid out as nobody would",
    "tests/libraries/cupy/test_bad_calls.py": "what is said where there is no device",
    "tests/libraries/cupy/test_kernels.py": "kernels written by hand, and benchmarks",
    "tests/libraries/cupy/test_cupy_on_host.py": "what stands for the device",
    "tests/libraries/*/test_surface.py": "every call that was entered",
    "tests/libraries/scipy/test_ends.py": "derivatives at the ends of functions and distributions",
    "tests/libraries/scipy/test_flows.py": "differential equations, in what they cost too",
    "tests/libraries/scipy/test_foreign.py": "other libraries' arrays, under installed names",
    "tests/libraries/scipy/test_forms.py": "stacks of matrices, bands, counts of frequencies",
    "tests/libraries/scipy/test_hard_points.py": "special functions against fifty digits",
    "tests/libraries/scipy/test_objects.py": "objects that hold traced numbers, as options",
    "tests/libraries/scipy/test_operands.py": "ufuncs of whole numbers, and of Python's",
    "tests/libraries/scipy/test_options.py": "options and methods of SciPy's, traced",
    "tests/libraries/scipy/test_regions.py": "special functions in all regions of their parameters",
    "tests/libraries/scipy/test_values.py": "values of special functions, traced and plain",
    "tests/libraries/scipy/test_precision.py": "the precision of results, as SciPy's",
    "tests/engines/kit/solvers/test_minima.py": "saddle points and maxima, which minimize refuses",
    "tests/libraries/scipy/sparse/test_engines.py": "elements of PyTorch, JAX and MLX",
    "tests/libraries/scipy/sparse/test_layouts.py": "elements of sparse arrays, where they lie",
    "tests/libraries/scipy/sparse/test_forms.py": "kinds and shapes of results, a generator",
    "tests/libraries/scipy/sparse/test_results.py": "functions that give sparse arrays",
    "tests/libraries/scipy/test_numbers.py": "results of one number, and their classes",
    "tests/libraries/scipy/test_weighted.py": "logsumexp with weights",
    "tests/libraries/scipy/test_samples.py": "SciPy as people write it, and the table of its names",
    "tests/engines/test_contradiction.py": "rules that contradict their function, in all engines",
    "tests/engines/test_flat.py": "what gradients leave behind, in every engine",
    "tests/engines/test_refusals.py": "what engines refuse, and the remedies they name",
    "tests/engines/test_rows.py": "exported functions of NumPy and SciPy, in PyTorch and JAX",
    "tests/engines/torch/test_surroundings.py": "exports in what programs put around a call",
    "tests/engines/torch/test_quick.py": "the short way of eager calls",
    "tests/engines/test_results_that_hide.py": "what results hide from rules, in every engine",
    "tests/engines/jax/engine/test_callback_dtypes.py": "dtypes of what is called back",
    "tests/engines/jax/engine/test_narrow.py": "numbers that NumPy has not",
    "tests/engines/test_rules_by_numpy.py": "halves that compute with NumPy, in PyTorch and JAX",
    "tests/engines/test_black_boxes.py": "programs of a page",
    "tests/engines/test_missing_engines.py": "adapters whose engine is not installed",
    "tests/engines/test_imported.py": "functions of engines as rules",
    "tests/engines/test_first_seen.py": "an engine that is first seen in what a function captured",
    "tests/engines/test_imported_captures.py": "what imported functions captured, in all engines",
    "tests/engines/test_functions_in_rules.py": "rules that drop a function's derivative",
    "tests/engines/test_hooks.py": "hooks on operations, in engines that compute these",
    "tests/engines/torch/test_rules_that_leave.py": "rules that compute with NumPy",
    "tests/engines/torch/test_written_down.py": "programs that PyTorch writes down",
    "tests/engines/test_left.py": "an array of NumPy's on the left of an engine's",
    "tests/engines/test_layouts.py": "arrays of any layout where they become another engine's",
    "tests/engines/test_bodies_of_numpy.py": "bodies in NumPy's operations, in PyTorch and MLX",
    "tests/engines/jax/engine/test_literals.py": "numbers that JAX hands on, wherever they enter",
    "tests/engines/test_callable_structures.py": "dataclasses that can be called, as operands",
    "tests/engines/test_wrapping.py": "whole numbers that wrap, in every engine",
    "tests/engines/test_whole_numbers.py": "whole numbers that imported functions are given",
    "tests/engines/frameworks/test_programs.py": "programs of other frameworks, beside their own",
    "tests/engines/test_bare.py": "functions of libraries that nothing is stated of, exported",
    "tests/engines/test_misfits.py": "calls that what is stated does not fit, in all engines",
    "tests/engines/test_leaving.py": "bodies and rules that leave an engine, in PyTorch and JAX",
    "tests/engines/test_stated_between.py": "a rule that is stated between call and derivative",
    "tests/engines/test_zeros_of_frules.py": "zeros that are written out, in several engines",
    "tests/engines/test_unstated.py": "derivatives that nobody has stated, in all engines",
    "tests/engines/jax/engine/test_names.py": "functions that name an axis",
    "tests/engines/jax/engine/test_transposed.py": "rules that JAX transposes",
    "tests/engines/*/test_battery.py": "the battery in every transformation of the engine",
    "tests/engines/jax/test_functions.py": "operations that are given functions",
    "tests/engines/torch/test_numpy.py": "NumPy's functions exported",
    "tests/engines/torch/test_constants.py": "rules of two operands, of which one is constant",
    "tests/engines/torch/test_functional.py": "PyTorch's older interfaces",
    "tests/engines/torch/test_compiled_functional.py": "torch.func in compiled programs",
    "tests/engines/torch/test_written.py": "tensors that are written to meanwhile",
    "tests/engines/torch/test_programs.py": "programs that call exported functions",
    "tests/engines/torch/test_operations.py": "every operation",
    "tests/engines/test_options.py": "options that an engine differentiates, in every engine",
    "tests/engines/*/test_peer.py": "what an engine is tested with itself",
    "tests/engines/thin/test_thin.py": "the exporters of one file each",
}
FOLDERS = (
    "tests/core",
    "tests/rules",
    "tests/testing",
    "tests/tape",
    "tests/libraries",
    "tests/engines",
)


def name(path):
    return path.relative_to(ROOT).as_posix()


def has_code(source):
    """Whether a module defines anything: most ``__init__`` files only say what a package has."""
    if source.name != "__init__.py":
        return True
    body = ast.parse(source.read_text(encoding="utf-8")).body
    kinds = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    return any(isinstance(node, kinds) for node in body)


def modules():
    for top in (ROOT / "chainrules_py", *sorted((ROOT / "backends").glob("chainrules_*"))):
        yield from (p for p in sorted(top.rglob("*.py")) if has_code(p))


def mirrors(module):
    """The places where tests of a module may stand; a package's beside its folder or in it."""
    package = max((p for p in PLACES if f"{module}/".startswith(f"{p}/")), key=len)
    folders = Path(PLACES[package]) / Path(module).relative_to(package).parent
    stem = Path(module).stem
    if stem != "__init__":
        return [f"{folders.as_posix()}/test_{stem}.py"]
    stem = Path(module).parent.name.removeprefix("chainrules_")
    return [f"{folder.as_posix()}/test_{stem}.py" for folder in (folders, folders.parent)]


MODULES = [name(p) for p in modules()]
MIRRORED = {m: [t for t in mirrors(m) if (ROOT / t).exists()] for m in MODULES}


@functools.cache
def stated(module):
    """The row of the list that fits a module, or None."""
    return next((row for row in ELSEWHERE if fnmatch(module, row[0])), None)


def is_mirror(test):
    """Whether a test file stands where those of a module or a package do."""
    folder, stem = Path(test).parent, Path(test).stem.removeprefix("test_")
    for package, place in PLACES.items():
        if folder != Path(place) and Path(place) not in folder.parents:
            continue
        source = ROOT / package / folder.relative_to(place)
        modules = source / f"{stem}.py", source / f"_{stem}.py", source / stem / "__init__.py"
        if any(m.exists() for m in modules):
            return True
        if source.is_dir() and source.name.removeprefix("chainrules_") == stem:
            return True
    return test in [t for found in MIRRORED.values() for t in found]


TESTS = sorted({name(p) for folder in FOLDERS for p in (ROOT / folder).rglob("test_*.py")})


@pytest.mark.parametrize("module", MODULES)
def test_module_has_tests_in_its_place_or_is_in_the_list(module):
    places = " or ".join(mirrors(module))
    assert MIRRORED[module] or stated(module), f"write {places}, or say which file tests it"


@pytest.mark.parametrize("test", TESTS)
def test_test_file_mirrors_a_module_or_has_a_topic(test):
    assert is_mirror(test) or any(fnmatch(test, topic) for topic in TOPICS), test


@pytest.mark.parametrize("row", ELSEWHERE, ids=lambda row: row[0])
def test_row_of_the_list_is_needed_and_its_tests_exist(row):
    alone = [m for m in MODULES if not MIRRORED[m]]
    assert any(stated(m) is row for m in alone), "no module needs it any more"
    assert (ROOT / row[1]).exists()
    assert row[2]


@pytest.mark.parametrize("topic", TOPICS)
def test_topic_is_needed(topic):
    found = [test for test in TESTS if fnmatch(test, topic)]
    assert found
    assert not [test for test in found if is_mirror(test)]
