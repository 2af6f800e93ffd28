"""Methods on browser sessions, over the real edge."""

from tests.http.edge import running_edge


async def test_a_login_link_is_for_programs() -> None:
    async with running_edge() as edge:
        made = (await edge.call("node.login_link"))["result"]
        assert made["link"].startswith(edge.url + "/#login=")
        assert made["expires_at"] == edge.clock.wall_ms + 600_000
        refused = await edge.call("node.login_link", headers=await edge.cookie())
        assert refused["error"]["data"]["reason"] == "forbidden"


async def test_sessions_are_listed_without_secrets_and_ended() -> None:
    async with running_edge() as edge:
        first, second = await edge.cookie(), await edge.cookie()
        listed = (await edge.call("node.sessions", headers=first))["result"]["sessions"]
        assert [row["current"] for row in listed].count(True) == 1
        assert {"session_id", "created_at", "last_seen_at", "user_agent", "current"} == set(
            listed[0]
        )
        assert listed[0]["user_agent"] == "Toy/1.0"
        mine = next(row["session_id"] for row in listed if row["current"])
        ended = await edge.call("node.session_revoke", {"session_id": mine}, headers=second)
        assert ended["result"] == {"revoked": True}
        again = await edge.call("node.session_revoke", {"session_id": mine}, headers=second)
        assert again["result"] == {"revoked": False}
        async with edge.client.post(edge.url + "/rpc", json={}, headers=first) as response:
            assert response.status == 401
