"""Ten thousand broken statements and bodies beside fifty clients; see ``__main__``."""
