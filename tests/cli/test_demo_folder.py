"""The demo's folder goes with the last process that knows of it."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from mesh.cli.demo_folder import DemoFolder
from mesh.cli.failure import Failed


async def test_it_is_private_and_gone_afterwards() -> None:
    async with DemoFolder() as folder:
        path = folder.path
        assert path.stat().st_mode & 0o777 == 0o700
        (path / "inner").mkdir()
        (path / "inner" / "file").write_text("x")
    assert not path.exists()


async def test_two_have_folders_of_their_own() -> None:
    async with DemoFolder() as one, DemoFolder() as other:
        assert one.path != other.path


async def test_it_waits_for_a_process_that_holds_the_presence_pipe() -> None:
    """The keeper removes nothing under a node that still runs; the lifeline ends such a node."""
    async with DemoFolder() as folder:
        path = folder.path
        code = "import os, sys; os.read(int(sys.argv[1]), 1); print(os.path.isdir(sys.argv[2]))"
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code, str(folder.lifeline), str(path)),
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(folder.lifeline, folder.presence),
        )
    said, _ = await child.communicate()
    assert said == b"True\n"
    assert not path.exists()


async def test_no_descriptor_is_left_open() -> None:
    async with DemoFolder():
        pass
    before = len(os.listdir("/proc/self/fd"))
    async with DemoFolder():
        assert len(os.listdir("/proc/self/fd")) > before
    assert len(os.listdir("/proc/self/fd")) == before


async def test_where_no_folder_can_be_made_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A keeper that cannot even start says nothing.
    monkeypatch.setattr(sys, "executable", "/bin/true")
    with pytest.raises(Failed) as refusal:
        async with DemoFolder():
            raise AssertionError("there is no folder")
    assert refusal.value.reason == "storage_failed"
    assert "TMPDIR" in refusal.value.next
