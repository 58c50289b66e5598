"""A run: what was read, how its samples are compared, and its passes over the matrix."""
