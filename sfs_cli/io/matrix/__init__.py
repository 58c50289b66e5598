"""Readers of matrices, one module for each format."""
