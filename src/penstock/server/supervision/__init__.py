"""Persistent queries: start them, watch them, start them again."""
