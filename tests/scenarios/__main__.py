"""Writes what follows from the sentences into every scenario; read the diff before you keep it."""

from pathlib import Path

from tests.scenarios.stage import play

for path in sorted(Path(__file__).parent.glob("*.txt")):
    path.write_text(play(path.read_text("utf-8")), "utf-8")
    print(path.name)
