"""Runs seeds of the simulator and says what happened.

    python -m tests.sim --seeds 0:200             # prints seeds, faults, entries, violations
    python -m tests.sim --seeds 17:18 --transcript    # one run, step by step
    python -m tests.sim --seeds 0:30 --fault no_dedupe    # a planted fault, which must be found

Exits 1 when a law was broken.
"""

import argparse
import contextlib
import sys
from collections import Counter

from tests.sim.faults import PLANTED, Ran
from tests.sim.simulation import FAULTS, RoomSim, Violation

KILLED = ("kill_before_persist", "kill_before_speak", "kill_before_show", "kill_before_reply")


def main(arguments: list[str]) -> int:
    """Run the seeds that were asked for. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seeds", default="0:200", help="first:last+1 (0:200)")
    parser.add_argument("--span", type=float, default=60.0, help="seconds with faults (60)")
    parser.add_argument("--stop", type=int, default=3, help="stop after this many violations (3)")
    parser.add_argument("--fault", choices=sorted(PLANTED), help="plant a fault")
    parser.add_argument("--transcript", action="store_true", help="print every step")
    chosen = parser.parse_args(arguments)
    first, last = map(int, chosen.seeds.split(":"))
    counts: Counter[str] = Counter()
    entries, violations, seed, ran = 0, 0, first, Ran()
    planted = PLANTED[chosen.fault][0](ran) if chosen.fault else contextlib.nullcontext()
    with planted:
        for seed in range(first, last):
            sim = RoomSim(seed, chosen.span, is_recorded=chosen.transcript)
            try:
                sim.run()
            except Violation as violation:
                violations += 1
                print(f"VIOLATION seed {seed}: {violation}", flush=True)
                again = f"{seed}:{seed + 1}" + (f" --fault {chosen.fault}" if chosen.fault else "")
                print(f"    again: python -m tests.sim --transcript --seeds {again}")
            if sim.transcript is not None:
                print("\n".join(sim.transcript))
            counts.update(sim.count)
            entries += sim.laws.entries
            if violations >= chosen.stop:
                break
    # The model counts messages that a cut stopped under the name of the fault; kills are crashes.
    faults = {name: counts[name] for name in FAULTS if name != "cut"}
    print(f"seeds {first}:{seed + 1}  steps {counts['steps']}  violations {violations}")
    print(f"faults {sum(faults.values())}  {faults}")
    print(f"kills  {({name: counts[name] for name in KILLED})}")
    print(f"messages: {counts['lost']} lost, {counts['cut']} stopped by cuts")
    print(f"entries checked {entries}  receipts: {counts['applied']} applied, "
          f"{counts['rejected']} rejected")
    if chosen.fault:
        print(f"planted: {chosen.fault}, made a difference {ran.times} times")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
