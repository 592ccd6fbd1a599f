"""Executors with two inputs: joins of streams, tables and global tables."""
