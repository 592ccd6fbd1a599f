"""Streams, tables and types that statements have created, and the statements that create them."""
