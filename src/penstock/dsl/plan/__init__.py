"""The logical graph of a program, and the way from there to a topology."""
