"""Copies of stores that follow the changelogs: standbys, and what query-only instances read."""
