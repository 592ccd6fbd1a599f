"""Nodes that read and write topics."""
