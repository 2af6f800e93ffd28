"""Model servers that run on this machine: a quick look at the usual ports, all at once.

Why: a demo can offer a real model when there is one, without asking anybody to configure it. It
looks at loopback only, follows no redirect, sends nothing, and takes at most 300 ms in all.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.backends.endpoint import Endpoint
from gateway.errors import BackendError
from gateway.limits import LOCAL_MODEL_S_MAX

PORTS = (11434, 8080, 1234)
"""Where Ollama, llama.cpp and LM Studio listen when nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A model server, and the first model it lists that can hold a conversation."""

    base_url: str
    model: str


async def discover_local_models(ports: Sequence[int] = PORTS) -> list[Found]:
    """The model servers that answer on loopback, in the order of `ports`; [] without any."""
    async with asyncio.TaskGroup() as group:
        looks = [group.create_task(_look(port)) for port in ports]
    return [found for look in looks if (found := look.result()) is not None]


async def _look(port: int) -> Found | None:
    """What listens on `port`, if it is a model server and quick to say so."""
    base_url = f"http://127.0.0.1:{port}/v1"
    try:
        async with asyncio.timeout(LOCAL_MODEL_S_MAX):
            async with Endpoint(base_url, key_headers=dict, clock=lambda: 0) as endpoint:
                models = await endpoint.models()
    except (BackendError, TimeoutError):
        return None  # Nobody there, or somebody else: both are an answer, and no fault.
    talkers = [model for model in models if "embed" not in model.lower()]
    return Found(base_url=base_url, model=talkers[0]) if talkers else None
