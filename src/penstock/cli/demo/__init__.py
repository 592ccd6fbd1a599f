"""``penstock demo``: a first look at a running application."""
