"""The backends: who really answers for a profile.

`constructors.py` lists them by the name that `profile.toml` gives. A backend imports the
alphabet (`gateway.exchange`) and its surroundings, never a mount, so that the road leads one way.

- `builtin.py`: echo, `scribe.py` and `guide.py`. Deterministic, without a model.
- `openai.py`: any OpenAI-compatible endpoint. `endpoint.py` speaks HTTP, `sse.py` cuts the
  stream into frames, `completion.py` folds frames into an answer, `envelope.py` writes the prompt.
- `local_models.py`: finds model servers that run on this machine.
"""
