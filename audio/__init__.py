"""Live audio, not built yet: the media engine comes with a later issue.

The package stands here because the distribution lists it by name and the layers test already
holds it to its promise: it imports nothing of `mesh` or `gateway`.
"""
