"""One file per operator: how the DSL adds it to a program. Folders are families."""
