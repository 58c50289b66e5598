"""The matrix as the methods see it: feature-major blocks, in memory or on disk."""
