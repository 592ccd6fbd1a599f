"""One file per operator: how the DSL asks for it. Folders are families of operators."""
