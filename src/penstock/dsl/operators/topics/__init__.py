"""Operators at the border: what reads topics, writes them, or hands rows to Spark."""
