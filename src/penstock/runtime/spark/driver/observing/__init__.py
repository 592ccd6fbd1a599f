"""Metrics, metadata and traces of a running application, and its answers over HTTP."""
