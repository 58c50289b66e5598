"""Spans, memory plan, executors and passes over the matrix."""
