"""The feature ranking methods, one file each, and their registry."""
