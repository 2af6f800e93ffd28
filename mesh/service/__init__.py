"""The drivers: asyncio around the pure core, one concept a file.

`room_runner` drives one room's machine, a `round` at a time, `open_rooms` all of them; `log_feed`
feeds copies, `subscriptions` shows events to readers, `room_view` says them in JSON.
`conversation` is what the operator does in rooms. `lending` issues grants for what this install
lends and `routing` uses the grants it holds; `turns` runs the agents homed here. `invitations`,
`previews` and `joining` bring people in, `peers` keeps the links a node needs, `profiles` the
agents behind it. Everything meets in `mesh/node.py`.
"""
