"""Profiles: local agents behind the node. Imports nothing of `mesh` or `audio`."""
