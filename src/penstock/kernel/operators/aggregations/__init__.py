"""Executors that group records and fold them, with and without windows."""
