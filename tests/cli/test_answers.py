"""Following a chain of answers by its root."""

from typing import Any

from mesh.cli.answers import Answers, Piece
from mesh.client import RoomEvent, RoomGap, RoomSignal
from mesh.core import ids

ROOM, MINE, ANN, ECHO = "r_1", "e_mine", "m_ann", "m_echo"


class Log:
    """Makes items in order."""

    def __init__(self) -> None:
        self.seq = 0

    def event(self, kind: str, event_id: str = "e", actor: str = ANN, **payload: Any) -> RoomEvent:
        self.seq += 1
        whole = {"kind": kind, "event_id": event_id, "actor": {"id": actor}, "payload": payload}
        return RoomEvent(room_id=ROOM, seq=self.seq, event=whole)


def delta(turn_id: str, text: str) -> RoomSignal:
    payload = {"kind": "turn.delta", "turn_id": turn_id, "member_id": ECHO, "text": text}
    return RoomSignal(room_id=ROOM, payload=payload)


def admitted(log: Log, turn_id: str, root: str = MINE) -> RoomEvent:
    return log.event("turn.admitted", turn_id=turn_id, member_id=ECHO, root=root)


def text_of(answers: Answers, *items: Any) -> str:
    return "".join(piece.text for item in items for piece in answers.take(item))


def settled(answers: Answers) -> bool:
    return answers.settled


def begun() -> tuple[Answers, Log]:
    answers, log = Answers(MINE), Log()
    assert not settled(answers)
    assert text_of(answers, log.event("message.user", MINE, text="@echo hi")) == ""
    assert settled(answers)
    return answers, log


def test_a_message_nobody_answers_is_settled_at_once() -> None:
    answers, _ = begun()
    assert answers.ended == []


def test_pieces_are_shown_and_the_end_completes_them() -> None:
    answers, log = begun()
    assert text_of(answers, admitted(log, "t_1"), delta("t_1", "he"), delta("t_1", "l")) == "hel"
    assert not settled(answers)
    final = log.event("message.member", "t_1", ECHO, turn_id="t_1", text="hello")
    assert list(answers.take(final)) == [Piece(member_id=ECHO, text="lo", ends=True)]
    assert text_of(answers, log.event("turn.settled", turn_id="t_1", member_id=ECHO)) == ""
    assert settled(answers) and not answers.failures
    assert answers.ended[0]["text"] == "hello"


def test_missed_pieces_do_not_garble_the_answer() -> None:
    answers, log = begun()
    final = log.event("message.member", "t_1", ECHO, turn_id="t_1", text="hello")
    assert text_of(answers, admitted(log, "t_1"), delta("t_1", "llo"), final) == "llo\nhello"


def test_other_chains_are_left_alone() -> None:
    answers, log = begun()
    other = admitted(log, "t_x", "e_other")
    failed = log.event("turn.failed", turn_id="t_x", member_id=ECHO, reason="x", message="")
    assert text_of(answers, other, delta("t_x", "not for us"), failed) == ""
    assert settled(answers) and answers.ended == []


def test_an_answer_that_asks_another_agent_goes_on() -> None:
    answers, log = begun()
    text_of(answers, admitted(log, "t_1"))
    text_of(answers, log.event("message.member", "t_1", ECHO, turn_id="t_1", text="@guide?"))
    text_of(answers, log.event("turn.settled", turn_id="t_1", member_id=ECHO))
    assert settled(answers)
    text_of(answers, admitted(log, "t_2"))
    assert not settled(answers)


def test_a_turn_that_was_refused_before_it_began_is_ours_by_its_id() -> None:
    answers, log = begun()
    turn_id = ids.turn_id(ROOM, MINE, ids.event_key(ANN, MINE), ECHO, 1)
    refusal = {"member_id": ECHO, "reason": "withdrawn", "message": "Gone."}
    text_of(answers, log.event("turn.failed", turn_id="t_other", **refusal))
    assert answers.failures == []
    text_of(answers, log.event("turn.failed", turn_id=turn_id, **refusal))
    assert [one["reason"] for one in answers.failures] == ["withdrawn"]


def test_failures_are_those_without_an_answer() -> None:
    answers, log = begun()
    for n, kind in enumerate(("settled", "passed", "failed", "cancelled", "uncertain")):
        text_of(answers, admitted(log, f"t_{n}"))
        text_of(answers, log.event(f"turn.{kind}", turn_id=f"t_{n}", member_id=ECHO))
    assert [one["state"] for one in answers.failures] == ["failed", "cancelled", "uncertain"]


def test_a_gap_is_no_answer() -> None:
    answers, _ = begun()
    gap = RoomGap(room_id=ROOM, from_seq=9, latest_seq=1, state={})
    assert list(answers.take(gap)) == []
