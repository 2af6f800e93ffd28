"""Settings: where each comes from, which wins, and what is refused."""

from pathlib import Path

import pytest

from mesh import config
from mesh.config import SETTINGS, Setting, choose, default_name, home_of, read_settings, shown
from mesh.core.errors import Malformed


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def test_defaults_stand_when_nothing_is_said(home: Path) -> None:
    settings = read_settings(home, {}, {})
    assert settings.listen == ("127.0.0.1", 7420)
    assert settings.discovery and not settings.lan
    assert settings.name
    assert set(settings.origins.values()) == {"default"}


def test_a_flag_wins_over_environment_over_file(home: Path) -> None:
    (home / "config.toml").write_text('name = "from file"\nlan = true\nlog_level = "debug"\n')
    environ = {"ROOMMESH_NAME": "from environment", "ROOMMESH_LAN": "no"}
    settings = read_settings(home, {"name": "from flag"}, environ)
    assert (settings.name, settings.lan, settings.log_level) == ("from flag", False, "debug")
    assert settings.origins["name"] == "flag"
    assert settings.origins["lan"] == "environment"
    assert settings.origins["log_level"] == "file"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:7421", ("::1", 7421)),
        ("localhost:80", ("localhost", 80)),
    ],
)
def test_listen_is_host_and_port(home: Path, text: str, value: tuple[str, int]) -> None:
    assert read_settings(home, {"listen": text}, {}).listen == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listen", "7420"),
        ("listen", "127.0.0.1:70000"),
        ("listen", ":7420"),
        ("listen", 5),
        ("lan", "perhaps"),
        ("lan", 3),
        ("log_level", "loud"),
        ("name", "\u202e"),
        ("name", 5),
        ("public_url", "rooms.example"),
        ("public_url", "https://u:p@rooms.example"),
        ("public_url", "https://rooms.example/path"),
        ("public_url", "ftp://rooms.example"),
        ("advertise", ["https://a", "b"]),
        ("advertise", 7),
        ("tls_cert", 5),
    ],
)
def test_a_wrong_value_is_refused_by_name(home: Path, name: str, value: object) -> None:
    with pytest.raises(Malformed) as refusal:
        read_settings(home, {name: value}, {})
    assert refusal.value.fields["field"] == name
    assert "config show" in refusal.value.next


def test_lists_come_from_each_source(home: Path) -> None:
    urls = ("https://a.example:7420", "https://b.example")
    assert read_settings(home, {"advertise": urls}, {}).advertise == urls
    environ = {"ROOMMESH_ADVERTISE": "https://a.example:7420,https://b.example/"}
    assert read_settings(home, {}, environ).advertise == urls
    (home / "config.toml").write_text('advertise = ["https://a.example:7420"]\n')
    assert read_settings(home, {}, {}).advertise == urls[:1]


def test_the_file_may_not_say_what_nobody_knows(home: Path) -> None:
    (home / "config.toml").write_text("lann = true\n")
    with pytest.raises(Malformed, match="lann"):
        read_settings(home, {}, {})
    (home / "config.toml").write_text("lan = = true\n")
    with pytest.raises(Malformed, match="not TOML"):
        read_settings(home, {}, {})


def test_certificate_and_key_go_together(home: Path) -> None:
    with pytest.raises(Malformed, match="together"):
        read_settings(home, {"tls_cert": "a.pem"}, {})
    settings = read_settings(home, {"tls_cert": "a.pem", "tls_key": "b.pem"}, {})
    assert (settings.tls_cert, settings.tls_key) == (Path("a.pem"), Path("b.pem"))


SECRET = Setting(name="pass", doc="A secret.", default="", read=str, secret=True)


def test_a_secret_may_stand_in_a_file_and_is_never_shown(home: Path) -> None:
    (home / "secret").write_text("hunter2\n")
    environ = {"ROOMMESH_PASS_FILE": str(home / "secret")}
    chosen = choose(home, {}, environ, [SECRET])
    assert chosen["pass"].value == "hunter2"
    (row,) = shown(chosen, [SECRET])
    assert row["value"] == config.MASK
    assert row["origin"] == "environment"
    with pytest.raises(Malformed, match="PASS_FILE") as refusal:
        choose(home, {}, {"ROOMMESH_PASS_FILE": str(home / "none")}, [SECRET])
    assert "none" not in refusal.value.message


def test_only_a_secret_is_read_from_a_file(home: Path) -> None:
    (home / "name").write_text("x")
    chosen = choose(home, {}, {"ROOMMESH_NAME_FILE": str(home / "name")})
    assert chosen["name"].origin == "default"


def test_what_is_shown_is_plain_and_says_why(home: Path) -> None:
    rows = {row["name"]: row for row in shown(choose(home, {"listen": "[::1]:1"}, {}))}
    assert rows["listen"]["value"] == "[::1]:1"
    assert rows["listen"]["origin"] == "flag"
    assert rows["advertise"]["value"] == []
    assert rows["lan"]["variable"] == "ROOMMESH_LAN"
    assert rows.keys() == {setting.name for setting in SETTINGS}
    assert all(setting.doc.endswith(".") for setting in SETTINGS)


def test_the_home_is_named_or_the_users(home: Path) -> None:
    assert home_of(str(home), {"ROOMMESH_HOME": "/elsewhere"}) == home
    assert home_of(None, {"ROOMMESH_HOME": str(home)}) == home
    assert home_of(None, {}).name == "roommesh"
    assert home_of("relative", {}).is_absolute()


def test_an_install_always_has_a_name() -> None:
    assert default_name("desk.example.org") == "desk"
    assert default_name("") == "this machine"
