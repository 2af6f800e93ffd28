"""Who is heard."""

from hypothesis import given, settings
from hypothesis import strategies as st

from audio.limits import TALKERS_MAX
from audio.talkers import HOLD_S, LOUD_DBOV, Talkers

LOUD, LOUDER, QUIET = 30, 20, 90


def speak(talkers: Talkers, who: str, level: int, now_s: float) -> None:
    """A packet of somebody with a claim; decoded when the rules ask for it."""
    if talkers.claim(who, level, now_s):
        talkers.measure(who, level, now_s)


def test_a_claim_alone_lets_nobody_in() -> None:
    talkers = Talkers()
    assert talkers.claim("anna", LOUD, 0.0)
    assert talkers.choose(0.0) == ()
    talkers.measure("anna", LOUD, 0.0)
    assert talkers.choose(0.0) == ("anna",)


def test_a_liar_is_seldom_decoded_and_never_heard() -> None:
    talkers, looks = Talkers(), 0
    for packet in range(500):
        now_s = packet * 0.02
        if talkers.claim("liar", LOUDER, now_s):
            looks += 1
            talkers.measure("liar", 127, now_s)
        assert talkers.choose(now_s) == ()
    assert looks <= 5 * 10


def test_a_talker_who_turns_out_silent_loses_his_place() -> None:
    talkers = Talkers()
    speak(talkers, "liar", LOUD, 0.0)
    assert talkers.choose(0.0) == ("liar",)
    now_s = 0.0
    for packet in range(1, 100):
        now_s = packet * 0.02
        talkers.claim("liar", LOUDER, now_s)
        talkers.measure("liar", 127, now_s)
    assert talkers.choose(now_s) == ()


def test_a_pause_between_words_keeps_the_place() -> None:
    talkers = Talkers()
    speak(talkers, "anna", LOUD, 0.0)
    talkers.choose(0.0)
    speak(talkers, "anna", QUIET, HOLD_S * 0.9)
    assert talkers.choose(HOLD_S * 0.9) == ("anna",)
    assert talkers.choose(HOLD_S * 1.01) == ()


def test_a_full_house_opens_to_the_clearly_louder_only() -> None:
    talkers = Talkers()
    for packet in range(100):
        now_s = packet * 0.02
        for who in ("anna", "ben", "cleo"):
            speak(talkers, who, LOUD, now_s)
        if packet > 50:
            speak(talkers, "dora", LOUD - 3, now_s)
        assert "dora" not in talkers.choose(now_s)
    for packet in range(100, 150):
        now_s = packet * 0.02
        for who in ("anna", "ben", "cleo"):
            speak(talkers, who, LOUD, now_s)
        speak(talkers, "dora", LOUD - 12, now_s)
        heard = talkers.choose(now_s)
    assert "dora" in heard and len(heard) == TALKERS_MAX


def test_who_is_removed_is_no_talker_at_once() -> None:
    talkers = Talkers()
    speak(talkers, "anna", LOUD, 0.0)
    talkers.choose(0.0)
    talkers.remove("anna")
    assert talkers.choose(0.001) == ()


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"), st.integers(0, 127), st.integers(0, 127),
            st.floats(0, 0.5),
        ),
        max_size=150,
    )
)
def test_never_more_than_three_and_only_the_measured(
    packets: list[tuple[str, int, int, float]]
) -> None:
    talkers, now_s, loud = Talkers(), 0.0, set[str]()
    for who, claimed, real, pause_s in packets:
        now_s += pause_s
        if talkers.claim(who, claimed, now_s):
            talkers.measure(who, real, now_s)
            if real <= LOUD_DBOV:
                loud.add(who)
        heard = talkers.choose(now_s)
        assert len(heard) <= TALKERS_MAX and set(heard) <= loud
        assert heard == talkers.choose(now_s), "asking twice changes nothing"


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(25, 35), min_size=200, max_size=200))
def test_small_differences_do_not_flap(levels: list[int]) -> None:
    talkers, changes = Talkers(), 0
    before: tuple[str, ...] = ()
    for packet, level in enumerate(levels):
        now_s = packet * 0.02
        for who in "abcd":
            speak(talkers, who, level + "abcd".index(who) - 2, now_s)
        heard = talkers.choose(now_s)
        changes += bool(before) and set(heard) != set(before)
        before = heard
    assert changes <= 2
