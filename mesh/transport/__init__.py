"""Sockets: one listening port, links to other installs, and who is seen on the local network.

`listener` owns the port and decides by the first byte whether a connection is TLS; `dialer`
opens one connection to one address; `link_runner` drives one open link; `link_table` keeps at
most one link per install, dials who is wanted and admits who calls; `discovery` hears and
tells by multicast DNS; `addresses` vets every address that somebody else named.
"""
