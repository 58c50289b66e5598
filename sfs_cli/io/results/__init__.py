"""Writers and readers of results."""
