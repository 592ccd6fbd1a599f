"""The topology: nodes as data, the graph they form, its parts, its names and its pictures."""
