"""What every test stands on: what the machine has, how many seeds, and no home but a fresh one.

Tests that need something of the machine are skipped where it is missing, each with the command
that installs it; the sum at the end of `make test` counts them. A test that takes an argument
named `seed` runs once per seed of `--seeds`, from `--first-seed`.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rerun_unprivileged import replace_marked

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
BROWSER_MISSING = "no Chromium or Chrome found; install one: apt-get install -y chromium"
NETNS_MISSING = "needs root, ip and nft: apt-get install -y iproute2 nftables, then run as root"

# Slow callbacks and forgotten awaits are worth knowing in every test but those of live audio.
os.environ.setdefault("PYTHONASYNCIODEBUG", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    """How long the open-ended tests go on."""
    group = parser.getgroup("roommesh")
    group.addoption("--seeds", type=int, default=20, help="seeds per simulation test (20)")
    group.addoption("--first-seed", type=int, default=0, help="the first seed (0)")
    group.addoption("--fuzz-seconds", type=float, default=3.0, help="fuzzing per parser (3)")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with an argument `seed` once per seed."""
    if "seed" in metafunc.fixturenames:
        first = metafunc.config.getoption("--first-seed")
        count = metafunc.config.getoption("--seeds")
        metafunc.parametrize("seed", range(first, first + count))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what this machine cannot run, and run tests of permissions without root's powers."""
    reasons = {
        "browser": None if find_browser() else BROWSER_MISSING,
        "netns": None if has_namespaces() else NETNS_MISSING,
    }
    for item in items:
        for name, reason in reasons.items():
            wanted = item.get_closest_marker(name) or f"tests/{name}/" in item.nodeid
            if wanted and reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))
    replace_marked(items, config)


def find_browser() -> str | None:
    """The path of a Chromium or Chrome, or None."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def has_namespaces() -> bool:
    """Whether network namespaces and packet filters can be made here."""
    return os.geteuid() == 0 and all(shutil.which(name) for name in ("ip", "nft"))


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium or Chrome; the test is skipped where there is none."""
    path = find_browser()
    if path is None:
        pytest.skip(BROWSER_MISSING)
    return path


@pytest.fixture(scope="session")
def chromium_arguments() -> list[str]:
    """Flags that keep the browser quiet, and let root start it."""
    quiet = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
             "--disable-background-networking", "--disable-component-update"]
    # Chromium refuses to run as root inside its sandbox.
    return ["--no-sandbox", *quiet] if os.geteuid() == 0 else quiet


@pytest.fixture(scope="session")
def fuzz_seconds(pytestconfig: pytest.Config) -> float:
    """How long one parser is fuzzed, in seconds."""
    return float(pytestconfig.getoption("--fuzz-seconds"))


@pytest.fixture(scope="session", autouse=True)
def nobodys_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep every test, and every process it starts, away from the user's own home and settings."""
    home: Path = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("ROOMMESH_") and name != "ROOMMESH_TEST_RUN":
                patch.delenv(name)
        for name in ("DATA", "CONFIG", "STATE", "CACHE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        yield home
