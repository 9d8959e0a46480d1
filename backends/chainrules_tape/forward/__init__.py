"""Forward mode: dual numbers and linear tapes."""
