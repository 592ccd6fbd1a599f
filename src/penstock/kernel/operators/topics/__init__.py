"""Executors at the border of a sub-topology: decoding, encoding, guarding."""
