# The commands of the course. `make course` does the main job, `make test` is what CI runs.

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3)
RUN := .venv/bin/python
export PYDEVD_DISABLE_FILE_VALIDATION := 1

.PHONY: course cost site serve release grade lab lint lock quick test nightly peers fuzz soak bench map heads depth alignment blocks clock precision generation vision kinds after smaller serving service hub proof attacks clean environment

course: cost environment release site
	@echo "== a sample class"
	@$(RUN) -m autograder sample
	@$(RUN) -m autograder grade --level best
	@echo "the book:  _build/html/index.html"
	@echo "Next: \`make lab\` to do the exercises in JupyterLab, \`make test\` to see that all of this holds, README.md for the rest."

# README.md says the same, and a test compares.
cost:
	@echo "The first time, this takes 3 to 15 minutes and 2 GB of disk (6 GB where pip installs torch with CUDA). Later runs do only what has changed."

environment:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed and there is none here." >&2; exit 1; }
	@"$(PYTHON)" autograder/machine/environment.py

release: _build/released

SOURCES := $(shell find solutions autograder -type f -not -path '*/__pycache__/*' 2>/dev/null)
_build/released: $(SOURCES) $(shell find exercises -type f -not -path '*/__pycache__/*' -not -path '*/.*' 2>/dev/null) | environment
	@echo "== the exercises"
	@$(RUN) -m autograder release
	@mkdir -p _build && touch $@

_build/matrix.json: $(SOURCES) | environment
	@echo "== every known mistake against every check"
	@mkdir -p _build
	@$(RUN) -m autograder matrix --json > $@.new && mv $@.new $@

site: release _build/matrix.json
	@echo "== the book"
	@$(RUN) book/extensions/build.py

# The book with a button that runs its cells. PORT=8000 chooses the port.
serve: environment
	@$(RUN) -m book.live $(if $(PORT),--port $(PORT))

grade: environment
	@$(RUN) -m autograder grade

lab: release
	@$(RUN) -m autograder work
	@JUPYTER_CONFIG_PATH="$$(pwd)/autograder/authoring/lab" $(RUN) -m jupyter lab --ServerApp.root_dir="$$(pwd)/_course/desk" --LabApp.default_url=/lab/tree/start.ipynb $(if $(filter 0,$(shell id -u)),--allow-root)

lint: environment
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check --quiet . || { echo "Not formatted: run .venv/bin/ruff format ." >&2; exit 1; }
	@.venv/bin/lint-imports --no-logo
	@.venv/bin/mypy

# The versions that pyproject.toml leaves open, chosen once. What is pinned already stays; UPGRADE=numpy (or UPGRADE=all) takes a newer one.
# The processor's own build of torch has a local version (2.13.0+cpu) that an ordinary index does not know.
lock: environment
	@$(LOCK) --extra test --extra service --output-file requirements.txt pyproject.toml
	@sed -i -e "/^--/d" -e "s/+cpu / /" -e "/^# The following/,\$$d" -e "1i# Made by \`make lock\` from pyproject.toml: every version of the project, pinned once." requirements.txt
	@$(LOCK) --extra hub --constraint requirements.txt --output-file $(HUB_PINS) pyproject.toml
	@sed -i -e "1i# Made by \`make lock\` from pyproject.toml: what a hub needs besides the project.\n--requirement ../../../requirements.txt" -e "/-c requirements.txt/d" -e "/^--/d" -e "/^# The following/,\$$d" $(HUB_PINS)

HUB_PINS := autograder/plugins/hub/requirements.txt
define LOCK
.venv/bin/pip-compile --quiet --no-strip-extras --no-allow-unsafe --unsafe-package pip --no-emit-options --no-header \
    --annotation-style line $(if $(filter all,$(UPGRADE)),--upgrade,$(addprefix --upgrade-package ,$(UPGRADE)))
endef

# For two cores: of three processes, one is likely to wait until some limit has passed. Each computes on one thread; where a test asks
# for two, they don't spin. The longest files are dealt out first (tests/README.md).
TESTS := OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive $(RUN) -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

test: lint site
	@./.ci/debian.sh
	@$(TESTS)

# All tests of one room (ROOM=sandbox), or of every room those that are done at once.
quick: lint
	@files=$$($(RUN) -m tests.rooms $(ROOM)) && $(TESTS) -q $$files

HUB := _build/hub-venv

# What takes too long for each change: tests/README.md has the list, with reasons.
nightly: test fuzz $(HUB)/installed
	@$(RUN) -m pytest -m "soak or nightly" --verbose
	@$(RUN) -m autograder doctor --attack
	@$(RUN) -m autograder doctor --attack --level landlock

PEERS := _build/peers-venv
peers: $(PEERS)/installed
	@$(PEERS)/bin/python -m pytest -W default tests/peers  # of what published packages warn, nothing is ours to mend

# Environments of their own on top of .venv: a path file lends them what is there, so that torch is not installed twice.
PURELIB := -c "import sysconfig; print(sysconfig.get_path('purelib'))"
define lent
	@rm -rf $(1)
	@$(RUN) -m venv --without-pip $(1)
	@$(RUN) $(PURELIB) > "$$($(1)/bin/python $(PURELIB))/lent.pth"
	@$(RUN) -m pip --python $(1)/bin/python install --quiet $(2) --requirement $<
	@touch $@
endef

$(PEERS)/installed: tests/peers/requirements.txt | environment
	$(call lent,$(PEERS),--no-deps)

RIVALS := _build/bench-venv
$(RIVALS)/installed: bench/requirements.txt | environment
	$(call lent,$(RIVALS),)

# A copy of .venv by hard links, with what a hub needs in it: there, as on a hub, all packages lie where the sandbox looks for them.
hub: $(HUB)/installed
	@$(RUN) -m pytest -m "nightly or not nightly" --verbose tests/test_hub.py

$(HUB)/installed: $(HUB_PINS) requirements.txt | environment
	@rm -rf $(HUB)
	@$(RUN) -m venv --without-pip $(HUB)
	@for each in lib etc share; do mkdir -p $(HUB)/$$each && cp -r --link .venv/$$each/. $(HUB)/$$each; done
	@$(RUN) -m pip --python $(HUB)/bin/python install --quiet --requirement $<
	@touch $@

fuzz: environment
	@$(RUN) -m tests.fuzz.mutants 10000
	@$(RUN) -m tests.fuzz.folders 300
	@ATTENTION_FUZZ=2000 $(RUN) -m pytest -q tests/test_hostile_worker.py tests/test_wire.py

bench: environment $(RIVALS)/installed
	@mkdir -p _build
	@$(RUN) -m bench.layers --json _build/layers.json --page book/measured/layers.md
	@$(RUN) -m bench.stages --page book/measured/stages.md
	@$(RUN) -m bench.clicks --page book/measured/clicks.md
	@$(RUN) -m bench.formgrader --page book/measured/formgrader.md
	@$(RUN) -m bench.speed $(addprefix --size ,$(or $(SIZES),30)) $(addprefix --alone ,$(ALONE)) --json _build/speed.json --page book/measured/speed.md

map: environment
	@$(RUN) -m bench.scaling --page book/measured/scaling.csv

heads: environment
	@$(RUN) -m bench.heads --page book/measured/heads.csv --weights book/measured/heads.npz

depth: environment
	@$(RUN) -m bench.depth --gradients book/measured/depth.csv --contest book/measured/warmup.csv

alignment: environment
	@$(RUN) -m bench.alignment --page book/measured/alignment.csv --lengths book/measured/lengths.csv --weights book/measured/alignment.npz

generation: environment
	@$(RUN) -m bench.generation --times book/measured/generation.csv --shared book/measured/shared.csv --said book/measured/sampling.csv --weights book/measured/generation.npz

# The profiler says when it starts and stops, unless it is told not to.
blocks: environment
	@KINETO_LOG_LEVEL=99 $(RUN) -m bench.blocks --calls book/measured/blocks.csv --steps book/measured/steps.csv

clock: environment
	@$(RUN) -m bench.clock --page book/measured/clock.csv

precision: environment
	@$(RUN) -m bench.precision --training book/measured/precision.csv --checkpoints book/measured/checkpoints.csv

vision: environment
	@$(RUN) -m bench.vision --page book/measured/vision.csv --enlarged book/measured/enlarged.csv --weights book/measured/vision.npz

kinds: environment
	@$(RUN) -m bench.two_kinds --page book/measured/two_kinds.csv --weights book/measured/two_kinds.npz

after: environment
	@$(RUN) -m bench.after_attention --page book/measured/after_attention.csv

smaller: environment
	@$(RUN) -m bench.smaller --page book/measured/smaller.csv

serving: environment
	@OMP_NUM_THREADS=1 $(RUN) -m bench.serving --batches book/measured/batches.csv --cuts book/measured/cuts.csv --load book/measured/serving.csv

# One thread: on matrices as small as these, several would wait for each other.
service: environment
	@OMP_NUM_THREADS=1 $(RUN) -m service

proof: environment
	@$(RUN) -m bench.mutants --page book/measured/mutants.md
	@$(RUN) -m bench.names --page book/measured/names.md

attacks: environment
	@mkdir -p _build
	@$(RUN) -m bench.stock --seen _build/attacks.jsonl

soak: environment
	@$(RUN) -m pytest -m soak --verbose tests

clean:
	rm -rf _build exercises/*/__pycache__
	@echo "_course/ (submissions and marks) and .venv stay; remove them by hand."
