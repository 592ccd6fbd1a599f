"""Slot servers as processes of a host: start them, find them again, take their slots over."""
