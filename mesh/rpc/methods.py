"""All methods of the surface. Importing this module registers them; `registry` alone knows none."""

from mesh.rpc import grants, groups, invitations, node, peers, profiles, sessions
from mesh.rpc.registry import METHODS

MODULES = (grants, groups, invitations, node, peers, profiles, sessions)

__all__ = ["METHODS", "MODULES"]
