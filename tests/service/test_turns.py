"""Turns of the agents that live here: once, in order, and with an end whatever happens."""

import asyncio
from pathlib import Path

import pytest

from gateway.exchange import TurnRequest
from mesh.core.errors import StorageFailed
from mesh.core.limits import TURN_DEADLINE_MS
from mesh.core.link_messages import Append, Propose, TurnDispatch, TurnReport
from mesh.core.room import RoomState
from mesh.service import turns
from tests.node.puppets import Puppet, says
from tests.service.installs import House, Install, a_house, eventually


async def lent(house: House, puppet: Puppet) -> tuple[Install, Install, str]:
    """A host, a lender with that puppet as `helper`, their room."""
    host, lender = await house.installs("desktop", "laptop")
    await lender.mounts_puppet("helper", puppet)
    room_id = await host.founds("Den")
    await lender.joins(host, room_id, "helper")
    return host, lender, room_id


def is_settled(state: RoomState) -> bool:
    """True when turns were asked for and all have ended."""
    return bool(state.turns) and not state.open_turns()


async def test_a_burst_is_answered_one_after_the_other_in_order(tmp_path: Path) -> None:
    """Situation 46: five at once to a busy member; none is merged, none lost."""
    running = most = 0

    async with a_house(tmp_path) as house:
        puppet = Puppet(lambda request: request.trigger.text.removeprefix("@helper "))
        host, lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        for number in range(5):
            await host.says(room_id, f"@helper {number}")
        await eventually(puppet.is_held.is_set)
        await eventually(lambda: len(lender.services.turns._open) == 5)
        running = len(lender.services.turns._running)
        most = max(most, running)
        assert most == 1 and len(puppet.asked) == 1
        puppet.hold.set()
        await host.until(room_id, lambda s: len(s.turns) == 5 and not s.open_turns())
        answers = [e.payload["text"] for e in await host.events(room_id, "message.member")]
        assert answers == ["0", "1", "2", "3", "4"]


async def test_what_an_agent_writes_is_seen_while_it_writes(tmp_path: Path) -> None:
    """As signals on both installs, before the event; the event is the truth."""
    async with a_house(tmp_path) as house:
        puppet = says("the answer")
        host, lender, room_id = await lent(house, puppet)
        readers = [await i.follows(room_id, i.state(room_id).head.seq) for i in (host, lender)]
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper go on")
        for reader in readers:
            await reader.until(lambda c: bool(c.signals("turn.delta")))
            (delta,) = reader.signals("turn.delta")
            assert (delta["n"], delta["text"]) == (0, "the answer")
        assert not await host.events(room_id, "message.member")
        shown = (await host.rooms.state(room_id))["turns"][0]
        assert (shown["state"], shown["draft"], shown["pieces"]) == ("running", "the answer", 1)
        puppet.hold.set()
        await host.until(room_id, is_settled)


async def test_a_dispatch_that_comes_again_runs_nothing(tmp_path: Path) -> None:
    """Situation 15: while it waits, while it runs, after it ended, after a restart."""
    async with a_house(tmp_path) as house:
        puppet = says("once")
        host, lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper go on")
        await eventually(puppet.is_held.is_set)
        (asked,) = house.sent(lender, TurnDispatch)
        desk = lender.services.turns
        desk.on_dispatch(host.install_id, asked)
        await eventually(lambda: not lender.jobs_under_way("_accept"))
        puppet.hold.set()
        await host.until(room_id, is_settled)
        await lender.catches_up(host, room_id)
        for _ in range(3):
            desk.on_dispatch(host.install_id, asked)
        await eventually(lambda: not lender.jobs_under_way("_accept"))
        await lender.stop()
        await lender.start()
        lender.services.turns.on_dispatch(host.install_id, asked)
        await host.says(room_id, "@helper again")
        await host.until(room_id, lambda s: len(s.turns) == 2 and not s.open_turns())
        assert len(puppet.asked) == 2
        assert await host.texts(room_id) == ["@helper go on", "once", "@helper again", "once"]


async def test_a_dispatch_far_ahead_of_our_copy_waits_for_it(tmp_path: Path) -> None:
    """The log is what is acted on; nothing is asked twice while it is waited for."""
    async with a_house(tmp_path) as house:
        puppet = says("late but here")
        host, lender, room_id = await lent(house, puppet)
        house.panel.drops = lambda sender, to, m: isinstance(m, Append) and to == lender.install_id
        await host.says(room_id, "@helper go on")
        await eventually(lambda: bool(lender.services.turns._awaited))
        (asked,) = house.sent(lender, TurnDispatch)
        for _ in range(3):
            lender.services.turns.on_dispatch(host.install_id, asked)
        await eventually(lambda: lender.jobs_under_way("_accept") == 1)
        assert len(lender.services.turns._awaited) == 1 and not puppet.asked
        house.panel.drops = lambda sender, to, message: False
        house.relink(host, lender)
        await host.until(room_id, is_settled)
        assert len(puppet.asked) == 1 and not lender.services.turns._awaited


async def test_dispatches_that_are_waited_for_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "DISPATCHES_AWAITED_MAX", 3)
    async with a_house(tmp_path) as house:
        host, lender, room_id = await lent(house, says("yes"))
        for number in range(10):
            lender.services.turns.on_dispatch(host.install_id, a_dispatch(room_id, number))
        await eventually(lambda: lender.jobs_under_way("_accept") == 3)
        assert len(lender.services.turns._awaited) == 3


async def test_a_dispatch_of_somebody_else_or_of_another_turn_is_not_taken(tmp_path: Path) -> None:
    """Who is not the room's host dispatches nothing; what the log says counts, not the message."""
    async with a_house(tmp_path) as house:
        puppet = says("yes")
        host, lender, room_id = await lent(house, puppet)
        house.panel.drops = lambda sender, to, message: isinstance(message, TurnDispatch)
        await host.says(room_id, "@helper go on")
        await eventually(lambda: bool(house.sent(lender, TurnDispatch)))
        await lender.catches_up(host, room_id)
        (asked,) = house.sent(lender, TurnDispatch)
        desk = lender.services.turns
        desk.on_dispatch("install:" + "0" * 32, asked)
        desk.on_dispatch(host.install_id, spoilt(asked, member_id="m_" + "0" * 32))
        desk.on_dispatch(host.install_id, spoilt(asked, room_id="r_" + "0" * 32))
        await eventually(lambda: not lender.jobs_under_way("_accept"))
        assert not puppet.asked and not desk._open
        # What only the message says is bounded or ignored.
        desk.on_dispatch(
            host.install_id,
            spoilt(asked, trigger_seq=1, hop=-5, root="other", deadline_ms=-1),
        )
        await host.until(room_id, is_settled)
        (request,) = puppet.asked
        assert request.trigger.text == "@helper go on" and request.hop == 1
        assert 0 < request.deadline_s <= TURN_DEADLINE_MS / 1_000


def spoilt(asked: TurnDispatch, **fields: object) -> TurnDispatch:
    """The dispatch with other fields."""
    values = {name: getattr(asked, name) for name in asked.__struct_fields__} | fields
    return TurnDispatch(**values)


def a_dispatch(room_id: str, number: int) -> TurnDispatch:
    """A dispatch of a turn that no log knows."""
    return TurnDispatch(
        room_id=room_id,
        turn_id=f"t_{number:032x}",
        member_id="m_" + "0" * 32,
        trigger_seq=1,
        root="e",
        hop=1,
        attempt=1,
        grant=b"",
        deadline_ms=1,
    )


async def test_a_stopped_turn_ends_and_the_next_one_runs(tmp_path: Path) -> None:
    """Stopped while it runs, and while it waits."""
    async with a_house(tmp_path) as house:
        puppet = says("never said")
        host, lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper one")
        await host.says(room_id, "@helper two")
        await eventually(puppet.is_held.is_set)
        await eventually(lambda: len(lender.services.turns._open) == 2)
        stopping = await host.rooms.stop(room_id, None)
        assert len(stopping["stopping"]) == 2
        await host.until(room_id, is_settled)
        await eventually(lambda: not lender.services.turns._open)
        puppet.hold = None
        await host.says(room_id, "@helper three")
        await host.until(room_id, lambda s: len(s.turns) == 3 and not s.open_turns())
        states = [str(t.state) for t in host.state(room_id).turns.values()]
        assert states == ["cancelled", "cancelled", "settled"]
        assert [r.trigger.text for r in puppet.asked] == ["@helper one", "@helper three"]


async def test_withdrawing_stops_what_runs(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        puppet = says("never said")
        host, lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper go on")
        await eventually(puppet.is_held.is_set)
        member_id = host.member_id(room_id, "helper")
        await lender.services.lending.withdraw(room_id, member_id)
        await host.until(room_id, is_settled)
        (failed,) = await host.events(room_id, "turn.failed")
        assert failed.payload["reason"] == "withdrawn"
        await eventually(lambda: not lender.services.turns._running)
        await host.says(room_id, "@helper still there?")
        await host.until(room_id, lambda s: not s.open_turns())
        assert len(puppet.asked) == 1
        refused = (await host.events(room_id, "turn.failed"))[-1]
        assert refused.payload["reason"] == "withdrawn"


@pytest.mark.parametrize("breaks", [RuntimeError("planted"), ValueError("planted")])
async def test_an_agent_that_breaks_fails_its_turn_and_no_other(
    tmp_path: Path, breaks: Exception
) -> None:
    """The gateway holds its breakdown; the next turn runs."""
    async with a_house(tmp_path) as house:
        answers: list[str | Exception] = [breaks, "better"]
        host, _lender, room_id = await lent(house, Puppet(lambda request: answers.pop(0)))
        await host.says(room_id, "@helper one")
        await host.says(room_id, "@helper two")
        await host.until(room_id, lambda s: len(s.turns) == 2 and not s.open_turns())
        (failed,) = await host.events(room_id, "turn.failed")
        assert failed.payload["reason"] == "backend_failed"
        assert (await host.texts(room_id))[-1] == "better"


async def test_a_fault_of_ours_fails_its_turn_and_the_next_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no rule expects costs one turn, visibly, and not the member's whole queue."""
    async with a_house(tmp_path) as house:
        host, lender, room_id = await lent(house, says("better"))
        desk, request = lender.services.turns, lender.services.turns._request
        faults = [ZeroDivisionError("planted")]

        async def planted(*arguments: object) -> TurnRequest:
            if faults:
                raise faults.pop()
            return await request(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(desk, "_request", planted)
        await host.says(room_id, "@helper one")
        await host.says(room_id, "@helper two")
        await host.until(room_id, lambda s: len(s.turns) == 2 and not s.open_turns())
        (failed,) = await host.events(room_id, "turn.failed")
        assert failed.payload["reason"] == "internal"
        assert (await host.texts(room_id))[-1] == "better"
        assert [type(fault) for fault in lender.faults] == [ZeroDivisionError]
        lender.faults.clear()


async def test_a_disk_that_is_full_for_a_moment_costs_one_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house(tmp_path) as house:
        host, lender, room_id = await lent(house, says("better"))
        inbox = lender.services.turns._inbox
        set_context_seq = inbox.set_context_seq
        faults = [StorageFailed("storage_full", "No.")]

        async def planted(*arguments: object) -> None:
            if faults:
                raise faults.pop()
            await set_context_seq(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(inbox, "set_context_seq", planted)
        await host.says(room_id, "@helper one")
        await host.says(room_id, "@helper two")
        await host.until(room_id, lambda s: len(s.turns) == 2 and not s.open_turns())
        (failed,) = await host.events(room_id, "turn.failed")
        assert failed.payload["reason"] == "storage_full"
        assert (await host.texts(room_id))[-1] == "better"


async def test_a_turn_that_was_running_when_the_process_died_is_uncertain(tmp_path: Path) -> None:
    """Situation 19: it is not run again silently, and the room is told."""
    async with a_house(tmp_path) as house:
        puppet = says("half")
        host, lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper go on")
        await eventually(puppet.is_held.is_set)
        await host.until(room_id, lambda s: any(t.state == "running" for t in s.turns.values()))
        await lender.dies()
        puppet.hold = None
        await lender.start()
        await host.until(room_id, is_settled)
        (event,) = await host.events(room_id, "turn.uncertain")
        assert event.payload["reason"] == "interrupted"
        assert len(puppet.asked) == 1


async def test_an_answer_that_was_kept_before_the_process_died_is_posted_once(
    tmp_path: Path,
) -> None:
    """It stands in the outbox; the turn is settled by it and not run again."""
    async with a_house(tmp_path) as house:
        puppet = says("kept")
        host, lender, room_id = await lent(house, puppet)
        lost = (Propose, TurnReport)
        house.panel.drops = lambda sender, to, m: isinstance(m, lost) and to == host.install_id
        await host.says(room_id, "@helper go on")
        await eventually(lambda: bool(lender.room(room_id).machine.copy.waiting()))
        turn_id = next(iter(lender.state(room_id).turns))
        # As if it had died between the outbox and the row.
        await eventually(lambda: lender.services.turns._open[turn_id].state == "settled")
        await lender.services.turns._inbox.set_state(turn_id, "running")
        await lender.dies()
        house.panel.drops = lambda sender, to, message: False
        await lender.start()
        await host.until(room_id, is_settled)
        assert await host.texts(room_id) == ["@helper go on", "kept"]
        assert len(puppet.asked) == 1


async def test_a_queued_turn_survives_a_restart(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        puppet = says("done")
        host, lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper one")
        await host.says(room_id, "@helper two")
        await eventually(lambda: len(lender.services.turns._open) == 2)
        await eventually(puppet.is_held.is_set)
        await lender.dies()
        puppet.hold = None
        await lender.start()
        await host.until(room_id, lambda s: len(s.turns) == 2 and not s.open_turns())
        states = [str(t.state) for t in host.state(room_id).turns.values()]
        assert states == ["uncertain", "settled"]


async def test_rows_of_a_room_that_does_not_open_wait_for_it(tmp_path: Path) -> None:
    async with a_house(tmp_path) as house:
        puppet = says("done")
        host, lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper one")
        await eventually(puppet.is_held.is_set)
        await lender.dies()

        async def damaged(room_id: str) -> str:
            return "planted"

        lender.verify = damaged
        await lender.start()
        assert await lender.services.turns._inbox.open_rows()
        await lender.stop()
        lender.verify = None
        puppet.hold = None
        await lender.start()
        await host.until(room_id, is_settled)
        assert [e.kind for e in await host.events(room_id, "turn.uncertain")]


async def test_an_answer_that_the_room_refuses_fails_its_turn(tmp_path: Path) -> None:
    """The member was muted while it wrote."""
    async with a_house(tmp_path) as house:
        puppet = says("too late")
        host, _lender, room_id = await lent(house, puppet)
        puppet.hold = asyncio.Event()
        await host.says(room_id, "@helper go on")
        await eventually(puppet.is_held.is_set)
        member_id = host.member_id(room_id, "helper")
        muted = {"member_id": member_id, "muted": True}
        await host.rooms.control(room_id, "member.muted", muted)
        puppet.hold.set()
        await host.until(room_id, is_settled)
        (failed,) = await host.events(room_id, "turn.failed")
        assert failed.payload["reason"] == "muted"
        assert await host.texts(room_id) == ["@helper go on"]


async def test_an_agent_is_given_what_it_has_not_been_given_before(tmp_path: Path) -> None:
    """History since its last turn, who is here, and nothing twice."""
    async with a_house(tmp_path) as house:
        puppet = says("yes")
        host, _lender, room_id = await lent(house, puppet)
        await host.says(room_id, "before")
        await host.says(room_id, "@helper one")
        await host.until(room_id, is_settled)
        await host.says(room_id, "between")
        await host.says(room_id, "@helper two")
        await host.until(room_id, lambda s: len(s.turns) == 2 and not s.open_turns())
        first, second = puppet.asked
        assert [line.text for line in first.history] == ["before"]
        assert [line.text for line in second.history] == ["yes", "between"]
        assert second.trigger.text == "@helper two" and second.room_name == "Den"
        assert {m.handle for m in second.members} >= {"helper"}
        assert first.hop == 1 and len(puppet.lines) == len(set(puppet.lines))
