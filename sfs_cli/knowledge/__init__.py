"""Knowledge sources: one converter per kind, each to a sample similarity."""
