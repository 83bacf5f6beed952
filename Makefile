# The commands of a developer. Node 24 need not be installed: `install` brings it (node_modules/.bin).
SHELL := /bin/bash
.DEFAULT_GOAL := help

# Stamps: all packages are installed; the packages of the programs are installed.
STAMP := node_modules/.sluice-all
RUN_STAMP := node_modules/.sluice-run
VENV := .venv/.complete
REPORTS := .run/reports
# The binaries that `make up` needs; tests also use Helm.
CLUSTER := etcd kube-apiserver kube-controller-manager kubectl

# The runner cannot stop a test in an endless loop.
TIME_LIMIT := $(if $(shell command -v timeout),timeout --foreground 2400)

# Installed tools first, among them Node 24. Debian keeps nginx in sbin, which is not on every user's PATH.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH):/usr/sbin

# Programs that tests start take half as much CPU to start when Node keeps what it has compiled.
export NODE_COMPILE_CACHE ?= $(CURDIR)/.run/compile-cache

.PHONY: help install install-run run up down test test-packages test-binaries test-all soak scale agents sbom check generate testdata bench-quick bench-check bench-ledger bench-usage bench-propagation bench bench-hour bench-growth bench-peers bench-docs bench-start

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 20

install: $(STAMP) ## Install the packages of the lock file, if it has changed

NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

$(STAMP): package-lock.json
	@$(NPM_CI)
	@touch $(RUN_STAMP) $@

# Types and source maps of every Kubernetes API are nearly half of the disk space of the programs.
KUBE := node_modules/@kubernetes/client-node

# The packages of the programs only. Without the wildcard, `make run` would remove the test tools.
install-run: $(RUN_STAMP)

$(RUN_STAMP): package-lock.json
	@$(NPM_CI) $(if $(wildcard $(STAMP)),,--omit=dev)
	@$(if $(wildcard $(STAMP)),,find $(KUBE)/dist -name '*.map' -delete -o -name '*.d.ts' -delete)
	@touch $(wildcard $(STAMP)) $@

run: export SLUICE_PORT := $(or $(PORT),$(SLUICE_PORT))
run: export SLUICE_ADMIN_PORT := $(or $(ADMIN_PORT),$(SLUICE_ADMIN_PORT))
# In development the relay may call this machine, as long as no other machine can use the relay.
run: export SLUICE_RELAY_ALLOW ?= $(if $(SLUICE_HOST),,localhost)
run: install-run ## Run the gateway on this machine, on loopback: PORT=8080 ADMIN_PORT=8081 CONFIG=<folder> UPSTREAM_PORT=8082
	@config="$(CONFIG)"; \
	if [ -n "$$config" ]; then \
	  case "$$config" in /*) ;; *) if [ -e "$$PWD_OF_CALLER/$$config" ]; then config="$$PWD_OF_CALLER/$$config"; fi ;; esac; \
	  export SLUICE_CONFIG_DIR="$$config"; \
	fi; \
	exec bin/sluice dev

# With `make -C <here>` a relative CONFIG means a path in the caller's folder, which is in PWD.
run: export PWD_OF_CALLER := $(PWD)

up: install ## Start a cluster on this machine: CONTROLLERS=2 PROXIES=2 UPSTREAM_PORT=8082; keeps what runs
	@node test/assets/binaries.ts $(CLUSTER)
	@node tools/cluster/up.ts

down: install ## Stop what up has started
	@node tools/cluster/down.ts

test-binaries: install ## Get the Kubernetes binaries: from KUBEBUILDER_ASSETS, else built once with Go; and CRDs
	@node test/assets/binaries.ts
	@node test/assets/crds.ts

test-packages: ## Install missing Debian packages that the tests use
	@tools/packages.sh

test: test-packages install test-binaries $(VENV) ## Run the static checks, and all tests but those that take minutes
	@rm -rf $(REPORTS) && mkdir -p $(REPORTS)
	@node tools/check.ts --report $(REPORTS)/check.json || true
	@$(TIME_LIMIT) vitest run --reporter=default --reporter=json --outputFile.json=$(REPORTS)/vitest.json || true
	@node tools/matrix.ts --check $(if $(RECORDINGS),,--partial) --report $(REPORTS)/matrix.json || true
	@node tools/test-summary.ts --output .run/summary.txt $(REPORTS)/check.json $(REPORTS)/vitest.json $(REPORTS)/matrix.json

test-all: test ## Run test, the installed chart, thousands of cases for each property, chaos, 10,000 keys, planted faults
	@FC_RUNS=5000 OPENAPI_EXAMPLES=100 vitest run --testTimeout=300000 test/e2e/openapi.test.ts \
	  $$(grep -rlE "from 'fast-check'" --include='*.test.ts' $(ROOMS))
	@CHAOS_ROUNDS=1 vitest run --no-file-parallelism test/chaos
	@LEDGER_RUNS=1000 vitest run $(LEDGER_MODEL)
	@BURST_ROUNDS=20 vitest run --no-file-parallelism test/integration/proxy/burst.test.ts test/integration/proxy/limits.test.ts
	@USAGE_REQUESTS=20000 vitest run test/integration/usage
	@DISCONNECT_OFFSETS=500 vitest run --testTimeout=300000 test/e2e/disconnects.test.ts
	@# Here, because a build takes longer than a test may.
	@node test/assets/helm4.ts
	@# Side by side: one waits for five minutes without an API server.
	@(HELM_MAJOR=4 INSTALL_AWAY_SECONDS=8 vitest run test/install/install.test.ts && \
	  SOAK_MINUTES=5 vitest run test/soak) & others=$$!; \
	  INSTALL_AWAY_SECONDS=300 vitest run test/install; helm3=$$?; wait $$others && exit $$helm3
	@SCALE_KEYS=10000 vitest run test/scale
	@$(MAKE) --no-print-directory agents
	@node test/mutants/run.ts --tests-pass
	@node tools/pack-check.ts

soak: install test-binaries ## Test the money: an hour of load and faults (MINUTES=60), then 10,000 runs of the ledger's model in each store
	@SOAK_MINUTES=$(or $(MINUTES),60) vitest run test/soak
	@LEDGER_RUNS=10000 vitest run --testTimeout=3600000 $(LEDGER_MODEL)

scale: install test-binaries ## Test 100,000 keys (KEYS=100000) and 1,000 proxies (PROXIES=1000), in about half an hour
	@SCALE_KEYS=$(or $(KEYS),100000) vitest run test/scale/keys.test.ts
	@SCALE_PROXIES=$(or $(PROXIES),1000) vitest run test/scale/proxies.test.ts

agents: install ## Test with Codex and Claude Code; installs them once, about 800 MB outside the checkout
	@node test/e2e/agents/install.ts
	@AGENTS=1 vitest run test/e2e/agents

LEDGER_MODEL := -t "any work" test/conformance/store/embedded-ledger.test.ts \
  test/conformance/store/redis-ledger.test.ts test/conformance/store/redis-cluster.test.ts

ROOMS := $(wildcard kit contract store controller proxy cli tools test)

$(VENV): test/e2e/python/requirements.txt
	@python3 -m venv .venv
	@.venv/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

sbom: ## Write the bill of materials of the image: .run/sbom.cdx.json (CycloneDX) and .run/sbom.spdx.json
	@rm -rf .run/sbom && mkdir -p .run/sbom/sluice && cp package.json package-lock.json .run/sbom/sluice
	@cd .run/sbom/sluice && $(NPM_CI) --omit=dev --omit=optional && npm pkg delete devDependencies optionalDependencies && \
	  npm sbom --sbom-format=cyclonedx > ../../sbom.cdx.json && npm sbom --sbom-format=spdx > ../../sbom.spdx.json

check: install ## Run the static checks: format, lint, words, types, import rules, generated files
	@node tools/check.ts

generate: install ## Rewrite the files made from the schemas: crds/, reference docs
	@node tools/generate/main.ts

testdata: install ## Rewrite the golden files; read the diff before you commit it
	@node tools/testdata.ts

bench: install ## Measure the gateway beside direct, a passthrough and nginx, in about 50 minutes; needs Go, Redis and nginx
	@node bench/main.ts

bench-hour: install ## Measure the memory of the gateway through an hour of load; needs 10 GB of disk
	@node bench/hour.ts

bench-growth: install ## Measure the cost of a request against the number of keys, routes and channels, in about 5 minutes
	@node bench/growth.ts

bench-peers: install ## Measure the gateway beside LiteLLM, Portkey and Bifrost; installs them outside the checkout
	@node bench/peers.ts

bench-docs: install ## Take over the last runs of bench, bench-hour, bench-growth and bench-peers into docs/benchmarks.md
	@node bench/docs.ts --take

bench-quick: install ## Measure the cost of the gateway beside a bare passthrough, in two minutes; needs Go
	@node bench/quick.ts

bench-check: install ## Check whether this checkout costs more than BASE=<commit>, in about 10 minutes
	@BASE="$(BASE)" node bench/check.ts

bench-ledger: install ## Measure what the ledger costs Redis, beside a plain SET, in about 2 minutes
	@node bench/ledger.ts

bench-usage: install ## Measure the memory and the reports of the usage of 10,000 keys, in about a minute
	@node bench/usage.ts

bench-start: install ## Measure what it costs to start a proxy with 10,000 keys and 1,000 routes, in about 6 minutes
	@node --disable-warning=ExperimentalWarning tools/pack.ts
	@node bench/start.ts

bench-propagation: install ## Measure how soon every proxy serves a change, in about 4 minutes; SCALE_KEYS=10000 also with that many keys
	@node test/assets/binaries.ts $(CLUSTER)
	@node bench/propagation.ts
