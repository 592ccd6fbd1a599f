"""Nodes that fold groups of records."""
