"""Agents whose every answer a test decides, mounted like any other profile.

A `Puppet` keeps what it was given (that is an agent's whole context) and says what its `speak`
returns: a text, several pieces, or an exception. With `hold` it waits in the middle of an answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self, cast

import pytest

from gateway.backend import Construct, Surroundings
from gateway.backends.constructors import BACKENDS
from gateway.exchange import Delta, Final, TurnRequest, Update
from gateway.profile import NO_TOOLS, Policy, ProfileConfig, text_catalog

Speak = Callable[[TurnRequest], str | Exception]


class Puppet:
    """One scripted agent. It survives restarts of its node, as the test does."""

    def __init__(self, speak: Speak = lambda request: "yes") -> None:
        self.speak = speak
        self.asked: list[TurnRequest] = []
        self.hold: asyncio.Event | None = None
        self.is_held = asyncio.Event()

    @property
    def lines(self) -> list[int]:
        """The seqs of every line it was ever given, in order, repetitions included."""
        return [
            line.seq for request in self.asked for line in (*request.history, request.trigger)
        ]

    def mounted(self, config: ProfileConfig, _surroundings: Surroundings) -> "Strings":
        """What a table of backends constructs."""
        return Strings(self, config.name)


def says(text: str) -> Puppet:
    """A puppet with one answer to everything."""
    return Puppet(lambda request: text)


class Strings:
    """The backend that a puppet hangs on; one for each mount."""

    def __init__(self, puppet: Puppet, name: str) -> None:
        self._puppet = puppet
        self.catalog = text_catalog(name)
        self.policy = Policy(
            backend="puppet",
            model="",
            endpoint="",
            system_prompt_sha256="",
            approval_mode=NO_TOOLS,
            settings=(),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing to close."""

    async def probe(self) -> str:
        """It is always there."""
        return "a puppet"

    async def run(self, request: TurnRequest) -> AsyncGenerator[Update, None]:
        """What the puppet says, first as one piece, then whole."""
        self._puppet.asked.append(request)
        said = self._puppet.speak(request)
        if isinstance(said, Exception):
            raise said
        if said:
            yield Delta(text=said)
        if self._puppet.hold is not None:
            self._puppet.is_held.set()
            await self._puppet.hold.wait()
        yield Final(text=said)


class Puppets(dict[str, Puppet]):
    """Puppets by name: `backend = "NAME"` of a profile means that one, until the test is over."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._patch = patch

    def __setitem__(self, name: str, puppet: Puppet) -> None:
        super().__setitem__(name, puppet)
        # Mount tables hold this very dictionary, so it is filled rather than replaced.
        self._patch.setitem(cast(dict[str, Construct], BACKENDS), name, puppet.mounted)


@contextmanager
def puppets() -> Iterator[Puppets]:
    """An empty table of puppets."""
    with pytest.MonkeyPatch.context() as patch:
        yield Puppets(patch)
