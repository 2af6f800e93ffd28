"""Asking the running node: one connection per command, its errors as the command's own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mesh.cli.failure import Failed
from mesh.cli.terminal import Terminal
from mesh.client import ClientError, Connection, connect

T = TypeVar("T")


def ask(terminal: Terminal, job: Callable[[Connection], Awaitable[T]]) -> T:
    """Run `job` on a connection to the node of this home.

    Raises:
        Failed: no node runs, or it refused.
    """

    async def connected() -> T:
        async with connect(terminal.home) as node:
            return await job(node)

    try:
        return asyncio.run(connected())
    except ClientError as error:
        raise failed(error) from None


def failed(error: ClientError) -> Failed:
    """The command's failure for one of the SDK's."""
    return Failed(error.reason, error.message, error.next)
