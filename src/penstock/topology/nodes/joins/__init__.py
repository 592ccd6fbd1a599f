"""Nodes that join streams and tables."""
