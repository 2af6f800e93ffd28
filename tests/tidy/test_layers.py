"""Imports flow one way, the pure files decide without doing, and one file wires.

The table below is the architecture: a row for every package and module of the node, and what it
may lean on. A new package without a row fails, so the table stays whole.
"""

import ast
from collections.abc import Iterator
from typing import Final

from tests.tidy.tree import PACKAGES, File, assert_clean, files, imports, sources

PURE: Final = (
    "mesh/core/", "mesh/wire/",
    "gateway/jsonrpc.py", "gateway/exchange.py", "gateway/profile.py", "gateway/scope.py",
    "gateway/errors.py", "gateway/limits.py",
    "audio/sdp.py", "audio/negotiation.py", "audio/call.py", "audio/talkers.py", "audio/rtp.py",
    "audio/jitter.py", "audio/mix.py", "audio/ice.py", "audio/answer.py", "audio/red.py",
    "audio/rtcp.py", "audio/opus_toc.py", "audio/errors.py", "audio/limits.py",
)
IMPURE_MODULES: Final = frozenset({
    "asyncio", "socket", "ssl", "select", "selectors", "threading", "queue", "multiprocessing",
    "concurrent", "subprocess", "signal", "contextvars",
    "time", "random", "secrets", "uuid",
    "os", "io", "pathlib", "tempfile", "shutil", "glob", "sqlite3", "importlib", "sys",
    "logging", "structlog", "warnings", "prometheus_client",
    "aiohttp", "zeroconf", "aiortc", "click", "rich", "platformdirs",
})
IMPURE_CALLS: Final = frozenset({
    "open", "print", "input", "datetime.now", "datetime.utcnow", "datetime.today",
    "datetime.datetime.now", "datetime.datetime.utcnow", "date.today",
    "SigningKey.generate", "PrivateKey.generate", "randombytes", "crypto_sign_keypair",
    "nacl.utils.random",
})

OPEN: Final = frozenset({"core", "wire", "ports", "stores", "config", "telemetry"})
GATEWAYS: Final = frozenset({"gateway", "audio"})
# What each part of the node may import. Only `node` sees storage and transport: it constructs
# them, everyone else meets them through `ports`.
MAY_IMPORT: Final[dict[str, frozenset[str]]] = {
    "core": frozenset(),
    "wire": frozenset({"core"}),
    "ports": frozenset({"core", "wire"}),
    "stores": frozenset({"core"}),
    "config": frozenset({"core", "ports"}),
    "telemetry": frozenset({"core", "config", "ports"}),
    "system": frozenset({"core", "ports"}),
    "ready": frozenset(),
    "storage": OPEN,
    "transport": OPEN,
    "service": OPEN | GATEWAYS,
    "rpc": OPEN | GATEWAYS | {"service"},
    "http": OPEN | {"service", "rpc"},
    "client": frozenset({"core", "config"}),
    "node": OPEN | GATEWAYS | {"system", "ready", "storage", "transport", "service", "rpc", "http"},
    "cli": OPEN | GATEWAYS | {"client", "node", "ready"},
    "web": frozenset(),
}


def is_pure(path: str) -> bool:
    """Whether the file is one that must decide without doing."""
    return path.startswith(PURE)


def impure(file: File) -> Iterator[str]:
    """Imports and calls by which a pure file would touch the world."""
    for line, name in imports(file):
        if name.split(".")[0] in IMPURE_MODULES:
            yield f"{line}: a pure file imports {name}; take the value as an argument"
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in IMPURE_CALLS:
            yield f"{node.lineno}: a pure file calls {ast.unparse(node.func)}"
        elif isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or (
            isinstance(node, ast.AsyncFunctionDef) and not is_declaration(node)
        ):
            yield f"{node.lineno}: a pure file waits for something"


def is_declaration(function: ast.AsyncFunctionDef) -> bool:
    """Whether the function is a Protocol's: it promises something and does nothing."""
    last = function.body[-1]
    return isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)


def against_the_table(file: File) -> Iterator[str]:
    """Imports of ours that the table does not allow."""
    package, _, rest = file.module.partition(".")
    part = rest.split(".")[0] if rest else ""
    for line, name in imports(file):
        target, _, inner = name.partition(".")
        if target not in PACKAGES and target != "tests":
            continue
        if target == "tests":
            yield f"{line}: the product imports its tests ({name})"
        elif package != "mesh":
            if target != package:
                yield f"{line}: {package} imports {name}; it must stand alone"
        elif part == "":
            yield f"{line}: mesh/__init__.py is prose and imports nothing"
        elif part not in MAY_IMPORT:
            yield f"{line}: mesh.{part} has no row in the table of tests/tidy/test_layers.py"
        else:
            wanted = inner.split(".")[0] if target == "mesh" else target
            if wanted != part and wanted not in MAY_IMPORT[part]:
                yield f"{line}: mesh.{part} imports {name}; allowed: {sorted(MAY_IMPORT[part])}"


def rows_missing() -> list[str]:
    """Packages and modules of the node that the table does not know."""
    parts = {file.module.split(".")[1] for file in files("mesh") if file.module != "mesh"}
    return sorted(parts - MAY_IMPORT.keys())


def test_pure_files_do_nothing() -> None:
    pure = [file for file in sources() if is_pure(file.path)]
    assert pure, "no pure file found: has the tree moved?"
    assert_clean(impure, pure)


def test_imports_follow_the_table() -> None:
    assert_clean(against_the_table, sources())


def test_every_part_has_a_row() -> None:
    assert rows_missing() == []


def test_a_planted_impurity_is_found() -> None:
    planted = File(
        path="mesh/core/planted.py",
        text="import time\nfrom os import path\nasync def f(): open('x')\n",
    )
    assert [words.split(":")[0] for words in impure(planted)] == ["1", "2", "3", "3"]


def test_a_planted_short_cut_is_found() -> None:
    short_cut = "from mesh.storage.event_store import EventStore\n"
    assert list(against_the_table(File(path="mesh/service/x.py", text=short_cut)))
    assert list(against_the_table(File(path="mesh/cli/main.py", text=short_cut)))
    assert list(against_the_table(File(path="gateway/x.py", text="import mesh.core\n")))
    assert list(against_the_table(File(path="mesh/core/x.py", text="from mesh import config\n")))
    assert list(against_the_table(File(path="mesh/novel/x.py", text="import mesh.core.ids\n")))
    assert not list(against_the_table(File(path="mesh/node.py", text=short_cut)))
