"""`/livez`, `/readyz`, `/metrics`: whether the process lives, can work, and what it counted.

Live and ready are open to everyone and say only words of ours; the counters are for those who are
logged in.
"""

from collections.abc import Callable, Sequence

import msgspec
from aiohttp import web

from mesh.http.authentication import Authentication


class Health:
    """The three routes.

    `problems` names what keeps the node from working: `reason` or `reason: text`.
    """

    def __init__(
        self,
        *,
        authentication: Authentication,
        problems: Callable[[], Sequence[str]],
        metrics: Callable[[], bytes],
    ) -> None:
        self._authentication = authentication
        self._problems = problems
        self._metrics = metrics

    async def livez(self, request: web.Request) -> web.Response:
        """200 as long as the process answers at all."""
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        """200 when nothing is wrong with storage and listener, else 503 with the reasons."""
        # Only the stable word: a sentence may name a path, and anyone may ask this.
        problems = [problem.partition(":")[0] for problem in self._problems()]
        return web.Response(
            status=503 if problems else 200,
            body=msgspec.json.encode({"ready": not problems, "problems": problems}),
            content_type="application/json",
        )

    async def metrics(self, request: web.Request) -> web.Response:
        """Prometheus text."""
        await self._authentication.caller(request, acts=False)
        return web.Response(
            body=self._metrics(), headers={"Content-Type": "text/plain; version=0.0.4"}
        )
