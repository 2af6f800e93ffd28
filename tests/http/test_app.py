"""The routes, and what holds for all of them."""

from typing import Any

import pytest

from tests.http.edge import Edge, running_edge

GETS = ["/", "/i", "/livez", "/readyz", "/metrics", "/.well-known/roommesh", "/link", "/rpc", "/x"]


async def reason(edge: Edge, method: str, path: str, **headers: str) -> tuple[int, str]:
    url = edge.url + path
    async with edge.client.request(method, url, headers=headers) as response:
        said: Any = await response.json() if "json" in response.content_type else {}
        return response.status, said.get("error", {}).get("reason", "")


@pytest.mark.parametrize("path", GETS)
async def test_a_rebound_name_reaches_no_route(path: str) -> None:
    async with running_edge() as edge:
        assert await reason(edge, "GET", path, Host="evil.example") == (421, "wrong_host")
        named = await reason(edge, "POST", path, Host="evil.example", **edge.bearer)
        assert named == (421, "wrong_host")


async def test_paths_and_methods_that_are_not_there() -> None:
    async with running_edge() as edge:
        assert await reason(edge, "GET", "/nothing") == (404, "not_found")
        assert await reason(edge, "DELETE", "/rpc") == (405, "unsupported")
        assert await reason(edge, "GET", "/logout") == (405, "unsupported")
        assert await reason(edge, "GET", "/rpc", **edge.bearer) == (400, "invalid_request")


async def test_a_refusal_is_not_stored_and_has_the_headers() -> None:
    async with running_edge() as edge, edge.client.get(edge.url + "/nothing") as response:
        assert response.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in response.headers


async def test_another_origin_gets_no_permission_to_read() -> None:
    async with running_edge() as edge:
        headers = {
            "Origin": "https://evil.example",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }
        async with edge.client.options(edge.url + "/rpc", headers=headers) as response:
            assert response.status == 405
            assert not [name for name in response.headers if name.startswith("Access-Control")]


async def test_looking_changes_nothing() -> None:
    async with running_edge() as edge:
        cookie = await edge.cookie()
        before = (dict(edge.store.rows), dict(edge.store.logins))
        for path in GETS:
            await reason(edge, "GET", path, Cookie=cookie["Cookie"])
        assert (edge.store.rows, edge.store.logins) == before


async def test_nodes_have_their_own_road() -> None:
    async with running_edge() as edge, edge.client.get(edge.url + "/link") as response:
        assert await response.text() == "link"
