"""Rules of products of matrices, systems of equations and singular values."""
