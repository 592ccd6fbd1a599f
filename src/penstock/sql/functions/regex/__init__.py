"""Regular expressions of Java, run by an engine of linear time."""
