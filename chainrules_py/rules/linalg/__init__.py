"""Rules of products, systems of equations, determinants, norms, diagonals and triangles."""
