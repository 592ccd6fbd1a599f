"""``penstock connect``: connectors and a Connect worker for a project."""
