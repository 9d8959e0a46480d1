"""Cost of Dask: a gradient by blocks beside the same blocks in a loop of hand-written NumPy."""

from __future__ import annotations

import numpy as np

BLOCKS, ROWS, COLUMNS = 32, 5_000, 50


class MapReduce:
    """Logistic regression, 32 blocks of 2 MB, by Dask's threads; params: how many of them."""

    params = (1, 2)
    param_names = ("threads",)
    timeout = 300.0

    def setup(self, threads: int) -> None:
        try:
            import dask
        except ImportError as error:
            raise NotImplementedError from error
        rng = np.random.default_rng(0)
        x = rng.standard_normal((BLOCKS, ROWS, COLUMNS))
        self.blocks = [(part, (part[:, 0] > 0).astype(float)) for part in x]
        self.w = np.linspace(-0.1, 0.1, COLUMNS)
        self.where = {"scheduler": "threads", "num_workers": threads}
        self.set = dask.config.set

    @staticmethod
    def loss(w, x, y):
        z = x @ w
        return np.sum(np.logaddexp(0.0, z) - y * z)

    def time_map_reduce_grad(self, threads: int) -> None:
        from chainrules_dask import map_reduce_grad

        with self.set(**self.where):
            map_reduce_grad(self.loss, self.w, self.blocks, progress=False)

    def time_tape_in_a_loop(self, threads: int) -> None:
        from chainrules_tape import value_and_grad

        both = value_and_grad(self.loss)
        found = [both(self.w, *block) for block in self.blocks]
        sum(value for value, _ in found), sum(slope for _, slope in found)

    def time_numpy_by_hand(self, threads: int) -> None:
        value, slope = 0.0, np.zeros(COLUMNS)
        for x, y in self.blocks:
            z = x @ self.w
            value += np.sum(np.logaddexp(0.0, z) - y * z)
            slope += (1.0 / (1.0 + np.exp(-z)) - y) @ x


class Graph:
    """Cost of a block besides its computing: tasks that have nothing to do."""

    timeout = 300.0

    def setup(self) -> None:
        try:
            import dask
        except ImportError as error:
            raise NotImplementedError from error
        self.set = dask.config.set

    def time_thousand_empty_blocks(self) -> None:
        from chainrules_dask import map_reduce_grad

        with self.set(scheduler="threads", num_workers=1):
            map_reduce_grad(lambda w, k: w * k, 1.0, range(1000), progress=False)

    def time_recording_a_program(self) -> None:
        """Record the graph of loss and gradient, of 200 blocks, without computing anything."""
        import dask.array as da

        from chainrules_tape import value_and_grad

        x = da.random.default_rng(0).standard_normal((200_000, 50), chunks=(1_000, 50))
        value_and_grad(lambda w: np.sum(np.tanh(x @ w) ** 2))(np.ones(50))
