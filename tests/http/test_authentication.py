"""Who gets in: tokens and cookies, each with its own rule about Origin."""

from typing import Any

import pytest

from tests.http.edge import TOKEN, Edge, running_edge

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "toy.who"}


async def refused(edge: Edge, headers: dict[str, str]) -> tuple[int, str]:
    async with edge.client.post(edge.url + "/rpc", json=REQUEST, headers=headers) as response:
        body: Any = await response.json()
        assert TOKEN not in await response.text()
        return response.status, body.get("error", {}).get("reason", "")


async def test_a_program_needs_its_token_and_no_origin() -> None:
    async with running_edge() as edge:
        assert (await edge.call("toy.who"))["result"] == {"kind": "program"}
        assert await refused(edge, {}) == (403, "wrong_origin")
        for wrong in ("Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer", f"Bearer {TOKEN}x"):
            assert await refused(edge, {"Authorization": wrong}) == (401, "unauthenticated")


async def test_a_foreign_page_with_the_token_is_refused() -> None:
    async with running_edge() as edge:
        foreign = {**edge.bearer, "Origin": "https://evil.example"}
        assert await refused(edge, foreign) == (403, "wrong_origin")
        assert await refused(edge, {**edge.bearer, "Origin": edge.url}) == (200, "")


async def test_a_cookie_counts_only_with_our_origin() -> None:
    async with running_edge() as edge:
        cookie = await edge.cookie()
        assert (await edge.call("toy.who", headers=cookie))["result"] == {"kind": "browser"}
        bare = {"Cookie": cookie["Cookie"]}
        assert await refused(edge, bare) == (403, "wrong_origin")
        for origin in ("null", "https://evil.example", f"http://127.0.0.1:{edge.port + 1}"):
            assert await refused(edge, {**bare, "Origin": origin}) == (403, "wrong_origin")


async def test_an_unknown_cookie_is_nobody() -> None:
    async with running_edge() as edge:
        headers = {"Origin": edge.url}
        assert await refused(edge, headers) == (401, "unauthenticated")
        headers["Cookie"] = f"{edge.sessions.cookie_name}=invented"
        assert await refused(edge, headers) == (401, "unauthenticated")


async def test_two_installs_on_one_machine_do_not_share_a_cookie() -> None:
    async with running_edge() as edge:
        cookie = await edge.cookie()
        other = cookie["Cookie"].replace("roommesh_0123abcd", "roommesh_ffffffff")
        assert await refused(edge, {**cookie, "Cookie": other}) == (401, "unauthenticated")
        both = {**cookie, "Cookie": f"roommesh_ffffffff=theirs; {cookie['Cookie']}"}
        assert await refused(edge, both) == (200, "")


@pytest.mark.parametrize("place", ["?token=", "?access_token=", "?authorization=Bearer "])
async def test_a_token_in_the_query_is_not_looked_at(place: str) -> None:
    async with running_edge() as edge:
        url = f"{edge.url}/rpc{place}{TOKEN}"
        headers = {"Origin": edge.url}
        async with edge.client.post(url, json=REQUEST, headers=headers) as response:
            assert response.status == 401
            assert TOKEN not in await response.text()
