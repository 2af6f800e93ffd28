"""What a node that has started tells whoever started it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What is known once the node answers. `token` is control.json's; never print it."""

    url: str
    lan_urls: tuple[str, ...]
    fingerprint: str
    install_id: str
    token: str
    login_link: Callable[[], Awaitable[tuple[str, int]]]
    stop: Callable[[], None]


OnReady = Callable[[Ready], Awaitable[None]]


def version() -> str:
    """The installed version."""
    return metadata.version("roommesh")
