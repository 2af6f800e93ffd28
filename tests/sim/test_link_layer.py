"""The link layer: frames in order and whole, or no link."""

from random import Random
from typing import Any

from tests.sim.link_layer import GAP_S, SILENCE_S, Happened, LinkLayer


class Pair:
    """B dials A over a network that a test commands."""

    def __init__(self) -> None:
        self.ends = {"A#0": LinkLayer("A#0", ()), "B#0": LinkLayer("B#0", ("A#0",))}
        self.now_s = 0.0
        self.seen: dict[str, list[Happened]] = {"A#0": [], "B#0": []}
        self._fresh = 0

    def tick(self, name: str) -> list[tuple[str, tuple[Any, ...]]]:
        """Time has passed at one end; returns what it sends."""
        self._fresh += 1
        happened, out = self.ends[name].tick(self.now_s, self._fresh)
        self.seen[name] += happened
        return out

    def bring(self, out: list[tuple[str, tuple[Any, ...]]]) -> list[tuple[str, tuple[Any, ...]]]:
        """The network delivers; returns what is answered."""
        answers = []
        for target, message in out:
            happened, more = self.ends[target].handle(message, self.now_s)
            self.seen[target] += happened
            answers += more
        return answers

    def up(self) -> None:
        """Open the link."""
        self.bring(self.bring(self.tick("B#0")))
        assert self.ends["A#0"].is_up("B#0") and self.ends["B#0"].is_up("A#0")

    def got(self, name: str) -> list[bytes]:
        """The frames that one end handed on."""
        return [h.data for h in self.seen[name] if h.what == "frame"]


def test_frames_come_in_order_whatever_the_network_does() -> None:
    pair = Pair()
    pair.up()
    one, two, three = (pair.ends["B#0"].frame("A#0", data) for data in (b"1", b"2", b"3"))
    for out in (three, one, one, two, three):
        assert pair.bring(out) == []
    assert pair.got("A#0") == [b"1", b"2", b"3"]


def test_what_is_lost_ends_the_link_for_both() -> None:
    pair = Pair()
    pair.up()
    pair.ends["B#0"].frame("A#0", b"lost")
    pair.bring(pair.tick("B#0"))  # its ping tells that there was one
    pair.now_s += GAP_S + 0.1
    pair.bring(pair.tick("A#0"))
    assert [h.what for h in pair.seen["A#0"]] == ["up", "down"]
    assert [h.what for h in pair.seen["B#0"]] == ["up", "down"]
    pair.up()


def test_silence_ends_the_link() -> None:
    pair = Pair()
    pair.up()
    pair.now_s += SILENCE_S + 0.1
    pair.tick("A#0")
    assert not pair.ends["A#0"].is_up("B#0")


def test_a_frame_that_overtakes_the_acceptance_waits() -> None:
    pair = Pair()
    accept = pair.bring(pair.tick("B#0"))
    pair.bring(pair.ends["A#0"].frame("B#0", b"1"))
    assert pair.got("B#0") == []
    pair.bring(accept)
    assert [h.what for h in pair.seen["B#0"]] == ["up", "frame"]


def test_a_stray_of_an_older_connection_opens_nothing_for_long() -> None:
    pair = Pair()
    stray = pair.tick("B#0")
    pair.bring(pair.bring(stray))
    pair.bring(pair.ends["A#0"].hang_up("B#0")[1])
    pair.up()
    # The first dial, once more: the older connection replaces the newer one, and is reset.
    pair.bring(pair.bring(pair.bring(stray)))
    assert not pair.ends["A#0"].is_up("B#0")
    pair.bring(pair.bring(pair.ends["B#0"].frame("A#0", b"into nothing")))
    assert not pair.ends["B#0"].is_up("A#0")
    pair.up()


def test_any_network_yields_a_beginning_of_what_was_sent() -> None:
    random = Random(5)
    for _ in range(200):
        pair = Pair()
        pair.up()
        wire = []
        for n in range(8):
            wire += pair.ends["B#0"].frame("A#0", bytes([n])) * random.choice([0, 1, 1, 1, 2])
        random.shuffle(wire)
        pair.bring(wire)
        assert pair.got("A#0") == [bytes([n]) for n in range(len(pair.got("A#0")))]
