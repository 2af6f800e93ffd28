"""The built-in agents: echo, scribe and guide. Deterministic, without a model or a network.

Why: a fresh install does something useful and something testable. Each agent is a pure function
from a request and the lines remembered to a text; this backend remembers, and streams the text
in pieces at a pace that an eye can follow.

Options: `agent` ("echo", "scribe", "guide"; required), `pace_ms` (0 to 1000, default 20).
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from itertools import pairwise
from types import TracebackType
from typing import Self

from gateway.backend import Surroundings
from gateway.backends import guide, scribe
from gateway.backends.mentions import without
from gateway.errors import ProfileInvalid
from gateway.exchange import Delta, Final, Line, TurnRequest, Update
from gateway.limits import DELTAS_MAX, DELTAS_MIN, PACE_MS_MAX
from gateway.memory import Memory
from gateway.options import Options
from gateway.profile import NO_TOOLS, Catalog, Policy, ProfileConfig, text_catalog

_WORDS = re.compile(r"\S+\s*|\s+")

Agent = Callable[[TurnRequest, Sequence[Line]], str]


def echo(request: TurnRequest, lines: Sequence[Line]) -> str:
    """The trigger's own words, without the mention that called for them."""
    return without(request.trigger.text, request.handle) or "You said nothing but my name."


AGENTS: Mapping[str, Agent] = {"echo": echo, "guide": guide.answer, "scribe": scribe.answer}


class Builtin:
    """The backend of one built-in agent."""

    def __init__(self, config: ProfileConfig, surroundings: Surroundings) -> None:
        """Raises ProfileInvalid."""
        options = Options(dict(config.options))
        name = options.text("agent")
        self._pace_s = options.integer("pace_ms", 20, low=0, high=PACE_MS_MAX) / 1000
        options.refuse_rest()
        if name not in AGENTS:
            raise ProfileInvalid("options.agent", f"must be one of {', '.join(sorted(AGENTS))}")
        self._name = name
        self._answer = AGENTS[name]
        self._memory = Memory(surroundings.state)
        self.catalog: Catalog = text_catalog(config.name)
        self.policy = Policy(
            backend="builtin",
            model=name,
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
        """Nothing is held open between turns."""

    async def probe(self) -> str:
        """It is always there."""
        return f"The built-in {self._name} answers without a model."

    async def run(self, request: TurnRequest) -> AsyncGenerator[Update, None]:
        """The answer in at least eight pieces, if it has as many characters."""
        text = self._answer(request, self._memory.remember(request))
        for piece in pieces(text):
            yield Delta(text=piece)
            await asyncio.sleep(self._pace_s)
        yield Final(text=text)


def pieces(text: str) -> list[str]:
    """`text` cut at its words into 8 to 200 pieces, or by characters where words are too few."""
    parts, pieces_max = _WORDS.findall(text), DELTAS_MAX
    if len(parts) < DELTAS_MIN:
        parts, pieces_max = list(text), DELTAS_MIN
    count = min(len(parts), pieces_max)
    bounds = [len(parts) * i // count for i in range(count + 1)] if count else [0]
    cut = ["".join(parts[low:high]) for low, high in pairwise(bounds)]
    assert "".join(cut) == text, "cutting loses nothing"
    assert all(cut), "a piece says something"
    return cut
