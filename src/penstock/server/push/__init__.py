"""Push queries: rows as they come, from readers that all subscribers of a topic share."""
