"""Tables of a lakehouse that an application writes."""
