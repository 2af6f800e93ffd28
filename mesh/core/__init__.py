"""The pure heart of a node: no event loop, no I/O, no clock, no randomness.

Read in this order: `ids`, `errors`, `limits`, `canonical`, `identity` (names, bounds, bytes to
sign, keys); `event`, `log`, `member`, `room` (the ordered truth); `turn`, `budget`, `discussion`
(who speaks, and until when); `grant`, `invitation`, `receipt`, `route` (who may do what); then
the two alphabets `inputs` and `effects`, and the machine that maps one to the other,
`room_machine`. Time and entropy are always arguments.
"""
