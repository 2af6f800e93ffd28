"""The gateway: the profiles (local agents) that stand behind a node.

A room asks, an agent answers. What passes between them is written down in `exchange.py`, and
reading that file gives the whole surface. The road of one turn, file by file:

1. `mount.py`: the `MountTable` knows every profile by name, keeps its backend open and its state
   visible, and takes a `TurnRequest`.
2. `dispatch.py`: one `Run` carries the request to the backend under a deadline, a size limit and
   a way to be stopped, and promises exactly one ending.
3. `backends/`: who really answers. `builtin` needs no model; `openai` talks to any
   OpenAI-compatible endpoint.
4. `memory.py`: the lines of a room that a profile has been given, each once, also after a restart.

Around that road: `profile.py` is what an operator writes (`profile.toml`) and what the others
may know of it (catalog, policy); `options.py` reads a backend's own options strictly;
`profile_files.py` keeps the files; `scope.py` names what a grant may call; `barrier.py` holds a
fault inside; `errors.py` is the tree of what can go wrong; `limits.py` bounds all of it.

The gateway imports nothing of the node or of audio, and could serve another program as it is.
"""
