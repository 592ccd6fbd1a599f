"""The runtimes of a topology: ``local`` in this process, ``spark`` on a laptop or a cluster."""
