# make run    an experiment, from nothing: make run ARGS="experiment=shuffle metrics=[bleu,cider]"
# make test   every test that needs no GPU and no download, except those of the pages (make docs), in
#             two processes: make test WORKERS=1
# make slow   the tests marked slow
# make research  the tests of what made the data and the weights (research/, which is not installed)
# make lint   ruff, import-linter (which room may import which) and mypy
# make jar    the Java services that metaeval ships, from their sources (needs a JDK)
# make docs   the documentation site in site/, and the tests of its pages (its tools come into
#             build/site, a minute, once)
# make notebook  docs/tutorial.ipynb, executed anew
# make tables   the tables of options and the citations of docs/, from conf/
# make numbers  the tables of README.md and docs/ from their commands (needs COCO val2017):
#             make numbers NUMBERS_ARGS="--quick --check"
# make picture  docs/report.png: the first screen of the page of experiment=replace (needs Chromium)
# make fuzz   harmed files of every kind, for every loader: make fuzz N=100
# make gpu    on a machine with a GPU: its tests and benchmarks, eight minutes at most; make gpu GPU_ARGS=--cpu tries it out

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?= experiment=replace
EXTRAS ?= dev
WORKERS ?= 2
MARKS   ?= not gpu
RESOLUTION ?= lowest-direct
N ?= 100
CHROMIUM ?= chromium --headless --no-sandbox --disable-gpu --hide-scrollbars
comma  := ,
READY  := $(VENV)/.ready-$(subst $(comma),-,$(EXTRAS))
SITE   := build/site

.PHONY: run test slow research fuzz lint bench numbers tables jar docs installed notebook picture gpu clean

run: $(READY)
	$(BIN)/python -m metaeval $(ARGS)

test: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow and not gpu and not docs" $(PYTEST_ARGS)

slow: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "slow and not gpu" $(PYTEST_ARGS)

research: $(READY)
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "$(MARKS)" research/tests $(PYTEST_ARGS)

fuzz: $(READY)
	FUZZ_CASES=$(N) $(BIN)/python -m pytest -n $(WORKERS) tests/fuzz/test_fuzz.py $(PYTEST_ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

bench: $(READY)
	$(BIN)/python -m benchmarks.speed rule_based

numbers: $(READY)
	$(BIN)/python -m benchmarks.numbers $(NUMBERS_ARGS)

jar: $(READY)
	$(BIN)/python -m research.java_services

# What the site has and the repository does not; docs/.hooks/generated.py adds it.
docs: $(READY) $(SITE)/.ready
	rm -rf build/docs
	$(BIN)/python -m tests.docs.generated build/docs
	$(BIN)/python -m research.corruption_audit examples build/docs/corruption_examples.md
	$(BIN)/python -m pytest -n $(WORKERS) -m "docs and not slow" tests/docs
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/python -m mkdocs build --strict

$(SITE)/.ready: pyproject.toml
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --upgrade pip
	$(SITE)/bin/python -m pip install --quiet --group docs
	touch $@

# Installs the oldest versions that pyproject.toml allows (or RESOLUTION=highest, PYTHON=python3.13) in an
# environment of their own, without constraints.txt, and runs every default metric.
installed:
	$(PYTHON) -m venv build/uv && build/uv/bin/pip install --quiet uv
	build/uv/bin/uv venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" build/$(RESOLUTION)
	build/uv/bin/uv pip install --quiet --python build/$(RESOLUTION) --resolution $(RESOLUTION) .
	build/$(RESOLUTION)/bin/python -m metaeval experiment=replace dataset=scenes dataset.limit=20 strict=true hydra.run.dir=build/$(RESOLUTION)/run

notebook: $(READY)
	$(BIN)/python -m tests.docs.notebook

tables: $(READY)
	$(BIN)/python -m tests.docs.generated

picture: $(READY)
	$(BIN)/python -m metaeval experiment=replace dataset=coco_val2017 metrics=[bleu,sacrebleu,meteor,rouge_l,cider,controls] hydra.run.dir=build/picture
	sed '0,\|</head>|s||<style>section:not(#answer):not(#ranking):not(#histograms),header,nav,.save,.question{display:none!important}main{max-width:none!important;padding:8px!important}</style></head>|' build/picture/report.html > build/picture/picture.html
	$(CHROMIUM) --window-size=960,1000 --screenshot=build/picture/picture.png file://$(CURDIR)/build/picture/picture.html
	$(BIN)/python -m benchmarks.numbers.pictures build/picture/picture.png docs/report.png rule-based

# By the Python that is there, not by .venv: such a machine often has torch and no network.
gpu:
	$(PYTHON) -m pytest -q -m gpu -p no:cacheprovider $$(grep -rl mark.gpu tests --include=*.py)
	$(PYTHON) -m benchmarks.gpu $(GPU_ARGS)

# The environment: made once, made again when the dependencies or the extras change.
$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "metaeval needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@echo "making $(VENV): about 5 GB are fetched and unpacked, once; minutes, by the network"
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]'
	touch $@

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .import_linter_cache .mypy_cache .ruff_cache
