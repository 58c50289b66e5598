"""Significance of scores that are ratios of quadratic forms of a feature."""
