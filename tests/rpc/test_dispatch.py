"""One request in, one answer out; refusals keep their reason, faults keep their secret."""

import json
from typing import Any

import pytest

from mesh.core.errors import MeshError, Refused
from mesh.core.limits import RPC_BYTES_MAX
from mesh.rpc.caller import Caller
from mesh.rpc.dispatch import Dispatch, error_object
from mesh.telemetry import Metrics
from tests.http.edge import CANARY, CountedEntropy, KeptLog, Toys, bare_surface

PROGRAM = Caller(kind="program")


@pytest.fixture
def toys() -> Toys:
    return Toys()


@pytest.fixture
def log() -> KeptLog:
    return KeptLog()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def dispatch(toys: Toys, log: KeptLog, metrics: Metrics) -> Dispatch:
    return Dispatch(
        methods=toys.methods(),
        surface=bare_surface(),
        entropy=CountedEntropy(),
        log=log,
        metrics=metrics,
    )


async def ask(dispatch: Dispatch, request: object, caller: Caller = PROGRAM) -> Any:
    data = request if isinstance(request, bytes) else json.dumps(request).encode()
    answer = await dispatch.answer(data, caller)
    return None if answer is None else json.loads(answer)


def call(name: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": name, "params": params}


async def test_a_request_is_answered_under_its_id(dispatch: Dispatch) -> None:
    for request_id in (0, 1, -3, "a", ""):
        answer = await ask(dispatch, {**call("toy.echo", text="héllo"), "id": request_id})
        assert answer == {
            "jsonrpc": "2.0",
            "id": request_id,
            "result": {"text": "héllo", "count": 0},
        }


async def test_params_may_be_left_out(dispatch: Dispatch) -> None:
    answer = await ask(dispatch, {"jsonrpc": "2.0", "id": 1, "method": "toy.who"})
    assert answer["result"] == {"kind": "program"}


async def test_a_notification_is_done_and_not_answered(dispatch: Dispatch, toys: Toys) -> None:
    assert await ask(dispatch, {"jsonrpc": "2.0", "method": "toy.who"}) is None
    assert toys.callers == [PROGRAM]
    assert await ask(dispatch, {"jsonrpc": "2.0", "method": "toy.nothing"}) is None


@pytest.mark.parametrize(
    "request_",
    [
        [],
        [call("toy.who")],
        "toy.who",
        7,
        None,
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "toy.who"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": None, "method": "toy.who"},
        {"jsonrpc": "2.0", "id": True, "method": "toy.who"},
        {"jsonrpc": "2.0", "id": [1], "method": "toy.who"},
        {"jsonrpc": "2.0", "id": "x" * 200, "method": "toy.who"},
        {"jsonrpc": "2.0", "id": 1, "method": "toy.who", "extra": 1},
    ],
)
async def test_what_is_no_single_request_is_refused(
    dispatch: Dispatch, toys: Toys, request_: object
) -> None:
    answer = await ask(dispatch, request_)
    assert answer["error"]["code"] == -32600
    assert answer["error"]["data"]["reason"] == "invalid_request"
    assert answer["id"] is None
    assert toys.callers == []


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff",
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"toy.who"}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy.who"} x',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"toy.who"}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy.echo","params":{"text":"a","text":"b"}}',
        b'{"jsonrpc":"2.0","id":1.0,"method":"toy.who"}',
        b'{"jsonrpc":"2.0","id":1e3,"method":"toy.who"}',
        b'{"jsonrpc":"2.0","id":-0,"method":"toy.who"}',
        b'{"jsonrpc":"2.0","id":9007199254740992,"method":"toy.who"}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy.echo","params":{"text":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"toy.echo","params":' + b"[" * 100_000,
        b"9" * 1_000_000,
    ],
)
async def test_loose_json_is_a_parse_error(dispatch: Dispatch, toys: Toys, data: bytes) -> None:
    answer = await ask(dispatch, data)
    assert answer["error"]["code"] == -32700
    assert answer["error"]["data"]["reason"] == "invalid_params"
    assert answer["error"]["data"]["status"] == 422
    assert toys.callers == []


async def test_above_the_size_nothing_is_parsed(dispatch: Dispatch) -> None:
    answer = await ask(dispatch, b'"' + b"x" * RPC_BYTES_MAX + b'"')
    assert answer["error"]["data"]["reason"] == "too_large"


async def test_an_unknown_method_is_said(dispatch: Dispatch) -> None:
    answer = await ask(dispatch, call("toy.nothing"))
    assert answer["error"]["code"] == -32601
    assert answer["error"]["data"]["reason"] == "method_not_found"


async def test_a_wrong_parameter_is_said(dispatch: Dispatch) -> None:
    answer = await ask(dispatch, call("toy.echo", text="a", cuont=1))
    assert answer["error"]["code"] == -32602
    assert answer["error"]["data"]["field"] == "cuont"
    answer = await ask(dispatch, {**call("toy.echo"), "params": ["a"]})
    assert answer["error"]["data"]["reason"] == "invalid_params"


async def test_a_refusal_keeps_reason_status_next_and_fields(dispatch: Dispatch) -> None:
    answer = await ask(dispatch, call("toy.refuse", text="a"))
    assert answer["error"] == {
        "code": -32000,
        "message": "Told to refuse.",
        "data": {
            "reason": "conflict",
            "status": 409,
            "next": "Use a new id for new content.",
            "seq": 7,
        },
    }


async def test_a_fault_is_logged_and_not_shown(dispatch: Dispatch, log: KeptLog) -> None:
    answer = await ask(dispatch, call("toy.break"))
    assert answer["error"]["code"] == -32603
    assert answer["error"]["data"]["reason"] == "internal"
    assert CANARY not in json.dumps(answer)
    (level, event, values) = log.lines[0]
    assert (level, event, values["method"]) == ("error", "rpc.fault", "toy.break")
    assert values["correlation_id"] == answer["error"]["data"]["correlation_id"]
    assert isinstance(values["exc_info"], RuntimeError)


async def test_who_may_call_is_checked_before_the_parameters(dispatch: Dispatch) -> None:
    browser = Caller(kind="browser", session_id="s_1")
    answer = await ask(dispatch, call("toy.program", wrong=1), browser)
    assert answer["error"]["data"]["reason"] == "forbidden"
    assert (await ask(dispatch, call("toy.program")))["result"]
    answer = await ask(dispatch, call("toy.subscribe"))
    assert answer["error"]["data"]["reason"] == "unsupported"


async def test_refusals_are_counted_by_known_names_only(
    dispatch: Dispatch, metrics: Metrics
) -> None:
    await ask(dispatch, call("toy.refuse", text="a"))
    await ask(dispatch, call("attacker\nmetric"))
    await ask(dispatch, call("toy.who"))
    text = metrics.render().decode()
    assert 'roommesh_rpc_refusals_total{method="toy.refuse",reason="conflict"} 1.0' in text
    assert 'roommesh_rpc_refusals_total{method="",reason="method_not_found"} 1.0' in text
    assert 'roommesh_rpc_requests_total{method="toy.who"} 1.0' in text
    assert "attacker" not in text


async def test_a_request_is_refused_without_a_call(dispatch: Dispatch, toys: Toys) -> None:
    busy = Refused("busy", "Too many.")
    answer = json.loads(dispatch.refusal(json.dumps(call("toy.who")).encode(), busy) or b"")
    assert (answer["id"], answer["error"]["data"]["reason"]) == (1, "busy")
    assert dispatch.refusal(b'{"jsonrpc":"2.0","method":"toy.who"}', busy) is None
    assert json.loads(dispatch.refusal(b"{", busy) or b"")["id"] is None
    assert toys.callers == []


def test_every_reason_has_a_code() -> None:
    assert error_object(MeshError("invalid_params", "x"))["code"] == -32602
    assert error_object(MeshError("busy", "x"))["code"] == -32000
    assert error_object(MeshError("busy", "x"), -32700)["code"] == -32700
