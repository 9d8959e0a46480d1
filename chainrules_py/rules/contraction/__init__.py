"""Rules of sums of products over named axes, determinants and norms."""
