"""Who may run which statement, and what must not be shown."""
