"""Names of SciPy's that have no derivative, or none here, with the reason."""

from __future__ import annotations

NOT_DIFFERENTIABLE = {
    "a number of things, a place in memory, a test, or a constant": (
        *("linalg.bandwidth", "linalg.ishermitian", "linalg.issymmetric", "linalg.get_blas_funcs"),
        *("linalg.get_lapack_funcs", "linalg.find_best_blas_type", "linalg.dft", "linalg.hadamard"),
        *("linalg.hilbert", "linalg.invhilbert", "linalg.helmert", "linalg.pascal"),
        *("linalg.invpascal", "signal.find_peaks", "signal.argrelmax", "signal.argrelmin"),
        *("signal.argrelextrema", "signal.check_COLA", "signal.check_NOLA", "signal.unit_impulse"),
        *("signal.max_len_seq", "signal.choose_conv_method", "signal.correlation_lags"),
        *("ndimage.label", "ndimage.find_objects", "ndimage.binary_erosion"),
        *("ndimage.binary_dilation", "ndimage.binary_opening", "ndimage.binary_closing"),
        *("ndimage.binary_fill_holes", "ndimage.binary_hit_or_miss", "ndimage.binary_propagation"),
        *("ndimage.generate_binary_structure", "ndimage.iterate_structure"),
        *("ndimage.maximum_position", "ndimage.minimum_position", "ndimage.value_indices"),
        *("ndimage.watershed_ift", "ndimage.distance_transform_edt"),
        *("ndimage.distance_transform_cdt", "ndimage.distance_transform_bf"),
        *("integrate.newton_cotes", "integrate.lebedev_rule", "optimize.check_grad"),
        *("optimize.show_options", "optimize.linear_sum_assignment", "spatial.Delaunay"),
        *("spatial.tsearch", "fft.fftfreq", "fft.rfftfreq", "fft.next_fast_len"),
        *("fft.prev_fast_len", "fft.get_workers", "fft.set_workers", "stats.rankdata"),
        *("special.bernoulli", "special.euler", "special.factorialk", "special.stirling2"),
    ),
    "solutions in integers jump": ("optimize.milp", "optimize.quadratic_assignment"),
    "phases or rotations are free": (
        *("linalg.qz", "linalg.ordqz", "linalg.rsf2csf", "linalg.cossin", "linalg.qr_delete"),
        *("linalg.qr_insert", "linalg.qr_update"),
    ),
    "a grid does not move": ("optimize.brute",),
    "an approximation, whose derivative is not that of the solution": ("sparse.linalg.spilu",),
    "steps are taken one by one, in SciPy's C": (
        *("integrate.ode", "integrate.complex_ode", "integrate.RK45", "integrate.RK23"),
        *("integrate.DOP853", "integrate.Radau", "integrate.BDF", "integrate.LSODA"),
    ),
    "the search goes on as it finds values, and these are numbers there": (
        *("integrate.tanhsinh", "integrate.nsum", "integrate.qmc_quad"),
    ),
    "SciPy's C looks at ranks, or at one number after the other": (
        *("stats.ansari", "stats.siegelslopes", "stats.weightedtau", "stats.shapiro"),
        *("stats.wasserstein_distance", "stats.energy_distance", "stats.binned_statistic"),
        *("stats.anderson", "stats.ks_1samp", "stats.kstest", "stats.probplot"),
        *("stats.ppcc_max", "signal.peak_prominences", "signal.peak_widths"),
    ),
}
"""Everything without a sample that is not named here is refused like any unknown function."""
