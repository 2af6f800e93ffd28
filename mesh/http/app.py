"""The routes of one node, and the two checks that every request passes.

First Host (421), then the route; a refusal of any route becomes its HTTP answer here. Access is
not logged: nothing may carry a token, and paths of people are nobody's record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from mesh.core.errors import MeshError
from mesh.http import problem
from mesh.http.authentication import Authentication
from mesh.http.browser_session import BrowserSessions
from mesh.http.health import Health
from mesh.http.login import Login
from mesh.http.own_hosts import OwnHosts
from mesh.http.pages import Pages
from mesh.http.rpc import PostRpc
from mesh.http.stream import Stream
from mesh.http.well_known import WellKnown
from mesh.ports import Clock, Entropy
from mesh.rpc.dispatch import Dispatch
from mesh.rpc.registry import Method
from mesh.rpc.surface import Surface
from mesh.telemetry import Log, Metrics

WEB: Path = Path(__file__).parent.parent / "web"


@dataclass(kw_only=True)
class EdgeParts:
    """Everything the edge is made of; the composition root fills it.

    `token` is control.json's. `problems` names what keeps the node from being ready. `link` is the
    handler of `/link`. `well_known` is the signed body (http.well_known.document).
    """

    surface: Surface
    methods: Mapping[str, Method]
    sessions: BrowserSessions
    hosts: OwnHosts
    token: str
    clock: Clock
    entropy: Entropy
    log: Log
    metrics: Metrics
    problems: Callable[[], Sequence[str]]
    well_known: bytes
    link: Handler
    web: Path = WEB


def make_app(parts: EdgeParts) -> web.Application:
    """The application of one node; serve it through `http.sockets.HttpSockets`."""
    authentication = Authentication(sessions=parts.sessions, hosts=parts.hosts, token=parts.token)
    dispatch = Dispatch(
        methods=parts.methods,
        surface=parts.surface,
        entropy=parts.entropy,
        log=parts.log,
        metrics=parts.metrics,
    )
    stream = Stream(
        authentication=authentication,
        sessions=parts.sessions,
        dispatch=dispatch,
        log=parts.log,
        metrics=parts.metrics,
    )
    app = web.Application(middlewares=[_checked(parts.hosts)], client_max_size=0)
    app.on_response_prepare.append(problem.add_headers)

    async def goodbye(_: web.Application) -> None:
        stream.cut_all()

    app.on_shutdown.append(goodbye)
    login = Login(sessions=parts.sessions, authentication=authentication, clock=parts.clock)
    health = Health(
        authentication=authentication, problems=parts.problems, metrics=parts.metrics.render
    )
    pages = Pages(parts.web)
    post = PostRpc(authentication=authentication, dispatch=dispatch)
    app.add_routes(
        [
            web.get("/", pages.index),
            web.get("/i", pages.index),
            web.get("/web/{name:.+}", pages.file),
            web.post("/login", login.log_in),
            web.post("/logout", login.log_out),
            web.post("/rpc", post.post),
            web.get("/rpc", stream.upgrade, allow_head=False),
            web.get("/link", parts.link, allow_head=False),
            web.get("/livez", health.livez),
            web.get("/readyz", health.readyz),
            web.get("/metrics", health.metrics),
            web.get("/.well-known/roommesh", WellKnown(parts.well_known).get),
        ]
    )
    return app


def _checked(hosts: OwnHosts) -> Middleware:
    """The middleware: Host before everything, refusals into answers after everything."""

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            named = request.headers.getall(hdrs.HOST, [])
            hosts.check_host(named[0] if len(named) == 1 else "")
            return await handler(request)
        except MeshError as error:
            return problem.answer(error)
        except web.HTTPException as error:
            return problem.answer(problem.of_status(error.status), error.status)

    return checked
