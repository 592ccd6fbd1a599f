"""The ``penstock`` command: one file per subcommand; ``penstock.cli.main`` registers them."""
