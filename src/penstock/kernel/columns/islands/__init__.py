"""Nodes that run record by record between columns, because their functions may do anything."""
