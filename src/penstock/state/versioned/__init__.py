"""Versioned key-value stores: the current and past values of every key."""
