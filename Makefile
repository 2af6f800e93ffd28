# The commands people type. `make demo` and `make test` do all the set-up they need.
# README has the same without make.

.DEFAULT_GOAL := help
.PHONY: help demo test test-system bench bench-quick bench-voice check-long lint sim-long clean

DEMO_ARGS ?=
BENCH_ARGS ?=
SEEDS ?= 5000

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

demo:  ## three nodes on this machine, one room, one address to open (DEMO_ARGS passes flags)
	@sh .ci/set-up run
	@.venv/bin/roommesh demo $(DEMO_ARGS)

test:  ## lint, types and all quick tests, at most 6 minutes on 2 cores
	@sh .ci/set-up dev
	@.venv/bin/python -m tests.parts test

test-system:  ## the slower checks: the wheel, the pages' types, more seeds, short benches
	@sh .ci/set-up dev
	@.venv/bin/python -m tests.parts system

check-long:  ## everything else: thousands of seeds, long fuzzing, a fresh machine in a chroot
	@sh .ci/set-up dev
	@.venv/bin/python -m tests.parts long

bench:  ## all benches: ratios and counts
	@sh .ci/set-up dev
	@.venv/bin/python -m tests.bench

bench-quick:  ## the benches run and print, with no thresholds
	@sh .ci/set-up dev
	@.venv/bin/python -m tests.bench --quick

bench-voice:  ## the media engine beside Janus AudioBridge (BENCH_ARGS: --quick, --soak 1000)
	@sh .ci/set-up dev
	@.venv/bin/python -m tests.live_audio.bench_voice $(BENCH_ARGS)

lint:  ## ruff and mypy
	@sh .ci/set-up dev
	@.venv/bin/python -m tests.parts lint

sim-long:  ## SEEDS seeds of the simulator (5000)
	@sh .ci/set-up dev
	@.venv/bin/python -m pytest tests/sim -n 2 --timeout 0 --seeds $(SEEDS)

clean:  ## remove what was built or installed here
	rm -rf .venv build dist mesh/web/vendor .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +
