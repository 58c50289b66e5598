"""Readers of knowledge sources."""
