"""Golden numbers: values and derivatives as they were, to find what a change does to them."""
