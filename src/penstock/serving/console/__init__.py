"""The console: a page in the browser over the HTTP interface, and what only it asks for."""
