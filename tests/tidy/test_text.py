"""What no file may say: where it was written, which registry it came from, what is undone.

The words looked for are put together here from pieces, so that this file passes its own test.
"""

import re
from collections.abc import Iterator
from typing import Final

from tests.tidy.tree import File, all_text, assert_clean

# A path of the machine somebody worked on. Documents speak of `~` and of /data instead.
MACHINE_PATH: Final = re.compile(
    "(?<![\\w.~-])/(?:"
    + "|".join(["wo" + "rk", "ro" + "ot", "ho" + "me/[a-z]", "Us" + "ers/[A-Za-z]", "op" + "t/"])
    + ")(?![\\w-])"
)
REGISTRY_HOST: Final = re.compile(
    "|".join(
        re.escape(".".join(parts))
        for parts in (
            ("py" + "pi", "org"), ("py" + "thonhosted", "org"), ("np" + "mjs", "org"),
            ("np" + "mjs", "com"), ("deb" + "ian", "org/debian"), ("un" + "pkg", "com"),
            ("js" + "delivr", "net"), ("cdn" + "js", "com"), ("esm", "sh"), ("docker" + "", "io"),
            ("nodesource", "com"),
        )
    )
)
UNDONE: Final = re.compile("\\b(?:TO" + "DO|FIX" + "ME|XX" + "X)\\b(?!\\(#\\d+\\))")


def machine_paths(file: File) -> Iterator[str]:
    """Lines that name a folder of somebody's machine."""
    return hits(file, MACHINE_PATH, "names a path of one machine")


def registry_hosts(file: File) -> Iterator[str]:
    """Lines that name a registry's host; clients know theirs from their own settings."""
    return hits(file, REGISTRY_HOST, "names a registry's host")


def undone(file: File) -> Iterator[str]:
    """Reminders without the number of the issue that will do them."""
    return hits(file, UNDONE, "is undone without an issue, like (#12)")


def hits(file: File, pattern: re.Pattern[str], words: str) -> Iterator[str]:
    """The lines in which the pattern is found."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if found := pattern.search(line):
            yield f"{number}: {found.group()} {words}"


def test_no_machine_paths() -> None:
    assert_clean(machine_paths, all_text())


def test_no_registry_hosts() -> None:
    assert_clean(registry_hosts, all_text())


def test_nothing_undone_without_an_issue() -> None:
    assert_clean(undone, all_text())


def test_planted_words_are_found() -> None:
    planted = File(
        path="x.md",
        text="see /wo" + "rk/main\nfrom py" + "pi.org\nTO" + "DO later\nTO" + "DO(#12) later\n",
    )
    assert [words.split(":")[0] for words in machine_paths(planted)] == ["1"]
    assert [words.split(":")[0] for words in registry_hosts(planted)] == ["2"]
    assert [words.split(":")[0] for words in undone(planted)] == ["3"]
