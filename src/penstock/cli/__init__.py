"""The ``penstock`` command: one file per subcommand, put together in ``penstock.cli.main``."""
