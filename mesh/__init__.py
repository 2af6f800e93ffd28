"""The node: rooms in which people and agents from several machines work together."""
