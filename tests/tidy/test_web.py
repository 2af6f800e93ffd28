"""The pages never turn text into markup, and load nothing from elsewhere.

Messages are other people's words. They reach the page through templates and text nodes only;
the names below are the ways around that.
"""

import re
from collections.abc import Iterator
from typing import Final

from tests.tidy.tree import File, assert_clean, files

BANNED_IN_SCRIPTS: Final = {
    r"unsafe(HTML|SVG|MathML|Static)": "lays raw markup into the page",
    r"\b(inner|outer)HTML\b": "parses text as markup",
    r"insertAdjacentHTML|document\.write|createContextualFragment|setHTMLUnsafe": "parses text",
    r"\bDOMParser\b": "parses text as markup",
    r"\beval\s*\(|\bnew\s+Function\b": "runs text",
    r"set(Timeout|Interval)\s*\(\s*['\"`]": "runs text",
    r"setAttribute\(\s*['\"`]on": "makes a handler out of text",
    r"\.parse(Inline)?\s*\(.*marked|marked(\.parse(Inline)?)?\s*\(": "use marked's lexer only",
}
BANNED_IN_PAGES: Final = {
    r"\son[a-z]+\s*=\s*[\"']": "an inline handler",
    r"<script(?![^>]*\bsrc=)[^>]*>": "an inline script",
    r"<style[\s>]|\sstyle\s*=\s*[\"']": "an inline style, which the policy refuses",
    r"javascript:": "a script address",
}
ELSEWHERE: Final = re.compile(
    r"(?:from|import|src=|href=|url\(|fetch\(|@import)\s*\(?\s*[\"'`]?(?:https?:)?//", re.IGNORECASE
)


def in_scripts(file: File) -> Iterator[str]:
    """Ways a script could turn text into markup or code."""
    return banned(file, BANNED_IN_SCRIPTS)


def in_pages(file: File) -> Iterator[str]:
    """Inline code and styles in a page."""
    return banned(file, BANNED_IN_PAGES)


def from_elsewhere(file: File) -> Iterator[str]:
    """Anything loaded from another origin."""
    for number, line in enumerate(file.text.splitlines(), 1):
        if ELSEWHERE.search(line):
            yield f"{number}: loads from another origin"


def banned(file: File, table: dict[str, str]) -> Iterator[str]:
    """The lines of a file that match a row of the table."""
    for number, line in enumerate(file.text.splitlines(), 1):
        for pattern, words in table.items():
            if found := re.search(pattern, line):
                yield f"{number}: {found.group().strip()} {words}"


def scripts() -> list[File]:
    """Our own modules."""
    return files("mesh/web", suffixes=(".js",))


def pages() -> list[File]:
    """Our own pages."""
    return files("mesh/web", suffixes=(".html",))


def test_scripts_keep_text_as_text() -> None:
    assert scripts()
    assert_clean(in_scripts, scripts())


def test_pages_have_nothing_inline() -> None:
    assert_clean(in_pages, pages())


def test_nothing_comes_from_elsewhere() -> None:
    every = [*scripts(), *pages(), *files("mesh/web", suffixes=(".css", ".svg"))]
    assert_clean(from_elsewhere, every)


def test_planted_markup_is_found() -> None:
    script = File(path="x.js", text="a.innerHTML = b\nimport {unsafeHTML} from 'x'\neval('1')\n")
    page = File(path="x.html", text='<a onclick="f()">\n<script>1</script>\n<p style="x">\n')
    remote = File(path="y.js", text="import 'https://x/y.js'\nlink = 'https://x/'\n")
    assert [words.split(":")[0] for words in in_scripts(script)] == ["1", "2", "3"]
    assert [words.split(":")[0] for words in in_pages(page)] == ["1", "2", "3"]
    assert [words.split(":")[0] for words in from_elsewhere(remote)] == ["1"]
