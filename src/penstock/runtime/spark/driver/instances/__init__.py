"""Several processes with one application id: which one leads, and who stands in for it."""
