"""The abstract syntax tree: frozen dataclasses, one family per file, spans ignored by equality.

``penstock.sql.syntax.parser`` builds it, ``penstock.sql.syntax.format`` writes it back as text.
"""
