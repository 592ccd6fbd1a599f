"""Nodes that work on tables."""
