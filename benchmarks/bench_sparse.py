"""Sparse Jacobians: ours, compiled and not, the dense one, grouped differences, JAX by hand."""

from __future__ import annotations

from benchmarks.sparse_jacobians import CASES, SIZES, WAYS, by, detection


class SparseJacobians:
    """One Jacobian, by a pattern that is known."""

    params = (WAYS, tuple(CASES), SIZES)
    param_names = ("way", "case", "size")

    def setup(self, way: str, case: str, size: int) -> None:
        try:
            self.run = by(way, case, size)
        except ImportError as error:
            raise NotImplementedError from error  # how asv is told to skip
        self.run()

    def time_jacobian(self, way: str, case: str, size: int) -> None:
        self.run()

    def peakmem_jacobian(self, way: str, case: str, size: int) -> None:
        self.run()


class Detection:
    """A pattern and its colors, found once."""

    params = (tuple(CASES), SIZES)
    param_names = ("case", "size")

    def setup(self, case: str, size: int) -> None:
        self.run = detection(case, size)

    def time_detection(self, case: str, size: int) -> None:
        self.run()
