"""Versioned key-value stores: every key with its values of the past."""
