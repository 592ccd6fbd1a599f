"""Cuts over all queries of a server: states in which each has what the one before had written."""
