"""What decides the meaning of a record, as small pure objects that every executor asks."""
