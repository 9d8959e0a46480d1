"""CuPy without a GPU: its arrays in the memory of the host, NumPy in place of the kernels."""
