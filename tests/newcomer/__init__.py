"""The way of a newcomer: install the wheel, make a project, test it."""
