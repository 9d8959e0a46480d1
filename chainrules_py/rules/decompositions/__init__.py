"""Rules of decompositions of matrices."""
