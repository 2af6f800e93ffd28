"""What nodes say to each other as bytes, without a socket.

`codec` turns messages into frames and frames into messages; `handshake` proves who is at the
other end of a connection before anything is said; `link` keeps the books of one open link:
what waits to be sent, when it was last heard, why it was closed. No event loop, clock or
randomness in here: the drivers in `transport` bring them.
"""
