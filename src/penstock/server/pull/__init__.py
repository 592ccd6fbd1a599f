"""Pull queries: answers from copies of tables that the server keeps up to date."""
