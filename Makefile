# Everything a developer does here. Node 24 is not needed beforehand: `install` brings one along (node_modules/.bin).
SHELL := /bin/bash
.DEFAULT_GOAL := help

STAMP := node_modules/.package-lock.json
VENV := .venv/.complete
REPORTS := .run/reports

# A test that spins without end cannot be stopped from inside the runner.
TIME_LIMIT := $(if $(shell command -v timeout),timeout --foreground 1500)

# Installed tools first, among them Node 24.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)

.PHONY: help install run up down test test-binaries test-all agents check generate testdata bench-quick bench-propagation

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 14

install: $(STAMP) ## Install what the lock file names, if it has changed

$(STAMP): package-lock.json
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

run: export SLUICE_PORT := $(or $(PORT),$(SLUICE_PORT))
run: export SLUICE_ADMIN_PORT := $(or $(ADMIN_PORT),$(SLUICE_ADMIN_PORT))
# A relay to a server on the same machine works in development; an empty value means none.
run: export SLUICE_RELAY_ALLOW ?= localhost
run: install ## Gateway on your machine: PORT=8080 ADMIN_PORT=8081 CONFIG=<folder> UPSTREAM_PORT=8082
	@config="$(CONFIG)"; \
	if [ -n "$$config" ]; then \
	  case "$$config" in /*) ;; *) if [ -e "$$PWD_OF_CALLER/$$config" ]; then config="$$PWD_OF_CALLER/$$config"; fi ;; esac; \
	  export SLUICE_CONFIG_DIR="$$config"; \
	fi; \
	exec bin/sluice dev

# With `make -C <here>` a relative CONFIG still means the folder of the caller, whose shell left its name in PWD.
run: export PWD_OF_CALLER := $(PWD)

up: install test-binaries ## Cluster on your machine: CONTROLLERS=2 PROXIES=2 UPSTREAM_PORT=8082; what runs stays
	@node tools/cluster/up.ts

down: install ## End what up has started
	@node tools/cluster/down.ts

test-binaries: install ## Kubernetes binaries: KUBEBUILDER_ASSETS, else built once with Go (ten minutes)
	@node test/assets/binaries.ts

test: install test-binaries $(VENV) ## Static checks and all tests
	@rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	@node tools/check.ts --report $(REPORTS)/check.json || true
	@$(TIME_LIMIT) vitest run --reporter=default --reporter=json --outputFile.json=$(REPORTS)/vitest.json || true
	@node tools/matrix.ts --check $(if $(RECORDINGS),,--partial) --report $(REPORTS)/matrix.json || true
	@node tools/test-summary.ts --output .run/summary.txt $(REPORTS)/check.json $(REPORTS)/vitest.json $(REPORTS)/matrix.json

test-all: test ## test, thousands of cases for each property, chaos, 10,000 keys, agents, planted faults, the npm package
	@FC_RUNS=5000 vitest run --testTimeout=300000 $$(grep -rlE "from 'fast-check'" --include='*.test.ts' $(ROOMS))
	@OPENAPI_EXAMPLES=300 vitest run test/e2e/openapi.test.ts
	@CHAOS_ROUNDS=2 vitest run test/chaos
	@SCALE_KEYS=10000 vitest run test/scale
	@$(MAKE) --no-print-directory agents
	@node test/mutants/run.ts
	@node tools/pack-check.ts

agents: install ## Codex and Claude Code over the gateway; installs them once, some 800 MB outside of the checkout
	@node test/e2e/agents/install.ts
	@AGENTS=1 vitest run test/e2e/agents

ROOMS := $(wildcard contract store controller proxy cli tools test)

$(VENV): test/e2e/python/requirements.txt
	@python3 -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo 'The SDK tests need Python 3 with venv (Debian: apt-get install python3-venv).' >&2; exit 1; }
	@python3 -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

check: install ## Format, lint, types, import rules, generated files
	@node tools/check.ts

generate: install ## Rewrite what is made from the schemas: crds/, reference docs
	@node tools/generate/main.ts

testdata: install ## Rewrite golden files; read the diff before you keep it
	@node tools/testdata.ts

bench-quick: install ## Cost of the gateway beside a bare passthrough, in about 90 seconds
	@node bench/quick.ts

bench-propagation: install test-binaries ## From the API server's answer until every proxy serves a change, in about 4 minutes; with SCALE_KEYS=10000 also beside so many keys
	@node bench/propagation.ts
