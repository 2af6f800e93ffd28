"""`POST /rpc`."""

from tests.http.edge import running_edge


async def test_a_request_is_answered_with_200_even_when_refused() -> None:
    async with running_edge() as edge:
        assert (await edge.call("toy.echo", {"text": "a"}))["result"] == {"text": "a", "count": 0}
        refused = await edge.call("toy.refuse", {"text": "a"})
        assert refused["error"]["data"]["status"] == 409


async def test_a_notification_has_no_body() -> None:
    async with running_edge() as edge:
        request = {"jsonrpc": "2.0", "method": "toy.who"}
        url = edge.url + "/rpc"
        async with edge.client.post(url, json=request, headers=edge.bearer) as response:
            assert response.status == 204
        assert len(edge.toys.callers) == 1


async def test_a_post_has_no_connection_to_push_on() -> None:
    async with running_edge() as edge:
        refused = await edge.call("toy.subscribe")
        assert refused["error"]["data"]["reason"] == "unsupported"


async def test_the_content_type_may_name_a_charset() -> None:
    async with running_edge() as edge:
        headers = {**edge.bearer, "Content-Type": "application/json; charset=utf-8"}
        body = b'{"jsonrpc":"2.0","id":1,"method":"toy.who"}'
        async with edge.client.post(edge.url + "/rpc", data=body, headers=headers) as response:
            assert response.status == 200
