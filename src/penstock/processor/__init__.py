"""What user code implements or is handed: processors, contexts, extractors, error handlers."""
