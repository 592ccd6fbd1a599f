"""One executor per node type: how operators run. Folders are families, as in the DSL."""
