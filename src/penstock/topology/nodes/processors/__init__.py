"""Nodes that run processors of users."""
