"""One JSON-RPC 2.0 request in, one answer out; the only place where methods are called.

The bytes are decoded strictly and once. Batches are refused: one frame, one request, so that the
limit of requests in flight means what it says. A refusal keeps its reason; a fault of ours is
logged with a correlation id and answered as `internal`, never with a traceback (attack 63).
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mesh.core import canonical
from mesh.core.errors import Malformed, MeshError, Refused
from mesh.ports import Entropy
from mesh.rpc.caller import Caller
from mesh.rpc.registry import Method, read_params
from mesh.rpc.surface import Surface
from mesh.telemetry import Log, Metrics

PARSE_ERROR: Final = -32700
CODES: Final[dict[str, int]] = {
    "invalid_request": -32600,
    "method_not_found": -32601,
    "invalid_params": -32602,
    "internal": -32603,
}
"""JSON-RPC's own codes by reason; every other reason answers OTHER_CODE."""
OTHER_CODE: Final = -32000
ID_CHARS_MAX: Final = 128

_encode = msgspec.json.Encoder().encode
_UNREAD: Final = object()


def error_object(error: MeshError, code: int | None = None) -> dict[str, Any]:
    """The `error` member: code, sentence, and the stable words in `data`."""
    data = {"reason": error.reason, "status": error.status, "next": error.next, **error.fields}
    number = CODES.get(error.reason, OTHER_CODE) if code is None else code
    return {"code": number, "message": error.message, "data": data}


class Dispatch:
    """Answers requests of all callers of one node. Holds no state between two requests."""

    def __init__(
        self,
        *,
        methods: Mapping[str, Method],
        surface: Surface,
        entropy: Entropy,
        log: Log,
        metrics: Metrics,
    ) -> None:
        self._methods = methods
        self._surface = surface
        self._entropy = entropy
        self._log = log
        self._failed = metrics.counter(
            "rpc_refusals", "Requests of clients that were refused.", "method", "reason"
        )
        # Label lookups cost more than counting: the child of each method is kept.
        done = metrics.counter("rpc_requests", "Requests of clients that were done.", "method")
        self._done = {name: done.labels(name) for name in methods}

    async def answer(self, data: bytes, caller: Caller) -> bytes | None:
        """The answer's bytes, or None for a notification (a request without an id)."""
        request_id: object = _UNREAD
        name = ""
        code = None
        try:
            code = PARSE_ERROR
            request = canonical.decode(data)
            code = None
            request_id, name = _read_envelope(request)
            result = await self._call(name, request, caller)
            self._done[name].inc()
            if request_id is None:
                return None
            return _encode({"jsonrpc": "2.0", "id": request_id, "result": result})
        except MeshError as error:
            refusal = error
        # A method's fault must not end the connection of the others: this is the supervisor of
        # requests, the third place beside the two that STYLE names.
        except Exception as error:  # noqa: BLE001
            refusal = self._fault(name, error)
        known = name if name in self._methods else ""
        self._failed.labels(known, refusal.reason).inc()
        if request_id is None:
            return None
        shown = None if request_id is _UNREAD else request_id
        return _encode({"jsonrpc": "2.0", "id": shown, "error": error_object(refusal, code)})

    def refusal(self, data: bytes, error: MeshError) -> bytes | None:
        """The answer that refuses a request without calling its method."""
        request_id: object = _UNREAD
        try:
            request_id, _ = _read_envelope(canonical.decode(data))
        except MeshError:
            pass  # the refusal is what it gets, whatever else is wrong with it
        if request_id is None:
            return None
        shown = None if request_id is _UNREAD else request_id
        return _encode({"jsonrpc": "2.0", "id": shown, "error": error_object(error)})

    async def _call(self, name: str, request: dict[str, Any], caller: Caller) -> dict[str, Any]:
        method = self._methods.get(name)
        if method is None:
            raise Malformed("method_not_found", f"There is no method {name[:64]!r}.")
        if method.program and caller.kind != "program":
            raise Refused("forbidden", f"{name} is for programs of this machine.")
        if method.live and caller.connection is None:
            raise Refused("unsupported", f"{name} needs a WebSocket.", next="Connect to /rpc.")
        params = read_params(method.params, request.get("params", {}))
        return await method.handler(self._surface, caller, params)

    def _fault(self, name: str, error: Exception) -> MeshError:
        correlation_id = self._entropy.bytes(8).hex()
        self._log.error("rpc.fault", method=name, correlation_id=correlation_id, exc_info=error)
        return Refused(
            "internal",
            "The node failed to answer; the fault is in its log.",
            next=f"See the node's log at {correlation_id}.",
            correlation_id=correlation_id,
        )


def _read_envelope(request: object) -> tuple[str | int | None, str]:
    """The request's id (None for a notification) and method.

    Raises:
        Malformed: reason `invalid_request`.
    """
    if isinstance(request, list):
        raise Malformed("invalid_request", "One request at a time: batches are not taken.")
    if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
        raise Malformed("invalid_request", "This is not a JSON-RPC 2.0 request.")
    name = request.get("method")
    if not isinstance(name, str):
        raise Malformed("invalid_request", "method must be text.", field="method")
    if not request.keys() <= {"jsonrpc", "id", "method", "params"}:
        raise Malformed("invalid_request", "The request has members that JSON-RPC does not know.")
    if "id" not in request:
        return None, name
    request_id = request["id"]
    if isinstance(request_id, str) and len(request_id) <= ID_CHARS_MAX:
        return request_id, name
    if isinstance(request_id, int) and not isinstance(request_id, bool):
        return request_id, name
    raise Malformed("invalid_request", "id must be a number or a short text.", field="id")
