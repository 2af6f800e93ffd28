"""The edge for browsers and programs: pages, login, JSON-RPC by POST and WebSocket, health.

`app` lists the routes. Every request passes `own_hosts` (Host and Origin) and, where it may do
anything, `authentication`, before a byte of its body is read. What it asks is answered by
`mesh.rpc`; nothing here knows what a room is.
"""
