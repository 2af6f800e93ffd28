"""Which candidates are tried."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio import ice
from audio.ice import CheckBudget, Policy, Verdict
from audio.limits import CANDIDATES_TRIED_MAX, CHECKS_PER_S_MAX

ANYWHERE = Policy()


def line(host: str = "192.0.2.7", port: int = 50_000, **changes: str) -> str:
    words = {"component": "1", "transport": "udp", "kind": "host", "priority": "2130706431"}
    words |= changes
    return (
        f"candidate:1 {words['component']} {words['transport']} {words['priority']} "
        f"{host} {port} typ {words['kind']}"
    )


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (line(), Verdict.TRIED),
        (line("2001:db8::7"), Verdict.TRIED),
        (line(transport="tcp"), Verdict.NOT_UDP),
        (line(component="2"), Verdict.COMPONENT),
        (line("5f8c9a3e-0d54.local"), Verdict.HIDDEN_NAME),
        (line("printer.example"), Verdict.ADDRESS),
        (line("127.0.0.1"), Verdict.ADDRESS),
        (line("::1"), Verdict.ADDRESS),
        (line("::ffff:10.0.0.1"), Verdict.ADDRESS),
        (line("0.0.0.0"), Verdict.ADDRESS),
        (line("224.0.0.251"), Verdict.ADDRESS),
        (line("255.255.255.255"), Verdict.ADDRESS),
        (line("169.254.169.254"), Verdict.ADDRESS),
        (line("fe80::1%eth0"), Verdict.ADDRESS),
        (line(port=25), Verdict.PORT),
        (line(port=53), Verdict.PORT),
        (line(port=445), Verdict.PORT),
        (line(port=99_999), Verdict.PORT),
        (line(kind="ghost"), Verdict.MALFORMED),
        ("candidate:", Verdict.MALFORMED),
        ("", Verdict.MALFORMED),
        ("candidate:1 one udp 5 192.0.2.7 5000 typ host", Verdict.MALFORMED),
        ("candidate:1 1 udp 5 192.0.2.7 ٣٣٣٣ typ host", Verdict.MALFORMED),
    ],
)
def test_each_kind_of_candidate_has_its_verdict(text: str, verdict: Verdict) -> None:
    assert ice.judge(ice.parse(text), ANYWHERE) is verdict


def test_a_policy_of_networks_keeps_checks_inside() -> None:
    home = Policy(networks=(ipaddress.ip_network("192.0.2.0/24"),))
    assert ice.judge(ice.parse(line()), home) is Verdict.TRIED
    assert ice.judge(ice.parse(line("198.51.100.1")), home) is Verdict.NETWORK


def test_only_the_best_few_are_tried() -> None:
    many = tuple(
        ice.parse(line(f"192.0.2.{k + 1}", priority=str(k))) for k in range(40)
    )
    chosen, verdicts = ice.choose((*many, many[39]), ANYWHERE)
    assert [one.priority for one in chosen] == [39, 38, 37, 36, 35, 34, 33, 32]
    assert len(chosen) == CANDIDATES_TRIED_MAX
    assert verdicts.count(Verdict.TOO_MANY) == 32 and verdicts[-1] is Verdict.DUPLICATE


@given(st.text(max_size=200))
def test_any_text_is_read_or_not(text: str) -> None:
    candidate = ice.parse(text)
    if ice.judge(candidate, ANYWHERE) is Verdict.TRIED:
        assert candidate is not None and candidate.port >= 1_024
        assert ice.parse(candidate.line) == candidate


@given(st.lists(st.floats(0, 0.1), min_size=1, max_size=300))
def test_no_second_has_more_checks_than_its_budget(pauses: list[float]) -> None:
    budget, now_s, spent = CheckBudget(), 0.0, list[float]()
    for pause_s in pauses:
        now_s += pause_s
        if budget.spend(now_s):
            spent.append(now_s)
    assert len(spent) <= CHECKS_PER_S_MAX * (1 + now_s)
