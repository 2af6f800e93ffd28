"""@model: a real model in the demo's room, where there is one.

A model server on this machine (Ollama, llama.cpp, LM Studio at their usual ports) is offered
without being asked for. One elsewhere only by `--model URL`, for what is said to it leaves this
machine; the model's own name may follow as `URL#NAME`, else the first that it lists is taken. A
key comes from the variable ROOMMESH_MODEL_KEY, never from the command line.
"""

import os
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from gateway.backends.endpoint import Endpoint
from gateway.backends.local_models import discover_local_models
from gateway.errors import BackendError
from mesh.cli.demo_nodes import LOOPBACK
from mesh.cli.demo_room import DemoRoom
from mesh.cli.failure import Failed

KEY_VARIABLE: Final = "ROOMMESH_MODEL_KEY"
PROFILE: Final = "model"
_LOCAL: Final = frozenset({LOOPBACK, "localhost", "::1"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model behind an endpoint that speaks OpenAI's protocol; `base_url` mostly ends in /v1."""

    base_url: str
    name: str

    @property
    def place(self) -> str:
        """Host and port."""
        return urlsplit(self.base_url).netloc

    @property
    def is_local(self) -> bool:
        """True on this machine."""
        return urlsplit(self.base_url).hostname in _LOCAL

    async def seat(self, room: DemoRoom) -> None:
        """Mount it on the laptop and seat it as @model. Raises ClientError."""
        options: dict[str, Any] = {"base_url": self.base_url, "model": self.name}
        if os.environ.get(KEY_VARIABLE):
            options["api_key_env"] = KEY_VARIABLE
        await room.laptop.sdk.profiles.add(
            {
                "name": PROFILE,
                "backend": "openai",
                "display_name": self.name[:64],
                "options": options,
            }
        )
        await room.laptop.sdk.rooms.add_member(room.room_id, PROFILE, handle=PROFILE)


async def find_model(url: str | None) -> Model | None:
    """The one at `url`, or the first on this machine, or None.

    Raises Failed where `url` was given and no model answers there.
    """
    if url is None:
        found = await discover_local_models()
        return Model(base_url=found[0].base_url, name=found[0].model) if found else None
    base_url, _, name = url.partition("#")
    base_url = base_url.rstrip("/")
    if urlsplit(base_url).scheme not in {"http", "https"}:
        raise Failed("invalid_params", f"{url} is not a URL.", "It looks like http://HOST:PORT/v1")
    return Model(base_url=base_url, name=name or await _first_model(base_url))


async def _first_model(base_url: str) -> str:
    try:
        async with Endpoint(base_url, key_headers=_key, clock=lambda: 0) as endpoint:
            models = await endpoint.models()
    except BackendError as error:
        raise Failed(error.reason, error.message, error.next) from None
    talkers = [model for model in models if "embed" not in model.lower()]
    if not talkers:
        raise Failed("not_a_model", f"{base_url} lists no model.", "Name one: --model URL#NAME")
    return talkers[0]


def _key() -> dict[str, str]:
    key = os.environ.get(KEY_VARIABLE, "")
    return {"Authorization": f"Bearer {key}"} if key else {}
