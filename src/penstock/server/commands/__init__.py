"""The command topic: what every node of a service runs, in one order."""
