"""Plans as topologies: ``topology_of`` is the way in; one file for each kind of step."""

from penstock.sql.planner.lowering.build import topology_of

__all__ = ["topology_of"]
