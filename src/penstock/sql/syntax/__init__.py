"""Statements as text: words, grammar, and text written back from the syntax tree."""
