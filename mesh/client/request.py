"""What the areas ask their connection for, and which requests may be asked twice."""

from typing import Any, Final, Protocol

REQUEST_S: Final = 30.0

READS: Final = frozenset(
    {
        "node.info",
        "node.status",
        "node.sessions",
        "node.subscribe",
        "groups.capabilities",
        "groups.list",
        "groups.state",
        "groups.log",
        "groups.subscribe",
        "groups.unsubscribe",
        "invitations.list",
        "invitations.show",
        "invitations.preview",
        "invitations.operation",
        "peers.list",
        "peers.show",
        "peers.ping",
        "grants.list",
        "grants.show",
        "profiles.list",
        "profiles.show",
        "profiles.test",
    }
)
"""Methods that change nothing: after a drop these may be asked again, and only these."""


class Request(Protocol):
    """The connection as an area sees it."""

    async def __call__(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        deadline_s: float = REQUEST_S,
    ) -> dict[str, Any]:
        """Ask and return the result.

        Raises:
            ClientError: see `mesh.client.errors`.
        """
        ...


def given(**params: Any) -> dict[str, Any]:
    """Parameters without those that are None: what is not said is the node's default."""
    return {name: value for name, value in params.items() if value is not None}
