"""What user code implements or receives: processors, contexts, extractors, error handlers."""
