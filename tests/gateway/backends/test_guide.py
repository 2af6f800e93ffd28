"""The guide: names what is really there, and wakes nobody."""

from gateway.backends.guide import answer
from gateway.backends.mentions import quiet
from tests.gateway.a_room import line, member, request


def test_the_tour_names_events_and_members() -> None:
    one = request("@guide show me around", [line(3, "hello @ben"), line(9, "hi", by="ben")], seq=12)
    tour = answer(one, (*one.history, one.trigger))
    assert tour.startswith("Welcome to **Kitchen**, ann. Your words are event #12")
    assert "event #3: ann wrote “hello ben”. Since then ann, ben wrote 2 in all." in tour
    assert "People who joined: ann (present), ben (offline)." in tour
    assert "Agents who joined: scribe (present)." in tour
    assert "Where to look:" in tour
    assert quiet(tour) == tour


def test_a_quiet_room_and_a_crowded_one() -> None:
    alone = request("hello", members=())
    assert "nobody had written anything" in answer(alone, (alone.trigger,))
    assert "People who joined: none." in answer(alone, (alone.trigger,))
    many = [line(seq, "x", by=f"p{seq}") for seq in range(1, 9)]
    crowd = request("hello", many, members=tuple(member(f"p{seq}") for seq in range(1, 9)))
    assert "Since then 8 members wrote 8 in all." in answer(crowd, many)
