"""Weighing and combining sample similarities of several knowledge sources."""
