"""The topology: nodes as data, the graph they form, its sub-topologies, and its descriptions."""
