"""From plans to topologies, with one module for each kind of step. Begin with ``topology_of``."""

from penstock.sql.planner.lowering.build import topology_of

__all__ = ["topology_of"]
