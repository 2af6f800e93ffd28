"""What a node that has started tells whoever started it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What is known once the node answers. `token` is control.json's; never print it.

    `make_owner_key` makes the owner's key where there is none and gives its recovery phrase to
    the function it is called with, before the key is stored; it tells whether it made one.
    """

    url: str
    lan_urls: tuple[str, ...]
    fingerprint: str
    install_id: str
    token: str
    login_link: Callable[[], Awaitable[tuple[str, int]]]
    make_owner_key: Callable[[Callable[[str], None]], Awaitable[bool]]
    stop: Callable[[], None]


OnReady = Callable[[Ready], Awaitable[None]]


def version() -> str:
    """The installed version."""
    return metadata.version("roommesh")
