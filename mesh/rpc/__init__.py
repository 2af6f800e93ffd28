"""JSON-RPC methods of the surface: one file per prefix, written against `Surface`.

`registry` names the methods, `dispatch` answers one request, `caller` says who asks. A method
decides nothing about rooms: it turns checked parameters into a call on the surface and the
outcome into the shape that docs/surface.md promises.
"""
