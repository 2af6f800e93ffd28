"""A node of the demo, in a process that cannot outlive the demo.

    python -m mesh.cli.demo_child LIFELINE ARGUMENT...

LIFELINE is the reading end of a pipe whose only writing end the demo holds. However the demo
ends, by `kill -9` too, the system closes that end, and this process ends in the same instant. It
needs no permission of the system and works the same on Linux and macOS. What the node had on its
disk does not matter: the folder goes as well (`demo_folder`).
"""

import os
import signal
import sys
import threading

from mesh.cli.main import run


def main() -> None:
    """Run the `roommesh` command with all arguments after the first."""
    lifeline = int(sys.argv[1])
    threading.Thread(target=_end_with, args=(lifeline,), name="lifeline", daemon=True).start()
    sys.exit(run(sys.argv[2:]))


def _end_with(lifeline: int) -> None:
    """Nothing is ever written there: a read that returns is the end of the demo."""
    os.read(lifeline, 1)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
