"""Rules of higher-order operations, which take functions."""
