"""The abstract syntax tree: frozen dataclasses, one family per file, spans ignored by equality.

``penstock.sql.parser`` builds it, ``penstock.sql.format`` writes it back as text.
"""
