"""Lanes: each slot of an application works through its input by itself."""
